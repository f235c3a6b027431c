"""A verified body -> neutral `InboundEvent`s. Pure.

A provider can do nothing about a mistake in our mapping, so a mistake is never its error: the event
is kept as `sayso.unmapped`, with the reason, for an operator to see.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from adapters.channel import InboundEvent
from adapters.webhooks.expressions import EvaluationFailed, Expression
from adapters.webhooks.providers.provider import one_event
from adapters.webhooks.settings import HookSource
from adapters.webhooks.strict_json import parse

UNMAPPED: Final = "sayso.unmapped"
RESERVED: Final = "sayso."
"""What a provider's own event types may not begin with: nobody forges an event of ours."""

MAX_TEXT: Final = 512
"""Characters of an event's type, its id and each correlation value."""
MAX_EVENTS: Final = 5000
"""Events of one body. The largest batches documented have 250; what a body limit admits is more."""

_MODES: Final = {
    "true": "live",
    "live": "live",
    "production": "live",
    "false": "test",
    "test": "test",
    "sandbox": "test",
}


class MappingFailed(Exception):
    """The event can't be mapped. `key` is the setting at fault ("body" for one that isn't JSON).

    `event` is the event as far as it could be read. The texts quote nothing of it.
    """

    def __init__(self, key: str, reason: str, event: Any = None) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason
        self.event = event


@dataclass(frozen=True, slots=True)
class Received:
    """One event of a body, and whether its mapping worked."""

    event: InboundEvent
    mapped: bool


def receive_all(source: HookSource, headers: Mapping[str, str], body: bytes) -> list[Received]:
    """All events of a body whose signature has been verified. Never raises.

    `headers` has lower-case names; expressions see those that the provider allows. A body that can't be
    taken apart is one unmapped event.
    """
    try:
        found = source.read(headers, body)
        if len(found) > MAX_EVENTS:
            raise ValueError(f"has more than {MAX_EVENTS} events")
        if source.read is one_event:
            return [_received(source, headers, found[0], body)]
        # The event as it was read is what is kept: what a form, XML or an envelope held.
        raws = [orjson.dumps(event, option=orjson.OPT_SORT_KEYS) for event in found]
    except Exception as error:
        # A reader's own sentences are fit to keep; what else went wrong is told by its kind.
        reason = str(error) if type(error) is ValueError else f"unreadable ({type(error).__name__})"
        return [Received(unmapped(body, MappingFailed("body", reason)), False)]
    return [_received(source, headers, e, raw) for e, raw in zip(found, raws, strict=True)]


def receive_again(source: HookSource, headers: Mapping[str, str], raw: bytes) -> Received:
    """One event as it was kept (`InboundEvent.raw` and `.headers`), mapped as the source is set now."""
    try:
        return _received(source, headers, parse(raw), raw)
    except ValueError:
        # What could not be read when it came; another reader is the only thing that could help.
        found = receive_all(source, headers, raw)
        failed = MappingFailed("body", "holds several events; have the provider send them again")
        return found[0] if len(found) == 1 else Received(unmapped(raw, failed), False)


def _received(source: HookSource, headers: Mapping[str, str], event: Any, raw: bytes) -> Received:
    visible = {name: value for name, value in headers.items() if name in source.headers}
    try:
        return Received(receive(source, visible, event, raw), True)
    except MappingFailed as failure:
        return Received(unmapped(raw, failure, visible), False)


def receive(source: HookSource, visible: Mapping[str, str], event: Any, raw: bytes) -> InboundEvent:
    """Map one event. `raw` are its bytes, `visible` the headers that expressions may read.

    Raises `MappingFailed`.
    """

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

    if source.mode is not None:
        _check_mode(source, text("mode", source.mode), event)
    event_type = text("event_type", source.event_type)
    if event_type.startswith(RESERVED):
        raise MappingFailed("event_type", f"types that begin with {RESERVED!r} are ours", event)
    correlation = _correlate(source, select, event)
    payload = event if source.payload is None else select("payload", source.payload)
    if payload is None and source.payload is not None:
        raise MappingFailed("payload", f"nothing at {source.payload.text!r}", event)
    event_id = digest(raw) if source.event_id is None else text("event_id", source.event_id)
    return InboundEvent(event_id, event_type, correlation, payload, raw, visible)


def unmapped(
    raw: bytes, failure: MappingFailed, visible: Mapping[str, str] | None = None
) -> InboundEvent:
    """The event that keeps what couldn't be mapped, named by the digest of its bytes."""
    payload = {"key": failure.key, "reason": failure.reason, "event": failure.event}
    return InboundEvent(digest(raw), UNMAPPED, {}, payload, raw, visible or {})


def _check_mode(source: HookSource, said: str, event: Any) -> None:
    """Test events end no live wait, nor the other way about. Raises `MappingFailed`."""
    mode = _MODES.get(said.lower())
    if mode is None:
        raise MappingFailed("mode", "the event says neither live nor test", event)
    if mode != source.wanted_mode:
        raise MappingFailed(
            "mode", f"a {mode} event at a source for {source.wanted_mode} events", event
        )


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
