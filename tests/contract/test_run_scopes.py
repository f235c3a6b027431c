"""At most one active run of a scope, on every store: between processes, after a crash, after retention."""

from __future__ import annotations

import asyncio

import pytest

from host import scopes
from host.decisions.state import Policy, Principal
from host.host import Host
from host.store.port import Store
from schemas.errors import Refusal
from schemas.runs import CreateRun

NOW = 1_790_000_000_000
ADA = Principal("ada", "acme")
EVE = Principal("eve", "other")


def hosts(store: Store, number: int) -> list[Host]:
    """So many processes on one store: nothing in memory is theirs together."""
    return [Host(store, Policy(), lambda: NOW) for _ in range(number)]


async def start(host: Host, scope: str = "deploy", who: Principal = ADA) -> str:
    """The id of a new run, or the code that refused it."""
    body = CreateRun(workflowId="sayso.external", scopeId=scope)
    try:
        return (await host.runs.start(who, body, alone=True)).run_id
    except Refusal as refusal:
        return refusal.code


async def test_of_many_processes_one_starts_it(store: Store) -> None:
    for _ in range(3):
        begun = await asyncio.gather(*(start(host) for host in hosts(store, 12)))
        [run_id] = {one for one in begun if one != "run_already_active"}
        assert begun.count(run_id) == 1
        assert len(begun) == 12
        await hosts(store, 1)[0].runs.cancel(ADA, run_id, "")


async def test_scopes_and_tenants_have_their_own(store: Store) -> None:
    [host] = hosts(store, 1)
    begun = [
        await start(host),
        await start(host, "Deploy"),
        await start(host, "deploy", EVE),
        await start(host, "\u0000 \U0001f680" * 500),
    ]
    assert len(set(begun)) == 4
    assert "run_already_active" not in begun
    assert await start(host) == "run_already_active"


async def test_a_creator_that_crashed_holds_nothing(store: Store) -> None:
    crashed, other = hosts(store, 2)
    first = await start(crashed)
    await crashed.runs.cancel(ADA, first, "")
    place = await scopes.next_place(crashed, "acme", "deploy")
    assert place.number == 1
    # Nobody comes back to that place; and one that does, too late, is the one that is refused.
    second = await start(other)
    assert second == place.run_id
    assert await start(crashed) == "run_already_active"


async def test_an_id_is_never_used_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    [host] = hosts(store, 1)
    first = await start(host)
    read = store.log.run

    async def removed(run_id: str) -> object:
        """As after retention: the run is gone."""
        return None if run_id == first else await read(run_id)

    with monkeypatch.context() as later:
        later.setattr(store.log, "run", removed)
        second = await start(host)
    assert second not in (first, "run_already_active")
    assert await start(host) == "run_already_active"
