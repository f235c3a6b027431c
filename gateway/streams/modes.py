"""What a stream shows: the four modes, and which events each of them admits (OpenWOP: event stream). Pure."""

from __future__ import annotations

import re
from typing import Final, Literal

from schemas.errors import Refusal
from schemas.event_names import REQUESTED_TYPES, RESOLVED_TYPES

Mode = Literal["updates", "values", "messages", "debug"]
MODES: Final[tuple[Mode, ...]] = ("updates", "values", "messages", "debug")
TERMINAL_TYPES: Final = frozenset({"run.completed", "run.failed", "run.cancelled"})
FLUSHING_TYPES: Final = TERMINAL_TYPES | {"node.suspended"}

_FORM: Final = re.compile(r"values|(updates|messages|debug)(,(updates|messages|debug))*")
_UPDATES: Final = frozenset(
    {
        *REQUESTED_TYPES,
        *RESOLVED_TYPES,
        "node.completed",
        "node.failed",
        "node.cancelled",
        "node.skipped",
        "node.suspended",
        "node.suspend-failed",
        "node.resumed",
        "node.dispatched",
        "artifact.created",
        "workspace.updated",
    }
)
_UPDATES_DOMAINS: Final = ("run.", "eval.", "deployment.")


def parse_modes(text: str) -> tuple[Mode, ...]:
    """The modes of a `streamMode`, the narrowest first. `values` is never combined.

    Raises `Refusal` (`unsupported_stream_mode`, with `details.supported`).
    """
    if not _FORM.fullmatch(text):
        raise Refusal(
            "unsupported_stream_mode",
            f"streamMode is one of {', '.join(MODES)}, or several of them with commas; "
            "values stands alone.",
            supported=list(MODES),
        )
    asked = set(text.split(","))
    return tuple(mode for mode in MODES if mode in asked)


def admitting(modes: tuple[Mode, ...], event_type: str) -> Mode | None:
    """The narrowest of `modes` that shows events of this type, or None."""
    for mode in modes:
        if mode == "debug" or (mode == "messages" and event_type == "output.chunk"):
            return mode
        if mode in ("updates", "values") and is_update(event_type):
            return mode
    return None


def is_update(event_type: str) -> bool:
    """Whether a type is of the updates tier: what changes the state of a run or of its interrupts."""
    return event_type in _UPDATES or event_type.startswith(_UPDATES_DOMAINS)
