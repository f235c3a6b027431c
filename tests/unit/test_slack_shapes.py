"""Whatever passes as a payload is one that bolt can dispatch: it never answers 500."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse

from adapters.slack.dispatch import dispatch
from adapters.slack.shapes import flaw

CLICK: dict[str, Any] = {
    "type": "block_actions",
    "user": {"id": "U0ADA", "team_id": "T0TEAM"},
    "team": {"id": "T0TEAM"},
    "enterprise": None,
    "container": {"type": "message", "channel_id": "C0OPS", "message_ts": "1.1"},
    "channel": {"id": "C0OPS"},
    "message": {"ts": "1.1"},
    "actions": [{"type": "button", "action_id": "a", "block_id": "b", "value": "v"}],
}
SENT: dict[str, Any] = {
    "type": "view_submission",
    "user": {"id": "U0ADA"},
    "team": {"id": "T0TEAM"},
    "view": {"id": "V1", "type": "modal", "callback_id": "c", "state": {"values": {}}},
}
EVENT: dict[str, Any] = {
    "type": "event_callback",
    "team_id": "T0TEAM",
    "event": {"type": "message", "channel": "C0OPS", "user": "U0ADA", "ts": "1.1", "text": "x"},
    "authorizations": [{"team_id": "T0TEAM", "is_bot": True}],
}
SUGGESTION = {**SENT, "type": "block_suggestion", "action_id": "a", "block_id": "b", "value": "x"}
COMMAND = {"command": "/sayso", "text": "the payload", "team_id": "T0TEAM", "user_id": "U0ADA"}

GOOD = [CLICK, SENT, {**SENT, "type": "view_closed"}, EVENT, SUGGESTION, COMMAND]
JUNK: list[Any] = [
    None,
    7,
    True,
    "x",
    "",
    [],
    [1],
    ["x"],
    [None],
    [[]],
    [{}],
    {},
    {"id": 7},
    {"a": []},
]


async def _authorized() -> AuthorizeResult:
    return AuthorizeResult(enterprise_id=None, team_id=None, bot_token="")


def _app() -> AsyncApp:
    app = AsyncApp(
        authorize=_authorized,
        signing_secret="",
        request_verification_enabled=False,
        ssl_check_enabled=False,
        ignoring_self_events_enabled=False,
        attaching_function_token_enabled=False,
        process_before_response=True,
    )
    every = re.compile(".*", re.DOTALL)

    async def take(body: dict[str, Any]) -> BoltResponse:
        return BoltResponse(status=200, body="")

    for listen in (
        app.action,
        app.view_submission,
        app.view_closed,
        app.event,
        app.shortcut,
        app.options,
        app.command,
    ):
        listen(every)(take)
    return app


@pytest.mark.parametrize("payload", GOOD, ids=[str(p.get("type", "none")) for p in GOOD])
def test_what_slack_sends_passes(payload: dict[str, Any]) -> None:
    assert flaw(payload) == ""


@pytest.mark.parametrize(
    "payload", [None, [], "x", 7, {}, *({"type": t} for t in ([], 7, {}, "x"))]
)
def test_what_is_no_payload_does_not(payload: Any) -> None:
    assert flaw(payload)


def _spoilt() -> st.SearchStrategy[dict[str, Any]]:
    """A payload with up to three members, at any depth, replaced or taken out."""

    def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        if not isinstance(value, dict | list):
            return []
        found: list[tuple[Any, ...]] = []
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            found += [(*at, key), *paths(one, (*at, key))]
        return found

    @st.composite
    def spoil(draw: st.DrawFn) -> dict[str, Any]:
        payload = copy.deepcopy(draw(st.sampled_from(GOOD)))
        for _ in range(draw(st.integers(0, 3))):
            there = paths(payload)
            if not there:
                break
            *way, last = draw(st.sampled_from(there))
            place = payload
            for key in way:
                place = place[key]
            if draw(st.booleans()) or isinstance(place, list):
                place[last] = copy.deepcopy(draw(st.sampled_from(JUNK)))
            else:
                del place[last]
        extra = draw(st.sampled_from([None, "view", "event", "user", "team", "authorizations"]))
        if extra is not None:
            payload[extra] = copy.deepcopy(draw(st.sampled_from(JUNK)))
        return payload

    return spoil()


APP: list[AsyncApp] = []


@settings(max_examples=300, deadline=None)
@given(_spoilt())
async def test_bolt_can_dispatch_whatever_passes(payload: dict[str, Any]) -> None:
    if flaw(payload):
        return
    if not APP:
        APP.append(_app())
    answer = await dispatch(APP[0], payload, {})
    assert answer.status in (200, 400, 404), payload
