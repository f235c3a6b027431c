"""A cancelled run takes with it what it called, whatever happens in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from host import cascade
from host.decisions import request as asking
from host.decisions.state import Principal
from host.journal import Decided
from host.store.port import Commit
from sayso import Sayso, SaysoError
from schemas.ids import path_segment
from tests.integration.conftest import Api

ROBOT = Principal("robot", "acme", kind="workload")


async def run(api: Api, parent: str | None = None) -> str:
    """A new run, called by `parent`. Its id."""
    body: dict[str, Any] = {"workflowId": "sayso.external"}
    if parent is not None:
        body["configurable"] = {"extensions": {"sayso.parent": {"runId": parent}}}
    status, made, _ = await api.call("POST", "/runs", body)
    assert status == 201, made
    return str(made["runId"])


async def status_of(api: Api, run_id: str) -> str:
    return str((await api.call("GET", f"/runs/{path_segment(run_id)}"))[1]["status"])


async def events_of(api: Api, run_id: str) -> list[dict[str, Any]]:
    path = f"/runs/{path_segment(run_id)}/events/poll?timeout=1"
    return list((await api.call("GET", path))[1]["events"])


async def cancel(api: Api, run_id: str, body: Any = None) -> int:
    path = f"/runs/{path_segment(run_id)}/cancel"
    return (await api.call("POST", path, body or {}))[0]


async def test_a_cancel_goes_down_the_family_and_nowhere_else(api: Api) -> None:
    parent = await run(api)
    child, sister = await run(api, parent), await run(api, parent)
    grandchild = await run(api, child)
    stranger = await run(api)
    for one in (child, grandchild, stranger):
        await api.ask(path_segment(one))
    path = f"/host/sayso/runs/{path_segment(sister)}/complete"
    assert (await api.call("POST", path, {}))[0] == 200
    assert await status_of(api, grandchild) == "waiting-approval"
    assert await cancel(api, parent, {"reason": "changed our minds"}) == 200
    assert [await status_of(api, one) for one in (parent, child, grandchild)] == ["cancelled"] * 3
    assert await status_of(api, sister) == "completed"
    assert await status_of(api, stranger) == "waiting-approval"
    for one, above in ((child, parent), (grandchild, child)):
        ended = (await events_of(api, one))[-1]
        assert ended["type"] == "run.cancelled"
        assert ended["payload"]["reason"] == "parent-cancelled"
        assert ended["payload"]["parentRunId"] == above
    assert (await events_of(api, parent))[-1]["payload"]["reason"] == "changed our minds"
    place = f"/runs/{path_segment(grandchild)}/interrupts/gate"
    answer = {"resumeValue": {"action": "accept"}}
    status, refused, _ = await api.call("POST", place, answer)
    assert (status, refused["error"]) == (409, "interrupt_already_resolved")


async def test_a_childs_cancel_leaves_its_parent(api: Api) -> None:
    parent = await run(api)
    child = await run(api, parent)
    assert await cancel(api, child) == 200
    assert await status_of(api, parent) == "running"
    # And a refused one takes nobody with it.
    other = await run(api, parent)
    path = f"/host/sayso/runs/{path_segment(parent)}/complete"
    assert (await api.call("POST", path, {}))[0] == 200
    assert await cancel(api, parent) == 409
    assert await status_of(api, other) == "running"


async def test_a_family_that_a_crash_left_is_finished(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = api.gateway.host
    parent = await run(api)
    child = await run(api, parent)

    async def crash(*_: Any) -> int:
        raise RuntimeError("the gateway goes here")

    with monkeypatch.context() as broken:
        broken.setattr(cascade, "spread", crash)
        assert await cancel(api, parent) == 500
    assert [await status_of(api, one) for one in (parent, child)] == ["cancelled", "running"]
    assert await cascade.once(host) == 0  # not before a child that is being made would be there
    now = host.clock()
    monkeypatch.setattr(host, "clock", lambda: now + cascade.SETTLED_MS)
    await cascade.once(host)  # unless the gateway's own worker was first
    assert await status_of(api, child) == "cancelled"
    assert await cascade.once(host) == 0
    assert await host.store.documents.list(cascade.MARK, now) == []


async def test_a_child_that_was_being_made_ends_too(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = api.gateway.host
    parent = await run(api)
    append = host.store.log.append

    async def late(commit: Commit) -> None:
        """The child's own first commit comes after its parent has ended, and has been listed."""
        if commit.run.configurable is not None:
            monkeypatch.setattr(host.store.log, "append", append)
            assert await cancel(api, parent) == 200
        await append(commit)

    monkeypatch.setattr(host.store.log, "append", late)
    child = await run(api, parent)
    assert await status_of(api, child) == "cancelled"


async def test_a_mark_whose_cancel_never_came_does_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = api.gateway.host
    parent = await run(api)
    child = await run(api, parent)
    found = await host.run(ROBOT, parent)
    assert await cascade.mark(host, found, ROBOT)
    now = host.clock()
    monkeypatch.setattr(host, "clock", lambda: now + cascade.SETTLED_MS)
    assert await cascade.once(host) == 0
    assert await status_of(api, child) == "running"
    assert await host.store.documents.list(cascade.MARK, now) == []


async def test_what_ends_first_stays_as_it_ended(api: Api) -> None:
    host = api.gateway.host
    parent = await run(api)
    child = await run(api, parent)
    loaded = await host.run(ROBOT, parent)
    await host.journal.change(
        child,
        lambda: host.runs.load_open(ROBOT, child),
        lambda state, _: Decided(state, asking.complete_run(state, {"done": True})),
    )
    assert await cascade.spread(host, ROBOT, loaded) == 0
    assert await status_of(api, child) == "completed"


async def test_the_client_says_whose_child_a_run_is(api: Api) -> None:
    parent = await run(api)

    def asks() -> str:
        with Sayso(api.gateway.url, api.key) as client:
            child = client.run(parent=parent)
            with pytest.raises(SaysoError) as raised:
                child.approve("Refund")
            return raised.value.code

    working = asyncio.create_task(asyncio.to_thread(asks))
    listed: list[Any] = []
    async with asyncio.timeout(20):
        while not listed:
            listed = (await api.call("GET", "/host/sayso/interrupts?status=open"))[1]["interrupts"]
    assert await cancel(api, parent) == 200
    assert await working == "cancelled"
