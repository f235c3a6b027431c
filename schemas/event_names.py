"""How events are named and dated, for those who read a log and check none of its payloads.

The models of the payloads are in `schemas.events`, which a gateway doesn't import: it makes its events, and
the tests hold each of them to its model.
"""

from __future__ import annotations

from typing import Final

TYPE: Final = (
    r"^[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*"
    r"(\.[a-z][a-z0-9]*(-[a-z0-9]+)*)?$"
)
TIMESTAMP: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"
REQUESTED_TYPES: Final = ("interrupt.requested", "approval.requested", "clarification.requested")
RESOLVED_TYPES: Final = (
    "interrupt.resolved",
    "approval.received",
    "approval.granted",
    "approval.rejected",
    "approval.overridden",
    "clarification.resolved",
)
