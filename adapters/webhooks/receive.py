"""A verified body -> the neutral `InboundEvent`. Pure.

A provider can do nothing about a mistake in our mapping, so a mistake is never its error: the event
is kept as `sayso.unmapped`, with the reason, for an operator to see.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from adapters.channel import InboundEvent
from adapters.webhooks.expressions import EvaluationFailed, Expression
from adapters.webhooks.settings import HookSource

UNMAPPED: Final = "sayso.unmapped"
RESERVED: Final = "sayso."
"""What a provider's own event types may not begin with: nobody forges an event of ours."""

MAX_DEPTH: Final = 64
MAX_TEXT: Final = 512
"""Characters of an event's type, its id and each correlation value."""
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1


class MappingFailed(Exception):
    """The event can't be mapped. `key` is the setting at fault ("body" for one that isn't JSON).

    `event` is the event as far as it could be read. The texts quote nothing of it.
    """

    def __init__(self, key: str, reason: str, event: Any = None) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason
        self.event = event


def receive(source: HookSource, headers: Mapping[str, str], body: bytes) -> InboundEvent:
    """Map a body whose signature has been verified.

    `headers` has lower-case names; expressions see those that the provider allows. Raises
    `MappingFailed`.
    """
    try:
        event = parse(body)
    except ValueError as error:
        raise MappingFailed("body", str(error)) from None
    visible = {name: value for name, value in headers.items() if name in source.headers}

    def select(key: str, expression: Expression) -> Any:
        try:
            return expression.evaluate(event, visible)
        except EvaluationFailed as error:
            raise MappingFailed(key, str(error), event) from None

    def text(key: str, expression: Expression) -> str:
        try:
            value = normalise(select(key, expression))
        except ValueError as error:
            raise MappingFailed(key, str(error), event) from None
        if not value:
            raise MappingFailed(key, f"nothing at {expression.text!r}", event)
        return value

    event_type = text("event_type", source.event_type)
    if event_type.startswith(RESERVED):
        raise MappingFailed("event_type", f"types that begin with {RESERVED!r} are ours", event)
    correlation = _correlate(source, select, event)
    payload = event if source.payload is None else select("payload", source.payload)
    if payload is None and source.payload is not None:
        raise MappingFailed("payload", f"nothing at {source.payload.text!r}", event)
    event_id = digest(body) if source.event_id is None else text("event_id", source.event_id)
    return InboundEvent(event_id, event_type, correlation, payload, body)


def unmapped(body: bytes, failure: MappingFailed) -> InboundEvent:
    """The event that keeps what couldn't be mapped, named by the digest of its body."""
    payload = {"key": failure.key, "reason": failure.reason, "event": failure.event}
    return InboundEvent(digest(body), UNMAPPED, {}, payload, body)


def digest(body: bytes) -> str:
    """The name of an event whose provider signs none: the same bytes are the same event."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def normalise(value: Any) -> str | None:
    """A correlation value as it is compared: trimmed text, or None for nothing.

    Numbers become their shortest text (`1.0` -> "1", `12.50` -> "12.5"; integers stay exact),
    booleans "true" and "false". Case counts. Raises `ValueError` for an object or a list, and for
    text that is too long or holds control characters.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise ValueError("selects an object or a list where one value is needed")
    value = value.strip()
    if len(value) > MAX_TEXT:
        raise ValueError(f"selects more than {MAX_TEXT} characters")
    if any(character < " " or character == "\x7f" for character in value):
        raise ValueError("selects text with control characters")
    return value or None


def parse(body: bytes) -> Any:
    """Strict JSON: UTF-8, no duplicate keys, no NaN or Infinity, numbers and nesting within bounds.

    Integers beyond 64 bits and lone surrogates are refused because no store would take them back
    out unchanged (RFC 7493). Raises `ValueError` with a sentence that quotes nothing of the body.
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_not_finite,
            parse_float=_finite,
            parse_int=_within,
        )
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} deep") from None
    _check_tree(value)
    return value


def _correlate(source: HookSource, select: Any, event: Any) -> dict[str, Any]:
    correlation = {}
    for key, expression in source.correlation.items():
        name = f"correlation.{key}"
        try:
            value = normalise(select(name, expression))
        except ValueError as error:
            raise MappingFailed(name, str(error), event) from None
        if value is not None:
            correlation[key] = value
    if source.correlation and not correlation:
        tried = ", ".join(f"{key} ({e.text!r})" for key, e in source.correlation.items())
        raise MappingFailed("correlation", f"nothing at any key: {tried}", event)
    return correlation


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has the same key twice")
    return members


def _not_finite(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _within(text: str) -> int:
    if len(text) > 20 or not _SMALLEST <= int(text) <= _LARGEST:
        raise ValueError("an integer has more than 64 bits")
    return int(text)


def _check_tree(value: Any) -> None:
    """Depth, and characters that can't be encoded. Without recursion: the depth isn't known yet."""
    pending = [(value, 1)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, str):
            if not node.isascii():
                try:
                    node.encode("utf-8")
                except UnicodeEncodeError:
                    raise ValueError("text holds half of a surrogate pair") from None
        elif isinstance(node, (dict, list)):
            if depth > MAX_DEPTH:
                raise ValueError(f"nested more than {MAX_DEPTH} deep")
            if isinstance(node, dict):
                pending.extend((key, depth) for key in node)
                pending.extend((member, depth + 1) for member in node.values())
            else:
                pending.extend((member, depth + 1) for member in node)
