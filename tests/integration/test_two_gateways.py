"""Two gateways, each with a data folder of its own, on one PostgreSQL database and one Valkey."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from gateway.listening import StartError
from host.coordination.embedded import EmbeddedValkey
from schemas.ids import path_segment
from tests.fakes.postgres import until
from tests.integration.conftest import Api, approval

ACCEPT = {"resumeValue": {"action": "accept"}}
Start = Callable[..., Awaitable[Api]]


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path / "valkey")
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def shared(postgres_url: str, valkey: EmbeddedValkey) -> dict[str, object]:
    """The settings that all gateways of one deployment have in common."""
    return {"store": {"url": postgres_url}, "redis": {"url": valkey.url}}


@pytest.fixture
async def two_gateways(shared: dict[str, object], start: Start) -> tuple[Api, Api]:
    return await start(**shared), await start(**shared)


async def waits_for(api: Api, topic: str) -> None:
    """Until somebody in this gateway waits for the topic."""

    async def registered() -> bool:
        return topic in api.gateway.host.waiters._waiting

    await until(registered)


async def test_of_two_hundred_resolves_over_both_one_is_answered_200(
    two_gateways: tuple[Api, Api],
) -> None:
    run = await two_gateways[0].run()
    await two_gateways[0].ask(run)
    answers = await asyncio.gather(
        *(
            two_gateways[n % 2].call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
            for n in range(200)
        )
    )
    assert Counter(status for status, _, _ in answers) == {200: 1, 409: 199}
    for api in two_gateways:
        _, page, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
        types = [e["type"] for e in page["events"]]
        assert types.count("interrupt.resolved") == 1


async def test_many_runs_over_both_are_all_answered(two_gateways: tuple[Api, Api]) -> None:
    runs = await asyncio.gather(*(two_gateways[n % 2].run() for n in range(40)))
    await asyncio.gather(*(two_gateways[n % 2].ask(run) for n, run in enumerate(runs)))
    answers = await asyncio.gather(
        *(
            api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
            for run in runs
            for api in two_gateways
        )
    )
    assert Counter(status for status, _, _ in answers) == {200: 40, 409: 40}


async def test_a_waiter_of_one_is_woken_by_a_resolve_on_the_other(
    two_gateways: tuple[Api, Api],
) -> None:
    here, there = two_gateways
    run = await here.run()
    record = await here.ask(run)
    interrupt_id = record["interruptId"]
    path = f"/host/sayso/interrupts/{path_segment(interrupt_id)}"
    waiting = asyncio.create_task(there.call("GET", f"{path}?wait=60"))
    polling = asyncio.create_task(
        there.call("GET", f"/runs/{run}/events/poll?timeout=60&afterSequence=3")
    )
    await waits_for(there, interrupt_id)
    await waits_for(there, interrupt_id.partition("/")[0] + "/" + run.partition("~2F")[2])
    status, _, _ = await here.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    assert status == 200
    _, body, _ = await asyncio.wait_for(waiting, 20)
    assert (body["status"], body["outcome"]["by"]) == ("resolved", "robot")
    _, page, _ = await asyncio.wait_for(polling, 20)
    assert page["events"][0]["type"] == "interrupt.resolved"


async def test_a_key_used_on_both_makes_one_run(two_gateways: tuple[Api, Api]) -> None:
    headers = {"Idempotency-Key": "0123456789abcdef0123456789"}
    body = {"workflowId": "sayso.external"}
    answers = await asyncio.gather(
        *(two_gateways[n % 2].call("POST", "/runs", body, headers=headers) for n in range(20))
    )
    assert {status for status, _, _ in answers} <= {201, 409}
    assert len({b["runId"] for status, b, _ in answers if status == 201}) == 1
    status, again, seen = await two_gateways[1].call("POST", "/runs", body, headers=headers)
    assert (status, seen["OpenWOP-Idempotent-Replay"]) == (201, "true")
    assert again["runId"] in {b["runId"] for _, b, _ in answers if "runId" in b}


async def test_without_valkey_the_answers_are_the_same(
    two_gateways: tuple[Api, Api], valkey: EmbeddedValkey
) -> None:
    here, there = two_gateways
    run = await here.run()
    await here.ask(run)
    await valkey.stop()
    headers = {"Idempotency-Key": "0123456789abcdef0123456789"}
    answers = await asyncio.gather(
        *(
            api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT, headers=headers)
            for api in (here, there) * 5
        )
    )
    firsts = [h for s, _, h in answers if s == 200 and "OpenWOP-Idempotent-Replay" not in h]
    assert {status for status, _, _ in answers} == {200}
    assert len(firsts) == 1


async def test_a_name_that_the_database_cannot_keep_is_refused_with_a_reason(
    two_gateways: tuple[Api, Api],
) -> None:
    api = two_gateways[0]
    run = await api.run()
    body = {"nodeId": "n", "payload": approval("no\0good"), "notify": []}
    for path, sent in (
        (f"/host/sayso/runs/{run}/interrupts", body),
        ("/runs", {"workflowId": "sayso.external", "tags": ["no\0good"]}),
    ):
        status, answer, _ = await api.call("POST", path, sent)
        assert (status, answer["error"]) == (400, "validation_error")
        assert "U+0000" in answer["message"]
    record = await api.ask(run, approval("good", title="no\0limit"))
    assert record["status"] == "open"


async def test_both_may_share_a_data_folder_when_nothing_is_embedded(
    shared: dict[str, object], start: Start, tmp_path: Path
) -> None:
    one = await start(**shared, data_dir=tmp_path / "common")
    other = await start(**shared, data_dir=tmp_path / "common")
    run = await one.run()
    status, _, _ = await other.call("GET", f"/runs/{run}")
    assert status == 200


async def test_a_data_folder_with_a_valkey_in_it_has_one_gateway(
    postgres_url: str, start: Start, tmp_path: Path
) -> None:
    await start(store={"url": postgres_url}, data_dir=tmp_path / "common")
    with pytest.raises(StartError, match="Another Sayso runs with the data folder"):
        await start(store={"url": postgres_url}, data_dir=tmp_path / "common")


async def test_the_embedded_default_announces_nothing(start: Start) -> None:
    api = await start()
    assert api.gateway.host.journal._announce is None
