"""A profile of Slack's -> what we may believe of an account. Pure.

`own` holds the ids of the installation: its workspace, and its Enterprise Grid organisation when there is
one. An account is a member's when it belongs to one of them, whatever its own prefix is; in Slack Connect
it belongs to another company, and `is_stranger` says so only to those who share no workspace with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from adapters.accounts import Account

_ADDRESS: Final = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_MOST_TEAMS: Final = 200


def account(user: Mapping[str, Any], home: str, own: frozenset[str]) -> Account:
    """The `user` of users.info. `home` is the workspace that the payload named, for where the profile
    names none."""
    if user.get("deleted") is True:
        return Account("gone")
    team = _text(user, "team_id") or home
    grid = user.get("enterprise_user")
    grid = grid if isinstance(grid, dict) else {}
    enterprise = _text(grid, "enterprise_id")
    belongs = bool({team, enterprise} & own)
    if not belongs or any(user.get(flag) is True for flag in ("is_stranger", "is_bot")):
        return Account("outsider")
    user_id = _text(user, "id")
    names = {f"{place}/{user_id}" for place in (team, enterprise, *_teams(grid)) if place}
    if user.get("is_restricted") is True or user.get("is_ultra_restricted") is True:
        return Account("guest", names=frozenset(names))
    return Account("member", _email(user), frozenset(names))


def _teams(grid: Mapping[str, Any]) -> list[str]:
    found = grid.get("teams")
    return [t for t in found if isinstance(t, str)][:_MOST_TEAMS] if isinstance(found, list) else []


def _email(user: Mapping[str, Any]) -> str:
    profile = user.get("profile")
    given = _text(profile, "email") if isinstance(profile, dict) else ""
    confirmed = user.get("is_email_confirmed") is True and _ADDRESS.fullmatch(given)
    return given.lower() if confirmed else ""


def _text(value: Mapping[str, Any], member: str) -> str:
    found = value.get(member)
    return found if isinstance(found, str) else ""
