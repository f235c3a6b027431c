"""What is known of a provider before anybody configures a source of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from adapters.webhooks.strict_json import parse
from adapters.webhooks.verify import Proof

JSON: Final = "json"
FORM: Final = "application/x-www-form-urlencoded"

Read = Callable[[Mapping[str, str], bytes], list[Any]]
"""(headers by lower-case name, a verified body) -> its events. Raises `ValueError` with a sentence
that quotes nothing of the body."""


@dataclass(frozen=True, slots=True)
class Greeted:
    """The answer to a handshake."""

    headers: Mapping[str, str]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Greeting:
    """A handshake before the first event: `answer(secrets, query, headers)` gives the answer, or None
    for a request that is no such handshake."""

    method: Literal["GET", "OPTIONS"]
    answer: Callable[[Sequence[str], Mapping[str, str], Mapping[str, str]], Greeted | None]


Handshake = Callable[[Mapping[str, str], bytes], Mapping[str, Any] | None]
"""(headers by lower-case name, a verified body) -> the JSON answer to a handshake that comes as a POST, or
None for a body of events. Never raises."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The object that a notice names: its id, and the path (with its first slash) where it is."""

    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """For a provider that signs nothing and sends an id: the object is fetched from `origin`, and is the
    event. `read` finds the id in a body that anybody may have sent; it raises `ValueError` for another
    form, so nothing but a well-formed id is ever asked for."""

    origin: str
    read: Callable[[bytes], Asked]


def one_event(_: Mapping[str, str], body: bytes) -> list[Any]:
    """A body that is one event, as JSON."""
    return [parse(body)]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider's signature scheme, and where its events keep their type and their id.

    `event_type` and `event_id` are JMESPath over one event. An empty `event_type` means that each
    source has to say; an empty `event_id` that the digest of the event names it. `mode` selects what
    tells a live event from a test event: true, "true", "live" and "production", or false, "false",
    "test" and "sandbox".

    `headers` (lower case) are the request headers that expressions may read with
    `header('x-github-event')`. They are rarely signed: good for a type, not for an id, because who
    replays a signed body can write any id beside it.

    `read` takes a verified body apart. `media` are the content types that are let in: `JSON` for
    application/json and all of `…+json`. With a `lookup` no body is ever verified: what is fetched is
    read instead.
    """

    scheme: Proof
    event_type: str = ""
    event_id: str = ""
    mode: str = ""
    headers: frozenset[str] = frozenset()
    read: Read = one_event
    media: tuple[str, ...] = (JSON,)
    greeting: Greeting | None = None
    handshake: Handshake | None = None
    lookup: Lookup | None = None
