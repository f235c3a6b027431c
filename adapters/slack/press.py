"""A press of a button that is a whole answer, and how it is kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from adapters.channel import Response
from adapters.slack.choices import Pressed
from adapters.slack.origin import candidates
from adapters.slack.receive import Place
from adapters.views import Person


@dataclass(frozen=True, slots=True)
class Press:
    """Who pressed what, where. `act` is an answer, or one option of a short question. `origin` are the ids
    of the workspaces that it may have come to, the likeliest first; `since` when, in ms."""

    act: Response | Pressed
    person: Person
    place: Place
    origin: tuple[str, ...]
    since: int

    @property
    def interrupt_id(self) -> str:
        """The request that it is about."""
        return self.act.interrupt_id


def press_of(
    act: Response | Pressed, person: Person, place: Place, payload: Mapping[str, Any], since: int
) -> Press:
    """What a payload tells of."""
    return Press(act, person, place, candidates(payload), since)


def dump(press: Press) -> dict[str, Any]:
    """JSON. Without the `response_url`, which is a secret of half an hour: a note finds another way."""
    act = asdict(press.act)
    kind = "answer" if isinstance(press.act, Response) else "choice"
    for member in ("person", "token"):
        act.pop(member, None)
    return {
        kind: act,
        "person": asdict(press.person),
        "place": asdict(replace(press.place, response_url="")),
        "origin": list(press.origin),
        "since": press.since,
    }


def load(kept: Mapping[str, Any]) -> Press | None:
    """None for one that a newer version has kept otherwise."""
    try:
        person, place = Person(**kept["person"]), Place(**kept["place"])
        act: Response | Pressed
        if "answer" in kept:
            act = Response(**kept["answer"], person=person)
        else:
            act = Pressed(**kept["choice"])
        return Press(act, person, place, tuple(kept["origin"]), kept["since"])
    except (KeyError, TypeError):
        return None
