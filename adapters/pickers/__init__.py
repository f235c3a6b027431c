"""Where the choices of pickers come from."""
