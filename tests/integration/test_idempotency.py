"""Idempotency keys: right when Redis forgets, when it is away, and when two requests race."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from gateway.workers import Housekeeping
from host.coordination.embedded import EmbeddedValkey
from schemas.ids import path_segment
from tests.integration.conftest import Api, approval

KEY = {"Idempotency-Key": "0123456789abcdef0123456789"}
ACCEPT = {"resumeValue": {"action": "accept"}}


@pytest.fixture
async def shared(start: Any, tmp_path: Any) -> AsyncIterator[tuple[Api, Redis, EmbeddedValkey]]:
    """A gateway whose Redis the test can reach, flush and stop."""
    valkey = EmbeddedValkey(tmp_path / "shared")
    await valkey.start()
    api = await start(redis={"url": valkey.url})
    client = Redis.from_url(valkey.url)
    yield api, client, valkey
    await client.aclose()
    await valkey.stop()


async def test_a_replay_is_right_when_redis_has_lost_its_memory(
    shared: tuple[Api, Redis, EmbeddedValkey],
) -> None:
    api, redis, _ = shared
    run = await api.run()
    await api.ask(run)
    path = f"/runs/{run}/interrupts/gate"
    _, first, _ = await api.call("POST", path, ACCEPT, headers=KEY)
    await redis.flushall()
    status, again, headers = await api.call("POST", path, ACCEPT, headers=KEY)
    assert (status, again) == (200, first)
    assert headers["OpenWOP-Idempotent-Replay"] == "true"


async def test_keys_hold_while_redis_is_away(shared: tuple[Api, Redis, EmbeddedValkey]) -> None:
    api, _, valkey = shared
    await valkey.stop()
    body = {"workflowId": "sayso.external"}
    answers = await asyncio.gather(
        *(api.call("POST", "/runs", body, headers=KEY) for _ in range(10))
    )
    assert {status for status, _, _ in answers} == {201}
    assert len({answer["runId"] for _, answer, _ in answers}) == 1
    firsts = [h for _, _, h in answers if "OpenWOP-Idempotent-Replay" not in h]
    assert len(firsts) == 1


async def test_one_key_has_one_answer_although_the_question_was_known_by_then(
    shared: tuple[Api, Redis, EmbeddedValkey],
) -> None:
    """Who comes second finds the interrupt of the first and changes nothing: still the first's answer."""
    api, _, valkey = shared
    await valkey.stop()
    run = await api.run()
    path = f"/host/sayso/runs/{run}/interrupts"
    body = {"nodeId": "gate", "payload": approval(), "notify": []}
    answers = await asyncio.gather(*(api.call("POST", path, body, headers=KEY) for _ in range(10)))
    assert {status for status, _, _ in answers} == {201}
    assert len({answer["interruptId"] for _, answer, _ in answers}) == 1
    firsts = [h for _, _, h in answers if "OpenWOP-Idempotent-Replay" not in h]
    assert len(firsts) == 1


async def test_a_key_in_flight_is_said_to_be(shared: tuple[Api, Redis, EmbeddedValkey]) -> None:
    api, redis, _ = shared
    run = await api.run()
    other = {"Idempotency-Key": "f" * 30}
    idle = asyncio.Event()
    original = api.gateway.host.resolve

    async def slow(*args: Any, **kwargs: Any) -> Any:
        await idle.wait()
        return await original(*args, **kwargs)

    api.gateway.host.resolve = slow  # type: ignore[method-assign]
    await api.ask(run)
    path = f"/runs/{run}/interrupts/gate"
    held = asyncio.create_task(api.call("POST", path, ACCEPT, headers=other))
    async with asyncio.timeout(30):
        while not await redis.keys("*"):  # until the first request has claimed its key
            await asyncio.sleep(0)
    status, answer, headers = await api.call("POST", path, ACCEPT, headers=other)
    assert status == 409
    assert answer["error"] == "idempotency_in_flight"
    assert headers["Retry-After"] == "1"
    assert "details" not in answer
    idle.set()
    status, _, _ = await held
    assert status == 200


async def test_a_final_refusal_is_remembered_and_a_correctable_one_is_not(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    path = f"/runs/{run}/interrupts/gate"
    wrong = {"resumeValue": {"action": "nonsense"}}
    status, _, _ = await api.call("POST", path, wrong, headers=KEY)
    assert status == 400
    status, _, headers = await api.call("POST", path, ACCEPT, headers=KEY)
    assert status == 200  # a validation error binds nothing to the key
    late = {"Idempotency-Key": "e" * 30}
    for replayed in (False, True):
        status, answer, headers = await api.call("POST", path, ACCEPT, headers=late)
        assert (status, answer["error"]) == (409, "interrupt_already_resolved")
        assert ("OpenWOP-Idempotent-Replay" in headers) is replayed


async def test_keys_of_two_tenants_are_two_keys(api: Api) -> None:
    body = {"workflowId": "sayso.external"}
    _, ours, _ = await api.call("POST", "/runs", body, headers=KEY)
    _, theirs, headers = await api.call(
        "POST", "/runs", body, headers=KEY, key="alien-key-123456789"
    )
    assert "OpenWOP-Idempotent-Replay" not in headers
    assert ours["runId"] != theirs["runId"]


async def test_another_tenants_id_says_nothing_about_what_exists(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run, approval())
    alien = {"key": "alien-key-123456789"}
    pairs = [
        (f"/runs/{run}", "/runs/acme~2F0000000000000000000000"),
        (f"/runs/{run}/events/poll", "/runs/acme~2F0000000000000000000000/events/poll"),
        (
            f"/host/sayso/interrupts/{path_segment(record['interruptId'])}",
            "/host/sayso/interrupts/acme~2F0000000000000000000000",
        ),
    ]
    for real, made_up in pairs:
        there = await api.call("GET", real, **alien)
        nowhere = await api.call("GET", made_up, **alien)
        assert there[:2] == nowhere[:2]
        assert there[0] == 403


async def test_a_key_is_known_for_its_hours(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is started again on Monday finds the run of Friday, where the operator wants that."""
    api: Api = await start()
    host = api.gateway.host
    body, began = {"workflowId": "sayso.external"}, host.clock()
    _, first, _ = await api.call("POST", "/runs", body, headers=KEY)
    keeping = Housekeeping(host, key_hours=72)

    monkeypatch.setattr(host, "clock", lambda: began + 71 * 3_600_000)
    await keeping.once()
    _, again, headers = await api.call("POST", "/runs", body, headers=KEY)
    assert (again, headers["OpenWOP-Idempotent-Replay"]) == (first, "true")

    monkeypatch.setattr(host, "clock", lambda: began + 73 * 3_600_000)
    await keeping.once()
    _, other, headers = await api.call("POST", "/runs", body, headers=KEY)
    assert other["runId"] != first["runId"]
    assert "OpenWOP-Idempotent-Replay" not in headers
