"""The symfonic dialect over HTTP: pauses, tokens, the resume endpoint. Numbers: docs/dialects."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import orjson
import pytest

from host.pause_tokens import Scope
from tests.integration.conftest import Api

KEY = "a-secret-of-more-than-32-characters"
PREFIX = "/compat/symfonic/api/v1"
REFUND = {
    "payload_schema": {
        "type": "object",
        "required": ["limit"],
        "properties": {"limit": {"type": "integer"}},
    },
    "response_schema": {
        "type": "object",
        "required": ["amount"],
        "properties": {"amount": {"type": "integer"}},
    },
    "check": "response.amount <= payload.limit",
}
REGISTERED = {
    "refund": REFUND,
    "shared": {**REFUND, "cross_scope_allowed": True},
    "note": {"payload_schema": {}, "response_schema": {"type": "object"}},
}
ASK_USER = {
    "questions": [
        {
            "question": "Which colour?",
            "options": [
                {"label": "Red", "description": "Warm"},
                {"label": "Blue", "description": "Cold"},
            ],
            "allow_other": True,
        }
    ]
}


class Symfonic:
    """The dialect as a program uses it, in one scope."""

    def __init__(self, api: Api, sub: str = "", tenant: str = "acme") -> None:
        self.api = api
        self.headers = {"X-Tenant-ID": tenant, "Accept": "text/event-stream"}
        if sub:
            self.headers["X-Sub-Tenant-ID"] = sub

    def of(self, sub: str) -> Symfonic:
        return Symfonic(self.api, sub)

    async def pause(self, name: str = "refund", payload: Any = None, **more: Any) -> Any:
        body = {"name": name, "payload": payload or {"limit": 5}, "notify": [], **more}
        status, found = await self.send("POST", "/interrupts", body)
        assert status == 201, found
        return found

    async def send(self, method: str, path: str, body: Any = None, raw: Any = None) -> Any:
        """(status, JSON), or the data of the first event of a stream."""
        headers = {**self.headers, "Authorization": f"Bearer {self.api.key}"}
        url = self.api.gateway.url + PREFIX + path
        sent = {"data": raw} if raw is not None else {"json": body}
        async with self.api.session.request(method, url, headers=headers, **sent) as response:
            text = await response.read()
            if response.content_type != "text/event-stream":
                return response.status, orjson.loads(text)
            found = re.match(rb"event: (\w+)\ndata: (.*)\n\n", text)
            assert found is not None, text
            return response.status, {"event": found[1].decode(), **orjson.loads(found[2])}

    async def resume(self, token: str, body: Any) -> Any:
        return await self.send("POST", f"/resume/{token}", body)


def with_claims(token: str, **changes: Any) -> str:
    """The token with other claims, rightly signed."""
    claims = jwt.decode(token, KEY, ["HS256"], options={"verify_exp": False})
    return jwt.encode({**claims, **changes}, KEY, "HS256")


@pytest.fixture
async def client(start: Any) -> Symfonic:
    return Symfonic(await start(symfonic={"jwt_secret": KEY}, registrations=REGISTERED))


async def test_01_40_a_pause_is_an_interrupt_event(client: Symfonic) -> None:
    event = await client.pause(session_id="s1")
    assert {
        "type",
        "name",
        "pause_token",
        "payload",
        "expires_at",
        "interrupt_id",
        "run_id",
    } <= set(event)
    assert re.fullmatch(r"i-[a-f0-9]{12}", event["interrupt_id"])
    claims = jwt.decode(event["pause_token"], KEY, ["HS256"])
    assert claims["scope_hash"] == Scope("acme").hash
    assert claims["thread_id"] == "acme:_:s1"
    _, seen = await client.send("GET", f"/interrupts/{event['interrupt_id']}")
    assert seen["expires_at"] == event["expires_at"]


async def test_34_48_an_answer_resolves_and_its_event_comes_first(client: Symfonic) -> None:
    event = await client.pause()
    status, resolved = await client.resume(event["pause_token"], {"amount": 5})
    assert (status, resolved["event"]) == (200, "InterruptResolvedEvent")
    assert resolved["response"] == {"amount": 5}
    assert resolved["time_to_resolve_seconds"] >= 0
    run = event["run_id"].replace("/", "~2F")
    _, snapshot, _ = await client.api.call("GET", f"/runs/{run}")
    assert snapshot["status"] == "running"


REFUSED: list[tuple[str, Callable[[str], str], Any, int]] = [
    ("26 signature", lambda t: t[:-4] + "AAAA", {"amount": 1}, 401),
    ("26 expiry", lambda t: with_claims(t, exp=1), {"amount": 1}, 410),
    ("13 claims", lambda t: with_claims(t, jti=7), {"amount": 1}, 400),
    ("47 name", lambda t: with_claims(t, name="nobody"), {"amount": 1}, 400),
    ("19 payload", lambda t: with_claims(t, request_hash="0" * 64), {"amount": 1}, 400),
    ("53 store", lambda t: with_claims(t, interrupt_id="i-000000000000"), {"amount": 1}, 424),
    ("34 response", lambda t: t, {"amount": "much"}, 400),
    ("35 validator", lambda t: t, {"amount": 6}, 400),
]


@pytest.mark.parametrize(("name", "change", "body", "status"), REFUSED, ids=[r[0] for r in REFUSED])
async def test_26_46_what_is_refused_burns_nothing(
    client: Symfonic, name: str, change: Callable[[str], str], body: Any, status: int
) -> None:
    event = await client.pause()
    token = event["pause_token"]
    got, refused = await client.resume(change(token), body)
    assert (got, refused["event"], refused["status"]) == (status, "error", status), name
    assert token not in refused["detail"]
    assert (await client.resume(token, {"amount": 1}))[0] == 200


async def test_47_a_body_that_is_not_json_and_a_missing_scope(client: Symfonic) -> None:
    token = (await client.pause())["pause_token"]
    assert (await client.send("POST", f"/resume/{token}", raw=b"{"))[0] == 400
    del client.headers["X-Tenant-ID"]
    assert (await client.resume(token, {"amount": 1}))[0] == 401


async def test_21_another_scope_is_forbidden_and_burns_nothing(client: Symfonic) -> None:
    event = await client.of("b1").pause()
    assert (await client.resume(event["pause_token"], {"amount": 1}))[0] == 403
    assert (await client.of("b2").resume(event["pause_token"], {"amount": 1}))[0] == 403
    assert (await client.of("b1").resume(event["pause_token"], {"amount": 1}))[0] == 200


async def test_25_the_whole_scope_counts_and_not_its_hash(client: Symfonic) -> None:
    event = await client.pause()
    assert Scope("acme", "_").hash == Scope("acme").hash
    assert (await client.of("_").resume(event["pause_token"], {"amount": 1}))[0] == 403


async def trail(client: Symfonic, interrupt_id: str) -> list[str]:
    """Why each decision on an interrupt was allowed, as the audit trail has it."""
    store = client.api.gateway.host.store
    async with asyncio.timeout(60):
        while True:
            entries = await store.audit.entries("acme", 0, 1000)
            found = [
                e.because for e in entries if e.interrupt_id == interrupt_id and e.what == "decided"
            ]
            if found:
                return found
            await asyncio.sleep(0.02)


async def test_22_23_crossing_scopes_is_on_the_audit_trail_once(client: Symfonic) -> None:
    event = await client.of("b1").pause("shared")
    claims = jwt.decode(event["pause_token"], KEY, ["HS256"])
    assert (await client.of("b2").resume(event["pause_token"], {"amount": 1}))[0] == 200
    expected = ":".join(
        ("cross-scope", "shared", event["interrupt_id"], Scope("acme", "b1").hash, Scope("acme", "b2").hash,
         claims["jti"])
    )  # fmt: skip
    assert await trail(client, claims["checkpoint_id"]) == [expected]
    own = await client.of("b1").pause("shared")
    assert (await client.of("b1").resume(own["pause_token"], {"amount": 1}))[0] == 200
    at = jwt.decode(own["pause_token"], KEY, ["HS256"])["checkpoint_id"]
    assert not any("cross-scope" in because for because in await trail(client, at))


async def test_24_what_follows_belongs_to_the_minting_scope(client: Symfonic) -> None:
    first = await client.of("b1").pause("shared")
    await client.of("b2").resume(first["pause_token"], {"amount": 1})
    after = await client.of("b2").pause("refund", run_id=first["run_id"])
    assert (await client.of("b2").resume(after["pause_token"], {"amount": 1}))[0] == 403
    assert (await client.of("b1").resume(after["pause_token"], {"amount": 1}))[0] == 200


async def test_27_28_of_many_redemptions_one_succeeds(client: Symfonic) -> None:
    token = (await client.pause())["pause_token"]
    answers = await asyncio.gather(*(client.resume(token, {"amount": 1}) for _ in range(12)))
    assert sorted(status for status, _ in answers) == [200, *[410] * 11]
    assert (await client.resume(token, {"amount": 1}))[0] == 410


async def test_15_31_a_second_token_of_one_pause_is_worth_nothing_after_the_first(
    client: Symfonic,
) -> None:
    event = await client.pause()
    _, again = await client.send("GET", f"/interrupts/{event['interrupt_id']}")
    tokens = [event["pause_token"], again["pause_token"]]
    names = {jwt.decode(token, KEY, ["HS256"])["jti"] for token in tokens}
    assert len(names) == 2
    assert (await client.resume(tokens[1], {"amount": 1}))[0] == 200
    assert (await client.resume(tokens[0], {"amount": 1}))[0] == 410


async def test_30_54_two_pauses_of_one_run(client: Symfonic) -> None:
    one = await client.pause()
    two = await client.pause(run_id=one["run_id"])
    assert two["run_id"] == one["run_id"]
    assert two["interrupt_id"] != one["interrupt_id"]
    assert (await client.resume(two["pause_token"], {"amount": 1}))[0] == 200
    assert (await client.resume(one["pause_token"], {"amount": 2}))[0] == 200
    three = await client.pause(run_id=one["run_id"])
    assert three["event"] == "InterruptEvent"


async def test_29_32_a_spent_token_is_kept_under_its_name_alone(client: Symfonic) -> None:
    event = await client.pause()
    jti = jwt.decode(event["pause_token"], KEY, ["HS256"])["jti"]
    documents = client.api.gateway.host.store.documents
    now = client.api.gateway.host.clock()
    assert await documents.get("pause-token", jti, now) is None
    await client.resume(event["pause_token"], {"amount": 1})
    kept = await documents.get("pause-token", jti, now)
    assert kept is not None
    assert set(kept.value) == {"scope_hash", "consumed_at", "name"}
    assert kept.value["name"] == "refund"
    assert await documents.put("pause-token", jti, {}, now, expected=0) is None


async def test_33_34_what_is_raised_is_checked(client: Symfonic) -> None:
    body = {"name": "unknown", "payload": {}, "notify": []}
    assert (await client.send("POST", "/interrupts", body))[0] == 400
    body = {"name": "refund", "payload": {"limit": "high"}, "notify": []}
    status, refused = await client.send("POST", "/interrupts", body)
    assert (status, refused["event"]) == (400, "error")
    assert "limit" in refused["detail"]


async def test_36_an_empty_answer_resolves(client: Symfonic) -> None:
    event = await client.pause("note", {"text": "Read this."})
    status, resolved = await client.resume(event["pause_token"], {})
    assert (status, resolved["response"]) == (200, {})


async def test_37_38_ask_user(client: Symfonic) -> None:
    event = await client.pause("ask_user", ASK_USER, tool_call_id="call-7")
    assert event["event"] == "AskUserQuestionEvent"
    question = event["request"]["questions"][0]["id"]
    bad = {"answers": [{"question_id": question, "selections": ["Green"]}]}
    status, refused = await client.resume(event["pause_token"], bad)
    assert (status, refused["status"]) == (400, 400)
    assert "not offered" in refused["detail"]
    good = {"answers": [{"question_id": question, "selections": ["Red"], "other": "and gold"}]}
    status, answered = await client.resume(event["pause_token"], good)
    assert (status, answered["event"]) == (200, "AskUserAnsweredEvent")
    assert (answered["selected_labels"], answered["has_other"]) == (["Red"], True)
    assert answered["tool_call_id"] == "call-7"


async def test_55_a_person_may_answer_as_well_and_is_held_to_the_validator(
    client: Symfonic,
) -> None:
    event = await client.pause()
    run = event["run_id"].replace("/", "~2F")
    path = f"/runs/{run}/interrupts/{event['interrupt_id']}"
    waiting = asyncio.create_task(
        client.send("GET", f"/interrupts/{event['interrupt_id']}?wait=30")
    )
    status, refused, _ = await client.api.call("POST", path, {"resumeValue": {"amount": 6}})
    assert (status, refused["error"]) == (400, "validation_error")
    assert (await client.api.call("POST", path, {"resumeValue": {"amount": 4}}))[0] == 200
    _, told = await waiting
    assert (told["event"], told["response"]) == ("InterruptResolvedEvent", {"amount": 4})
    assert (await client.resume(event["pause_token"], {"amount": 4}))[0] == 410


async def test_41_42_a_pause_expires_once_and_is_gone(client: Symfonic) -> None:
    """The sweep is the gateway's own deadline worker; its clock is moved on."""
    event = await client.pause()
    host = client.api.gateway.host
    clock, host.clock = host.clock, lambda: clock() + 700_000
    host.journal._clock = host.clock
    host.waiters.wake("deadlines")
    _, told = await client.send("GET", f"/interrupts/{event['interrupt_id']}?wait=30")
    assert told["event"] == "InterruptExpiredEvent"
    assert told["scope_hash"] == Scope("acme").hash
    assert told["swept_at"] >= told["expired_at"]
    assert (await client.resume(event["pause_token"], {"amount": 1}))[0] == 410
    run = event["run_id"].replace("/", "~2F")
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    ends = [e["type"] for e in page["events"] if e["type"] in ("interrupt.resolved", "node.failed")]
    assert ends == ["node.failed"]


