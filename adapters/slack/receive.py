"""Slack payload -> what is to be done. Pure, total, after the signature has been checked.

Nothing in a payload is trusted to have a shape: whatever is not what this program once posted
becomes `Unknown` (the person is told so) or `Ignored` (nobody waits for an answer). Who the person
is comes from Slack's own members, never from a button's value.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from adapters.channel import Response
from adapters.slack.modal import CALLBACK, LINK_ACTION, Binding
from adapters.slack.render import ACTION_PREFIX
from adapters.views import Person

ActionName = Literal["accept", "reject", "refine", "edit-accept", "ask", "answer"]

# Refusals after which the same answer may be sent again: the form stays open with all that is in it.
AGAIN: Final = frozenset(
    {"sayso.unavailable", "rate_limited", "idempotency_in_flight", "internal_error"}
)

ACTIONS: Final[dict[str, ActionName]] = {
    "accept": "accept",
    "reject": "reject",
    "refine": "refine",
    "edit-accept": "edit-accept",
    "ask": "ask",
    "answer": "answer",
}
_SPOKEN: Final = {"", "file_share", "thread_broadcast"}
REPLY: Final = 40_000  # characters: what Slack itself keeps of a message
_LINK = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a private note to one person can go."""

    channel: str = ""
    thread: str = ""
    user: str = ""
    response_url: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Clicked:
    """A button that answers at once."""

    response: Response
    place: Place


@dataclass(frozen=True, slots=True)
class FormWanted:
    """A button that has to ask something first. `trigger_id` lives three seconds."""

    binding: Binding
    person: Person
    place: Place
    trigger_id: str = field(repr=False)
    dedupe: str = ""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A modal that was sent. Its values are read when its form is known again."""

    binding: Binding
    person: Person
    state: Mapping[str, Any]
    blocks: list[Any]
    dedupe: str


@dataclass(frozen=True, slots=True)
class Said:
    """A person's reply in a thread. `dedupe` is the same for every event that tells of it."""

    person: Person
    place: Place
    text: str
    dedupe: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A person did something that this program has no meaning for, and waits for an answer."""

    place: Place


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing to do, and nobody waits. `reason` is for the log."""

    reason: str


def block_actions(
    payload: Mapping[str, Any], team: str = ""
) -> Clicked | FormWanted | Unknown | Ignored:
    """What a click means. `team` is used where Slack names no workspace."""
    place = click_place(payload)
    action = first_of(payload.get("actions"))
    action_id = text_of(action, "action_id")
    if action_id == LINK_ACTION:
        return Ignored("a link was opened")
    person = _person(map_of(payload, "user"), payload, team)
    value = _json_object(text_of(action, "value"))
    interrupt_id, version, needs = value.get("i"), value.get("v"), value.get("n")
    ours = action_id.startswith(ACTION_PREFIX)
    name = ACTIONS.get(action_id.removeprefix(ACTION_PREFIX)) if ours else None
    if name is None or person is None or not isinstance(interrupt_id, str):
        return Unknown(place)
    if type(version) is not int:
        return Unknown(place)
    dedupe = f"slack:click:{interrupt_id}:{person.id}:{text_of(action, 'action_ts')}"
    if needs == "nothing":
        return Clicked(Response(interrupt_id, person, name, {}, dedupe, version), place)
    binding = Binding(interrupt_id, name, version, place.channel, place.thread)
    return FormWanted(binding, person, place, text_of(payload, "trigger_id"), dedupe)


def view_submission(payload: Mapping[str, Any], team: str = "") -> Submitted | Unknown:
    """What a sent modal means."""
    view = map_of(payload, "view")
    person = _person(map_of(payload, "user"), payload, team)
    binding = Binding.load(text_of(view, "private_metadata"))
    if text_of(view, "callback_id") != CALLBACK or binding is None or person is None:
        return Unknown(Place(user=text_of(map_of(payload, "user"), "id")))
    state = map_of(map_of(view, "state"), "values")
    return Submitted(binding, person, state, blocks_of(view), submission_key(view, state))


def blocks_of(view: Mapping[str, Any]) -> list[Any]:
    """The blocks of a view that came back."""
    blocks = view.get("blocks")
    return [block for block in blocks if isinstance(block, dict)] if blocks else []


