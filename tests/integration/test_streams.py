"""Event streams over HTTP: modes, batches, snapshots, resuming, order of checks, bounds."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from gateway.routes import events as routes
from gateway.streams import follow
from tests.integration.conftest import Api, approval

ACCEPT = {"resumeValue": {"action": "accept"}}
Start = Callable[..., Awaitable[Api]]


@dataclass
class Frame:
    """One frame as a reader sees it; a comment has nothing but its text."""

    id: int | None = None
    event: str = ""
    data: Any = None
    comment: str = ""


class Reader:
    """Reads frames one by one."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> Frame | None:
        """The next frame, or None at the end of the stream."""
        frame, empty = Frame(), True
        async with asyncio.timeout(60):
            async for raw in self.response.content:
                line = raw.decode().rstrip("\n")
                if not line:
                    if not empty:
                        return frame
                    continue
                empty = False
                name, _, value = line.partition(": ")
                if name == "":
                    frame.comment = value
                elif name == "id":
                    frame.id = int(value)
                elif name == "event":
                    frame.event = value
                else:
                    frame.data = json.loads(value)
        return None

    async def rest(self) -> list[Frame]:
        found = []
        while (frame := await self.next()) is not None:
            found.append(frame)
        return found


@asynccontextmanager
async def stream(
    api: Api, run: str, query: str = "", last: str | None = None
) -> AsyncIterator[Reader]:
    headers = {"Authorization": f"Bearer {api.key}"}
    if last is not None:
        headers["Last-Event-ID"] = last
    url = f"{api.gateway.url}/runs/{run}/events{query}"
    async with api.session.get(url, headers=headers) as response:
        assert response.status == 200, await response.text()
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["OpenWOP-Version"] == "2.1"
        yield Reader(response)


async def answered(api: Api) -> str:
    """A run that asked, was answered and ended: eight events."""
    run = await api.run()
    await api.ask(run)
    await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
    return run


# --- modes ----------------------------------------------------------------------------------------


async def test_updates_leaves_out_what_is_for_debugging(api: Api) -> None:
    run = await api.run()
    await api.ask(run, approval(requiredApprovals=2))
    await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    await api.call("POST", f"/runs/{run}/cancel", {})
    async with stream(api, run) as reader:
        updates = await reader.rest()
    async with stream(api, run, "?streamMode=debug") as reader:
        debug = await reader.rest()
    assert [f.id for f in debug] == list(range(len(debug)))
    assert {f.event for f in debug} - {f.event for f in updates} == {"sayso.vote-recorded"}
    assert all(f.event == f.data["type"] and f.id == f.data["sequence"] for f in debug)


async def test_a_mixture_is_the_union_in_order_named_by_mode(api: Api) -> None:
    run = await api.run()
    await api.ask(run, approval(requiredApprovals=2))
    await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    await api.call("POST", f"/runs/{run}/cancel", {})
    async with stream(api, run, "?streamMode=debug,updates,messages") as reader:
        frames = await reader.rest()
    assert [f.id for f in frames] == list(range(len(frames)))
    votes = [f for f in frames if f.data["type"] == "sayso.vote-recorded"]
    assert [f.event for f in votes] == ["debug"]
    assert {f.event for f in frames} == {"updates", "debug"}


async def test_values_is_a_snapshot_after_each_transition(api: Api) -> None:
    run = await answered(api)
    async with stream(api, run, "?streamMode=values&bufferMs=5000") as reader:
        frames = await reader.rest()
    assert {f.event for f in frames} == {"state.snapshot"}
    assert [f.id for f in frames] == list(range(8))
    statuses = [f.data["status"] for f in frames]
    assert statuses == ["running"] * 3 + ["waiting-approval"] + ["running"] * 3 + ["completed"]
    assert frames[3].data["currentNodeId"] == "gate"
    _, snapshot, _ = await api.call("GET", f"/runs/{run}")
    assert frames[-1].data == snapshot


