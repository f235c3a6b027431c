"""Whatever arrives where Slack's payloads do: a private answer or a 4xx, never a 500, never a stall."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from tests.fakes import slack_payloads as payloads
from tests.fakes.slack_transport import sign
from tests.integration.slack_world import APPROVAL, THREAD, TURN, World, slack_world

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
PATIENCE = 30.0

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(params=["http", "socket"])
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with slack_world(request.param, monkeypatch) as found:
        yield found


async def click_payload(world: World) -> dict[str, Any]:
    """A click as Slack would send it, to be spoilt."""
    await world.show(APPROVAL)
    message = await world.slack.posted()
    button = dict(message.buttons()[0])
    return payloads.block_actions(
        world.slack.space,
        message,
        button,
        "b",
        user="U0ADA",
        team="",
        trigger_id=world.slack.space.trigger("U0ADA"),
        response_url=world.slack.server.response_url("U0ADA"),
        action_ts="1.1",
    )


def value(**members: Any) -> Change:
    return lambda p: p["actions"][0].update(value=json.dumps(members))


CLICKS: dict[str, tuple[Change, bool]] = {  # what is spoilt -> is the person told
    "an unknown action": (lambda p: p["actions"][0].update(action_id="sayso.launch"), True),
    "another app's action": (lambda p: p["actions"][0].update(action_id="theirs"), True),
    "no value": (lambda p: p["actions"][0].pop("value"), True),
    "a value that is no JSON": (lambda p: p["actions"][0].update(value="{"), True),
    "a value of a wrong shape": (lambda p: p["actions"][0].update(value="[1]"), True),
    "a value of wrong types": (value(i=7, v="x", n=[]), True),
    "a deep value": (lambda p: p["actions"][0].update(value="[" * 1900), True),
    "an old version": (value(i=APPROVAL.interrupt_id, v=1, n="nothing"), False),
    "no user": (lambda p: p.pop("user"), False),
    "no team": (lambda p: p.update(team=None), False),
    "no channel": (lambda p: p.pop("channel"), False),
    "no message": (lambda p: p.pop("message"), False),
    "no container": (lambda p: p.pop("container"), False),
    "a block of an unknown type": (
        lambda p: p["message"].update(blocks=[{"type": "hologram", "x": [None]}]),
        False,
    ),
    "an element of an unknown type": (lambda p: p["actions"][0].update(type="hologram"), False),
    "an ephemeral message": (lambda p: p["container"].update(is_ephemeral=True), False),
    "state of a wrong type": (lambda p: p.update(state="?"), False),
    "an id with strange characters": (value(i="\x00\ud83d\ude00/../'\"", v=1, n="nothing"), False),
    "a long id": (value(i="x" * 1900, v=1, n="nothing"), False),
    "a response_url elsewhere": (
        lambda p: p.update(response_url="http://169.254.169.254/", channel=None, container={}),
        False,
    ),
}


@pytest.mark.parametrize("name", CLICKS)
async def test_a_spoilt_click_is_acknowledged_and_answered(world: World, name: str) -> None:
    change, told = CLICKS[name]
    payload = await click_payload(world)
    change(payload)
    answer = await world.slack.send("interactive", payload)
    assert answer.status == 200
    assert answer.seconds < world.slack.ack_seconds
    if told:
        note = await world.slack.told()
        assert note["user"] == "U0ADA"
        assert world.intake.answers == []
    # The next one, as it should be, is taken.
    good = await world.slack.click(await world.slack.posted(), "sayso.accept", user="U0BOB")
    assert good.status == 200
    assert world.intake.answers[-1].person.id == "T0TEAM/U0BOB"


VIEWS: dict[str, Change] = {
    "an unknown callback": lambda p: p["view"].update(callback_id="theirs"),
    "an older release's metadata": lambda p: p["view"].update(private_metadata='{"id": "int_1"}'),
    "no metadata": lambda p: p["view"].pop("private_metadata"),
    "metadata that is no JSON": lambda p: p["view"].update(private_metadata="["),
    "an unknown action": lambda p: p["view"].update(
        private_metadata=json.dumps([APPROVAL.interrupt_id, "launch", 3, "", ""])
    ),
    "an unknown interrupt": lambda p: p["view"].update(
        private_metadata=json.dumps(["gone", "reject", 3, "", ""])
    ),
    "no state": lambda p: p["view"].pop("state"),
    "state of a wrong type": lambda p: p["view"].update(state=[1]),
    "values of a wrong type": lambda p: p["view"].update(state={"values": {"a": 1, "b": [2]}}),
    "no blocks": lambda p: p["view"].pop("blocks"),
    "blocks of a wrong type": lambda p: p["view"].update(blocks={"a": 1}),
    "an unknown block": lambda p: p["view"].update(blocks=[None, 1, {"type": "hologram"}]),
    "no user": lambda p: p.pop("user"),
}


@pytest.mark.parametrize("name", VIEWS)
async def test_a_spoilt_form_says_so_in_the_form(world: World, name: str) -> None:
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    payload = payloads.view_submission(world.slack.space, view, {}, user="U0ADA", team="")
    VIEWS[name](payload)
    answer = await world.slack.send("interactive", payload)
    assert answer.status == 200
    assert answer.body["response_action"] in ("update", "errors")
    assert world.intake.answers == []


REFUSED: dict[str, Change] = {
    "no actions": lambda p: p.pop("actions"),
    "an empty list of actions": lambda p: p.update(actions=[]),
    "actions of a wrong type": lambda p: p.update(actions={"a": 1}),
    "an action of a wrong type": lambda p: p.update(actions=["a"]),
    "an action without an id": lambda p: p["actions"][0].pop("action_id"),
    "a user of a wrong type": lambda p: p.update(user=[1]),
    "a user by name": lambda p: p.update(user="U0ADA"),
    "a team of a wrong type": lambda p: p.update(team=[1]),
    "a type of a wrong type": lambda p: p.update(type=7),
    "a form without a view": lambda p: p.update(type="view_submission"),
    "a view of a wrong type": lambda p: p.update(type="view_submission", view=[1]),
    "authorizations of a wrong type": lambda p: p.update(authorizations=[None]),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_no_payload_is_refused_and_leaves_nobody_waiting(
    world: World, name: str
) -> None:
    payload = await click_payload(world)
    REFUSED[name](payload)
    answer = await world.slack.send("interactive", payload)
    assert answer.status == (400 if world.slack.target else 200)  # a socket knows no 400
    assert answer.seconds < 1.0
    assert world.intake.answers == []
    assert sum(world.channel.refused.values()) == (1 if world.slack.target else 0)


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "an unknown interaction": ("interactive", {"type": "hologram", "user": {"id": "U0ADA"}}),
    "a message of attachments": (
        "interactive",
        {"type": "interactive_message", "callback_id": "x", "actions": [{"name": "a"}]},
    ),
    "a suggestion": ("interactive", {"type": "block_suggestion", "action_id": "a", "value": "x"}),
    "a shortcut": ("interactive", {"type": "shortcut", "callback_id": "theirs", "user": {}}),
    "nothing": ("interactive", {}),
    "an unknown event": ("events_api", {"type": "event_callback", "event": {"type": "hologram"}}),
    "an event without one": ("events_api", {"type": "event_callback"}),
    "an event of a wrong type": ("events_api", {"type": "event_callback", "event": [1]}),
    "a rate limit's notice": (
        "events_api",
        {"type": "app_rate_limited", "team_id": "T0TEAM", "minute_rate_limited": 1},
    ),
    "a message that is one hole": (
        "events_api",
        {"type": "event_callback", "event": {"type": "message", "text": None, "thread_ts": 7}},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
async def test_what_nobody_knows_is_answered_and_stops_nothing(world: World, name: str) -> None:
    world.slack.ack_seconds = 1.0
    kind, payload = OTHERS[name]
    answer = await world.slack.send(kind, payload)
    assert answer.status in (0, 200, 400, 404)  # 0: over a socket what is not taken gets no ack
    await world.show(APPROVAL)
    assert (await world.slack.click(await world.slack.posted(), "sayso.accept")).status == 200
    assert len(world.intake.answers) == 1


async def test_reordered_and_repeated_replies_each_count_once(world: World) -> None:
    """Two replies in the wrong order, each three times: each has its own effect, once."""
    thread = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[thread["ts"]] = TURN.interrupt_id
    space = world.slack.space
    first, second = space.clock.ts(), space.clock.ts()
    for _ in range(3):
        for ts in (second, first):
            event = payloads.message_event(
                space, "C0OPS", ts, f"said {ts}", user="U0ADA", thread_ts=thread["ts"]
            )
            body = payloads.event_callback(space, event)
            assert (await world.slack.send("events_api", body)).status == 200
    assert [r.value for r in world.intake.answers] == [f"said {second}", f"said {first}"]


@pytest.mark.parametrize("world", ["http"], indirect=True)
async def test_bytes_that_slack_never_sends(world: World) -> None:
    """Signed with the right secret or not: the answer is a 4xx, in time, and says nothing of the body."""
    url = f"{world.slack.target}/slack/events"
    cases: list[tuple[str, bytes, bool, set[int]]] = [
        (FORM, b"", True, {400, 404}),
        (FORM, b"payload=", True, {400}),
        (FORM, b"payload={", True, {400}),
        (FORM, b"payload=[]", True, {400}),
        (FORM, b"payload=%FF%FE", True, {400}),
        (FORM, b"payload=" + b"[" * 100_000, True, {400}),
        (FORM, b"&".join(b"a=%d" % n for n in range(5000)), True, {400, 404}),
        (FORM, urlencode({"command": "/x", "text": "the payload is ready"}).encode(), True, {200}),
        (JSON, b"{", True, {400}),
        (JSON, b"[]", True, {400}),
        (JSON, b'"x"', True, {400}),
        (JSON, b"null", True, {400}),
        (JSON, b"\xff\xfe", True, {400}),
        (JSON, b"{}", True, {400, 404}),
        (JSON, b'{"type": "url_verification"}', True, {200, 400, 404}),
        (JSON, b'{"a":' * 20_000, True, {400}),
        ("text/plain", b"hello", True, {400, 404, 415}),
        ("", b"hello", True, {400, 404, 415}),
        (JSON, secrets.token_bytes(2000), True, {400}),
        (JSON, b"x" * (2 * 1024 * 1024 + 1), True, {413}),
        (JSON, b"{}", False, {401}),
        (FORM, b"ssl_check=1", False, {401}),
        (JSON, secrets.token_bytes(2000), False, {401}),
    ]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as session:
        for kind, body, signed, wanted in cases:
            headers = {"Content-Type": kind} if kind else {}
            if signed:
                headers |= sign(world.slack.signing_secret, body, int(time.time()))
            async with session.post(url, data=body, headers=headers) as response:
                assert response.status in wanted, (kind, body[:40], await response.text())
                assert b"hello" not in await response.read()
    assert world.intake.answers == []


@pytest.mark.parametrize("world", ["http"], indirect=True)
async def test_a_replayed_request_has_no_second_effect(world: World) -> None:
    """The very same signed bytes again, within the five minutes that a timestamp allows."""
    payload = await click_payload(world)
    body = urlencode({"payload": json.dumps(payload)}).encode()
    headers = {"Content-Type": FORM, **sign(world.slack.signing_secret, body, int(time.time()))}
    async with aiohttp.ClientSession() as session:
        for _ in range(3):
            url = f"{world.slack.target}/slack/events"
            async with session.post(url, data=body, headers=headers) as response:
                assert response.status == 200
    assert len(world.intake.answers) == 1


@pytest.mark.parametrize("world", ["http"], indirect=True)
async def test_headers_that_slack_never_sends(world: World) -> None:
    body = b"{}"
    good = sign(world.slack.signing_secret, body, int(time.time()))
    stamp, signature = "X-Slack-Request-Timestamp", "X-Slack-Signature"
    async with aiohttp.ClientSession() as session:
        for change in (
            {stamp: ""},
            {stamp: "-1"},
            {stamp: "1e9"},
            {stamp: "9" * 40},
            {signature: ""},
            {signature: "v1=" + good[signature][3:]},
            {signature: good[signature].upper()},
            {signature: good[signature][:-1]},
            {signature: "é" * 67},
        ):
            headers = {"Content-Type": JSON, **good, **change}
            url = f"{world.slack.target}/slack/events"
            async with session.post(url, data=body, headers=headers) as response:
                assert response.status == 401, change


@pytest.mark.parametrize("world", ["http"], indirect=True)
async def test_a_body_that_never_ends_holds_up_nobody(world: World) -> None:
    host, port = world.slack.target.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST /slack/events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    await writer.drain()
    await world.show(APPROVAL)
    answer = await world.slack.click(await world.slack.posted(), "sayso.accept")
    assert (answer.status, answer.seconds < 1.0) == (200, True)
    writer.close()
    assert reader is not None


@pytest.mark.parametrize("world", ["socket"], indirect=True)
async def test_frames_that_slack_never_sends(world: World) -> None:
    """A socket's peer is Slack; a frame that makes no sense still ends no connection and no task."""
    await world.slack.until(lambda: len(world.slack.sockets.open) == 2, "two sockets")
    for frame in ("", "{", "[]", '{"type": "hologram"}', '{"envelope_id": 1}', "\x00" * 50):
        for socket in list(world.slack.sockets.open):
            await socket.send_str(frame)
    await world.show(APPROVAL)
    for user in ("U0ADA", "U0BOB"):
        answer = await world.slack.click(await world.slack.posted(), "sayso.accept", user=user)
        assert answer.status == 200
    assert len(world.intake.answers) == 2
