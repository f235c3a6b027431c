"""The posts of a session's thread: each once and in order, whatever fails; and without content in events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from host.coordination.embedded import EmbeddedValkey
from tests.fakes.session_worker import Worker
from tests.fakes.slack import Fault
from tests.integration.session_world import worker
from tests.integration.slack_office import Start
from tests.integration.thread_world import Thread, threaded

__all__ = ["worker"]


def talkative(request: dict[str, Any]) -> Any:
    """Says five things at once."""
    if request["trigger"]["type"] != "client.messages":
        return {}
    said = [{"role": "assistant", "content": f"line {n}"} for n in range(5)]
    return {"messages": [*request["trigger"]["messages"][-1:], *said]}


def lines(world: Thread) -> list[str]:
    return [m.shown()[-6:] for m in world.posts()]


WHOLE = ["42: go", *(f"line {n}" for n in range(5))]


@pytest.mark.parametrize(
    "fault",
    [Fault(times=1, drop="after"), Fault(times=2, status=500), Fault(times=1, status=429)],
    ids=["answer lost", "failing", "limited"],
)
async def test_each_post_stands_there_once_and_in_order(
    start: Start, worker: Worker, fault: Fault
) -> None:
    worker.decide = talkative
    async with threaded(start, worker) as world:
        world.slack.faults["chat.postMessage"] = fault
        await world.client.say("go")
        await world.post("line 4")
        await world.slack.until(lambda: len(world.posts()) == 6)
        assert lines(world) == WHOLE
        roots = [m for m in world.slack.messages.values() if not m.thread_ts]
        assert len(roots) == 1


async def test_what_was_not_posted_yet_is_posted_after_a_restart(
    start: Start, worker: Worker, tmp_path: Path
) -> None:
    worker.decide = talkative
    data = tmp_path / "shared"
    async with threaded(start, worker, data_dir=data) as world:
        await world.client.say("before")
        await world.post("line 4")
        world.slack.faults["chat.postMessage"] = Fault(times=10_000, status=500)
        await world.write("go on")
        await world.client.until(lambda s: len(s["messages"]) == 12)
        assert len(world.posts()) == 6
        await world.api.gateway.stop()
        del world.slack.faults["chat.postMessage"]
        chosen = world.api.gateway.settings.model_dump(exclude={"http", "store"})
        again = await start(**chosen, http={"port": 0})
        world.slack.target = again.gateway.url
        await world.slack.until(lambda: len(world.posts()) == 11, patience=20)
        assert lines(world)[6:] == WHOLE[1:]
        heard = [m for m in world.posts() if "go on" in m.shown()]
        assert heard == []


async def test_two_gateways_post_each_thing_once(
    start: Start, worker: Worker, postgres_url: str, tmp_path: Path
) -> None:
    server = EmbeddedValkey(tmp_path / "valkey")
    await server.start()
    worker.decide = talkative
    shared = {"store": {"url": postgres_url}, "redis": {"url": server.url}}
    async with threaded(start, worker, **shared) as world:
        chosen = world.api.gateway.settings.model_dump(exclude={"http", "data_dir"})
        other = await start(**chosen)
        for number in range(3):
            client = replace(world.client, name=f"s{number}")
            await client.say("go")
        await world.slack.until(lambda: len(world.posts()) == 18, patience=20)
        threads: dict[str, list[str]] = {}
        for post in world.posts():
            threads.setdefault(post.thread_ts, []).append(post.shown()[-6:])
        assert list(threads.values()) == [WHOLE] * 3
        await other.gateway.stop()
    await server.stop()


async def test_events_without_content_still_make_a_thread(start: Start, worker: Worker) -> None:
    settings = {"capture": {"requests": False, "answers": False}}
    async with threaded(start, worker, **settings) as world:
        await world.client.say("bob@example.com")
        await world.slack.click(await world.card(), "sayso.accept")
        await world.post("The tool said: sent")
        taken = await world.write("carol@example.com")
        await world.client.interrupted()
        await world.slack.edit(taken, "dave@example.com")
        await world.post("goes on along another branch, after “The tool said: sent”")
        await world.client.until(lambda s: len(s["interrupts"]) == 2)
        host = world.api.gateway.host
        run = (await world.client.look())["run_id"]
        for event in await host.store.log.events(run, -1, 10_000):
            assert not any(w in str(event.payload) for w in ("carol", "dave", "tool said"))
