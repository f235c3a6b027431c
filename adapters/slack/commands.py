"""`/sayso …`: what was typed -> what is wanted. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Verb = Literal["inbox", "show", "ask", "help", "unknown"]

_VERBS: Final[dict[str, Verb]] = {
    "": "inbox",
    "inbox": "inbox",
    "list": "inbox",
    "show": "show",
    "ask": "ask",
    "help": "help",
    "?": "help",
}


@dataclass(frozen=True, slots=True)
class Command:
    """`verb` with the request that it names and the rest of the text."""

    verb: Verb
    request: str = ""
    text: str = ""


def read(text: str) -> Command:
    """What the text behind the command means."""
    word, _, rest = text.strip().partition(" ")
    verb = _VERBS.get(word.lower(), "unknown")
    rest = rest.strip()
    if verb in ("show", "ask"):
        request, _, said = rest.partition(" ")
        request = request.strip("`#<>.,:")
        if not request or (verb == "ask" and not said.strip()):
            return Command("help")
        return Command(verb, request, said.strip())
    return Command(verb, text=text.strip())


def person(body: Mapping[str, Any]) -> tuple[str, str]:
    """(workspace, user) of a command; ("", "") where Slack names none."""
    team, user = body.get("team_id") or body.get("enterprise_id"), body.get("user_id")
    return (team, user) if isinstance(team, str) and isinstance(user, str) else ("", "")
