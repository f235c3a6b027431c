"""Kortyx' resume metadata: what a chat message says about an open question. Pure.

The table is theirs, row by row (kortyx: resume), what is odd in it too: half a resume is an ordinary
message, and entries of `selected` become text as JavaScript makes it. Beside their rows the nested forms
that their documentation shows are taken (D1).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

MOST_SELECTED: Final = 1000
_LONGEST: Final = 8192


@dataclass(frozen=True, slots=True)
class Resume:
    """A resume: which question, and what was said. `value` counts only with `has_value`."""

    token: str = field(repr=False)
    request_id: str
    selected: tuple[str, ...] = ()
    cancel: bool = False
    has_value: bool = False
    value: Any = None


@dataclass(frozen=True, slots=True)
class Given:
    """What a resume says in the terms of a handle: `agent.resume`'s response."""

    type: str
    text: str = ""
    ids: tuple[str, ...] = ()
    value: Any = None


def parse_resume(metadata: Any) -> Resume | None:
    """The resume in a message's `metadata`, or None when the message is an ordinary one."""
    raw = metadata.get("resume") if isinstance(metadata, dict) else None
    if not isinstance(raw, dict):
        return None
    token, request_id = raw.get("token"), raw.get("requestId")
    if not isinstance(token, str) or not isinstance(request_id, str):
        return None
    if not token or not request_id or len(token) > _LONGEST or len(request_id) > _LONGEST:
        return None
    return Resume(
        token=token,
        request_id=request_id,
        selected=_selected(raw),
        cancel=raw.get("cancel") is True,
        has_value="value" in raw,
        value=raw.get("value"),
    )


def _selected(raw: dict[str, Any]) -> tuple[str, ...]:
    """`selected`, else `choice`, else `choices`; the first one that is there in a form that counts."""
    selected = raw.get("selected")
    if isinstance(selected, str):
        return (selected,)
    if isinstance(selected, list):
        return tuple(as_text(one) for one in selected[:MOST_SELECTED])
    nested = _choices(selected) if isinstance(selected, dict) else ()
    return nested or _choices(raw)


def _choices(raw: dict[str, Any]) -> tuple[str, ...]:
    one = _id_of(raw.get("choice"))
    if one is not None:
        return (one,)
    several = raw.get("choices")
    listed = several[:MOST_SELECTED] if isinstance(several, list) else []
    return tuple(name for name in map(_id_of, listed) if name is not None)


def _id_of(choice: Any) -> str | None:
    name = choice.get("id") if isinstance(choice, dict) else None
    return name if isinstance(name, str) else None


def as_text(value: Any) -> str:
    """A JSON value as JavaScript's `String` has it."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):
        return ",".join("" if one is None else as_text(one) for one in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return json.dumps(value)
