"""A reply in a thread that somebody edited or deleted. Pure, after the signature has been checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.slack.receive import REPLY, Place, map_of, text_of, words
from adapters.views import Person


@dataclass(frozen=True, slots=True)
class Changed:
    """A reply that was edited or deleted. `reply` is its key as something that was said; `dedupe` names
    this very change. `person` and `text` are of what it says now; a deletion says nothing."""

    place: Place
    reply: str
    dedupe: str
    deleted: bool
    person: Person
    text: str = ""


def changed_reply(body: Mapping[str, Any], bot_user: str = "", team: str = "") -> Changed | None:
    """An edit or a deletion of a person's reply in a thread; None for anything else.

    `message_changed` comes for previews and new replies too: it is an edit only when the message says so
    and its text is another one.
    """
    event = map_of(body, "event")
    subtype, channel = event.get("subtype"), text_of(event, "channel")
    before, after = map_of(event, "previous_message"), map_of(event, "message")
    deleted = subtype == "message_deleted"
    if not channel or (not deleted and subtype != "message_changed"):
        return None
    if not deleted and (
        not after.get("edited") or text_of(after, "text") == text_of(before, "text")
    ):
        return None
    said = before if deleted else after
    ts, thread, user = text_of(said, "ts"), text_of(said, "thread_ts"), text_of(said, "user")
    if said.get("bot_id") or not ts or not user or thread in ("", ts):
        return None
    # An edit is told by when it was made: a preview that unfolds later tells it once more.
    made = text_of(map_of(after, "edited"), "ts")
    at = made or text_of(event, "event_ts") or text_of(event, "ts")
    home = text_of(said, "user_team") or text_of(said, "team") or text_of(body, "team_id") or team
    return Changed(
        place=Place(channel, thread, user),
        reply=f"slack:reply:{channel}:{ts}",
        dedupe=f"slack:change:{channel}:{ts}:{at}",
        deleted=deleted,
        person=Person("slack", f"{home}/{user}"),
        text="" if deleted else words(text_of(said, "text")[:REPLY], bot_user),
    )
