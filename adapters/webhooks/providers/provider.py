"""What is known of a provider before anybody configures a source of it."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.webhooks.verify import Scheme


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider's signature scheme, and where its events keep their type and their id.

    `event_type` and `event_id` are JMESPath over the event. An empty `event_type` means that each
    source has to say; an empty `event_id` that the digest of the body names the event.

    `headers` (lower case) are the request headers that expressions may read with
    `header('x-github-event')`. They are rarely signed: good for a type, not for an id, because who
    replays a signed body can write any id beside it.
    """

    scheme: Scheme
    event_type: str = ""
    event_id: str = ""
    headers: frozenset[str] = frozenset()
