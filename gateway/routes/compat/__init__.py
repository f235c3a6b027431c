"""The wires of other systems: each module translates shapes and statuses, and holds no rule of its own."""
