"""Whose payload is this? The installation that a payload came to, and where an address is. Pure.

In a shared channel `team` and `user.team_id` name the company of whoever pressed, which may not be ours:
the installing workspace is `authorizations[0]` in an event and `view.app_installed_team_id` in a modal.
With an organisation's installation there may be no team at all. So the candidates are tried in this
order, and the first one that is installed is it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_AT: Final = re.compile(r"([TE][A-Z0-9]{2,20})/")


def candidates(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Ids of workspaces and organisations, the likeliest first, each once."""
    return tuple(dict.fromkeys(found for found in _all(body) if found))


def split_address(address: str) -> tuple[str, str]:
    """(workspace or organisation id or "", the rest): `T0123/#ops` -> `("T0123", "#ops")`."""
    found = _AT.match(address)
    return (found[1], address[found.end() :]) if found else ("", address)


def _all(body: Mapping[str, Any]) -> Iterator[str]:
    granted = body.get("authorizations")
    if isinstance(granted, list) and granted and isinstance(granted[0], dict):
        yield from _pair(granted[0], "team_id", "enterprise_id")
    view = _map(body, "view")
    yield _text(view, "app_installed_team_id")
    enterprise = _text(_map(body, "enterprise"), "id") or _text(body, "enterprise_id")
    team = _text(_map(body, "team"), "id") or _text(body, "team_id")
    yield from (enterprise, team) if body.get("is_enterprise_install") is True else (team,)
    yield _text(_map(body, "message"), "team")
    yield _text(view, "team_id")
    yield _text(_map(body, "user"), "team_id")
    yield enterprise


def _pair(value: Mapping[str, Any], team: str, enterprise: str) -> Iterator[str]:
    if value.get("is_enterprise_install") is True:
        yield _text(value, enterprise)
        yield _text(value, team)
    else:
        yield _text(value, team)
        yield _text(value, enterprise)


def _map(value: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    found = value.get(member)
    return found if isinstance(found, dict) else {}


def _text(value: Mapping[str, Any], member: str) -> str:
    found = value.get(member)
    return found if isinstance(found, str) else ""