@pytest.mark.parametrize(
    ("seconds", "starts"), [(29, False), (30, True), (86_400, True), (86_401, False)]
)
async def test_39_the_life_of_a_pause_has_bounds(start: Any, seconds: int, starts: bool) -> None:
    try:
        api = await start(symfonic={"jwt_secret": KEY, "ttl_seconds": seconds})
    except ValueError:
        assert not starts
    else:
        assert starts
        await Symfonic(api).pause("ask_user", ASK_USER)


async def test_16_names_without_a_key_do_not_start(start: Any) -> None:
    with pytest.raises(ValueError, match="jwt_secret"):
        await start(registrations=REGISTERED)
    with pytest.raises(ValueError, match="32"):
        await start(symfonic={"jwt_secret": "short"}, registrations=REGISTERED)


async def test_without_the_profile_nothing_of_it_is_served(start: Any) -> None:
    client = Symfonic(await start())
    assert (await client.send("POST", "/interrupts", {}))[0] == 404


async def test_51_52_a_token_answers_after_a_restart(start: Any, tmp_path: Path) -> None:
    """And as the very first request of the new process."""
    chosen: dict[str, Any] = {
        "symfonic": {"jwt_secret": KEY},
        "registrations": REGISTERED,
        "data_dir": tmp_path / "kept",
    }
    first = await start(**chosen)
    event = await Symfonic(first).pause()
    await first.gateway.stop()
    client = Symfonic(await start(**chosen))
    status, resolved = await client.resume(event["pause_token"], {"amount": 3})
    assert (status, resolved["response"]) == (200, {"amount": 3})
    _, told = await client.send("GET", f"/interrupts/{event['interrupt_id']}")
    assert told["payload" if told["event"] == "InterruptEvent" else "response"] == {"amount": 3}