def submission_key(view: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """One key for one submission, however often it is delivered.

    The hash stays the same when errors were shown and the person sent again: so the values count.
    """
    sent = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:16]
    return f"slack:submit:{text_of(view, 'id')}:{text_of(view, 'hash')}:{sent}"


def person_of(payload: Mapping[str, Any], team: str = "") -> Person | None:
    """Who did what an interaction tells of."""
    return _person(map_of(payload, "user"), payload, team)


def event(body: Mapping[str, Any], bot_user: str, team: str = "") -> Said | Ignored:
    """What an Events API callback means: a person's reply in a thread, or nothing.

    `bot_user` is our own user id: its mention at the start of a reply is not part of the answer.
    """
    said = map_of(body, "event")
    kind, thread, ts = text_of(said, "type"), text_of(said, "thread_ts"), text_of(said, "ts")
    user, channel = text_of(said, "user"), text_of(said, "channel")
    if kind not in ("message", "app_mention"):
        return Ignored(f"event {kind[:40] or 'without a type'}")
    subtype = said.get("subtype") or ""
    spoken = isinstance(subtype, str) and subtype in _SPOKEN
    if not spoken or said.get("hidden") or said.get("edited"):
        return Ignored("not something that was newly said")
    if said.get("bot_id") or said.get("bot_profile") or user in ("", bot_user, "USLACK"):
        return Ignored("not a person")
    if not thread or not ts or thread == ts or not channel:
        return Ignored("not a reply")
    text = words(text_of(said, "text")[:REPLY], bot_user)
    if not text:
        return Ignored("no text")
    home = text_of(said, "user_team") or text_of(said, "team") or text_of(body, "team_id") or team
    # A mention comes twice, with two event ids and one ts; so does a reply that is also sent to the
    # channel; a redelivery has the same ts anyway.
    dedupe = f"slack:reply:{channel}:{ts}"
    person = Person("slack", f"{home}/{user}")
    return Said(person, Place(channel, thread, user), text, dedupe)


def words(text: str, bot_user: str = "") -> str:
    """A message's text as the person typed it: Slack's tokens and entities undone, our name
    removed.
    """
    mention = f"<@{bot_user}>"
    text = text.strip()
    if bot_user and text.startswith(mention):
        text = text[len(mention) :]
    # Once, and tokens before entities: an escaped "&lt;" must not become a token.
    return html.unescape(_LINK.sub(_token, text)).strip()


def _token(match: re.Match[str]) -> str:
    target, label = match[1], match[2]
    if target.startswith(("@", "#")):
        return target[0] + label if label else target
    if target.startswith("!"):
        return label or "@" + target[1:].partition("^")[0]
    return label or target.removeprefix("mailto:")


def click_place(payload: Mapping[str, Any]) -> Place:
    """Where a private note about a click can go."""
    container = map_of(payload, "container")
    message = map_of(payload, "message")
    return Place(
        channel=text_of(map_of(payload, "channel"), "id") or text_of(container, "channel_id"),
        thread=text_of(container, "thread_ts") or text_of(message, "thread_ts"),
        user=text_of(map_of(payload, "user"), "id"),
        response_url=text_of(payload, "response_url"),
    )


def _person(user: Mapping[str, Any], payload: Mapping[str, Any], team: str) -> Person | None:
    """The person as `<team>/<user>`. In Slack Connect the team is their own, not ours."""
    user_id = text_of(user, "id")
    home = (
        text_of(user, "team_id")
        or text_of(map_of(payload, "team"), "id")
        or text_of(map_of(payload, "enterprise"), "id")
        or team
    )
    if not user_id or not home:
        return None
    return Person("slack", f"{home}/{user_id}", text_of(user, "name") or text_of(user, "username"))


def map_of(value: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    """A member that is an object; empty for any other."""
    found = value.get(member)
    return found if isinstance(found, dict) else {}


def text_of(value: Mapping[str, Any], member: str) -> str:
    """A member that is a string; "" for any other."""
    found = value.get(member)
    return found if isinstance(found, str) else ""


def first_of(value: Any) -> Mapping[str, Any]:
    """The first object of a list; empty for anything else."""
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


def _json_object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
