"""`/sayso …`: what was typed -> what is wanted. Pure.

Over HTTP a command is a form of its own members; slack-bolt loses it when the letters "payload" occur in
its text, so it is read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

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
_MEMBERS: Final = 60


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


def form_body(content_type: str, body: bytes) -> dict[str, str] | None:
    """The members of a command's request, or None when the body is none. Never raises."""
    if not content_type.startswith("application/x-www-form-urlencoded"):
        return None
    try:
        members = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MEMBERS))
    except ValueError:
        return None
    return members if "command" in members and "payload" not in members else None


def person(body: Mapping[str, Any]) -> tuple[str, str]:
    """(workspace, user) of a command; ("", "") where Slack names none."""
    team, user = body.get("team_id") or body.get("enterprise_id"), body.get("user_id")
    return (team, user) if isinstance(team, str) and isinstance(user, str) else ("", "")