async def test_values_resumes_with_a_snapshot_first(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    async with stream(api, run, "?streamMode=values", last="3") as reader:
        first = await reader.next()
        assert first is not None
        assert (first.id, first.data["status"]) == (3, "waiting-approval")
        await api.call("POST", f"/runs/{run}/cancel", {})
        rest = await reader.rest()
    assert [(f.id, f.data["status"]) for f in rest] == [(4, "running"), (5, "cancelled")]


async def test_messages_is_silent_and_alive_and_ends_with_the_run(api: Api) -> None:
    run = await api.run()
    async with stream(api, run, "?streamMode=messages") as reader:
        await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
        assert await reader.rest() == []


# --- batches --------------------------------------------------------------------------------------


async def test_batches_flush_on_a_suspension_and_at_the_end(api: Api) -> None:
    run = await answered(api)
    async with stream(api, run, "?streamMode=debug&bufferMs=5000") as reader:
        frames = await reader.rest()
    assert [(f.event, f.id) for f in frames] == [("batch", 3), ("batch", 7)]
    assert [d["sequence"] for f in frames for d in f.data] == list(range(8))
    async with stream(api, run, "?streamMode=debug&bufferMs=5000", last="3") as reader:
        again = await reader.rest()
    assert again == frames[1:]


async def test_a_batch_goes_out_when_its_time_is_over(api: Api) -> None:
    run = await api.run()
    async with stream(api, run, "?bufferMs=20") as reader:
        frame = await reader.next()
        assert frame is not None
        assert (frame.event, frame.id, len(frame.data)) == ("batch", 0, 1)


async def test_what_is_buffered_goes_out_when_we_stop(start: Start) -> None:
    api = await start()
    run = await api.run()
    async with stream(api, run, "?bufferMs=5000") as reader:
        stopping = asyncio.create_task(api.gateway.stop())
        frames = await reader.rest()
        await stopping
    assert [(f.event, f.id) for f in frames] == [("batch", 0)]


# --- resuming -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "ids"), [("-1", [0, 1]), ("0", [1]), ("00", [1])])
async def test_the_cursor_is_exclusive(api: Api, last: str, ids: list[int]) -> None:
    run = await api.run()
    await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
    async with stream(api, run, last=last) as reader:
        assert [f.id for f in await reader.rest()] == ids


@pytest.mark.parametrize("last", ["1", "2", "999999", "9" * 60])
@pytest.mark.parametrize("mode", ["updates", "values", "debug"])
async def test_at_or_past_the_end_of_an_ended_run_it_closes(api: Api, last: str, mode: str) -> None:
    run = await api.run()
    await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
    async with stream(api, run, f"?streamMode={mode}", last=last) as reader:
        assert await reader.rest() == []


async def test_past_the_end_of_a_live_run_it_stays_open_until_the_end(api: Api) -> None:
    run = await api.run()
    async with stream(api, run, last="0") as reader:
        await api.ask(run)
        frame = await reader.next()
        assert frame is not None
        assert frame.id == 1
    async with stream(api, run, last="1000") as reader:
        await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
        assert await reader.rest() == []


async def test_a_quiet_stream_shows_that_it_is_alive(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "KEEP_ALIVE_SECONDS", 0.02)
    run = await api.run()
    async with stream(api, run, "?streamMode=messages") as reader:
        for _ in range(2):
            frame = await reader.next()
            assert frame is not None
            assert frame.comment == "keep-alive"


# --- refusals, in their order ---------------------------------------------------------------------


async def test_the_order_of_checks(api: Api) -> None:
    run = await api.run()
    gone, foreign = "acme~2Fnothing-of-this-kind", "other~2Fnothing-of-this-kind"
    bad_mode, bad_last = "?streamMode=all", {"Last-Event-ID": "x"}
    accept = {"Accept": "application/json"}
    table: list[tuple[str, str, dict[str, str], dict[str, Any], int, str]] = [
        (run, bad_mode, {}, {"key": None}, 401, "unauthenticated"),
        ("bare-run-id-000000", bad_mode, {}, {}, 400, "validation_error"),
        (run, bad_mode, accept, {}, 400, "unsupported_stream_mode"),
        (gone, bad_mode, bad_last, {}, 400, "unsupported_stream_mode"),
        (gone, "", bad_last, {}, 404, "not_found"),
        (foreign, "", bad_last, {}, 403, "id_tenant_mismatch"),
        (run, "", bad_last, {}, 400, "validation_error"),
        (run, "", {"Last-Event-ID": "1.5"}, {}, 400, "validation_error"),
        (run, "?bufferMs=5001", {}, {}, 400, "validation_error"),
        (run, "?bufferMs=-1", {}, {}, 400, "validation_error"),
        (run, "?streamMode=values,updates", {}, {}, 400, "unsupported_stream_mode"),
    ]
    for name, query, headers, options, status, code in table:
        path = f"/runs/{name}/events{query}"
        got, body, _ = await api.call("GET", path, headers=headers, **options)
        assert (got, body["error"]) == (status, code), (name, query, headers)


async def test_one_stream_too_many_is_told_when_to_come_back(start: Start) -> None:
    api = await start(protocol={"max_streams": 1})
    run = await api.run()
    async with stream(api, run) as reader:
        assert await reader.next() is not None
        status, body, headers = await api.call("GET", f"/runs/{run}/events")
        assert (status, body["error"]) == (429, "rate_limited")
        assert int(headers["Retry-After"]) > 0
        await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
        await reader.rest()
    async with stream(api, run) as reader:
        assert len(await reader.rest()) == 2


async def test_a_reader_that_does_not_read_is_cut_off(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "PATIENCE_SECONDS", 0.2)
    left = asyncio.Event()
    gone = follow.Stream.follow

    async def following(self: follow.Stream, *args: Any) -> None:
        try:
            await gone(self, *args)
        except TimeoutError:
            left.set()
            raise

    monkeypatch.setattr(routes.Stream, "follow", following)
    api = await start()
    run = await api.run()
    for number in range(8):
        payload = approval(f"k{number}", description="x" * 1_500_000)
        await api.ask(run, payload, node=f"n{number}")
    host, port = api.gateway.url.removeprefix("http://").split(":")
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect((host, int(port)))
        request = f"GET /runs/{run}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.key}"
        reader.sendall(f"{request}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            await left.wait()
