"""What has to be true whatever failed: the log, the database and the clients' own record agree."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from schemas.ids import path_segment
from tests.faults.load import PATIENCE, Case, Client, Play, Violation
from tests.faults.world import AWAY, World

_ENDED = "interrupt.resolved", "node.cancelled", "node.failed"


class OverHttp:
    """What any client can check, at each of the replicas. Every method raises `Violation`."""

    def __init__(self, client: Client, replicas: int) -> None:
        self._client = client
        self._replicas = replicas

    async def cases(self, cases: list[Case], chance: random.Random) -> None:
        """All of a batch; what was left open is answered first, and then checked as answered."""
        await self._all(cases, self._told)
        left = [case for case in cases if case.style == "left"]
        await self._all(left, lambda case: self._still_open(case, chance))
        await self._all(cases, lambda case: self._seen(case, chance))

    async def shown(self, cases: list[Case], chance: random.Random) -> None:
        """In the end every message is shown, says its interrupt's record."""
        end = time.monotonic() + PATIENCE
        for case in cases:
            while True:
                found = await self._record(case, chance)
                if [message["state"] for message in found["messages"]] == ["shown"]:
                    break
                if time.monotonic() > end:
                    raise Violation(f"{case.name}: {found['messages']}")
                await asyncio.sleep(0.05)

    async def _all(self, cases: list[Case], check: Callable[[Case], Awaitable[None]]) -> None:
        await asyncio.gather(*(check(case) for case in cases))

    async def _told(self, case: Case) -> None:
        """Of all that was acknowledged, one thing can be true."""
        ends = list(case.won)
        if case.cancelled is not None and case.cancelled.status == 200:
            ends.append("cancelled")
        if len(ends) > 1:
            raise Violation(f"{case.name}: two ends were acknowledged: {ends}")
        if case.style != "left" and not ends:
            raise Violation(f"{case.name}: everybody was told that somebody else was first")

    async def _still_open(self, case: Case, chance: random.Random) -> None:
        found = await self._record(case, chance)
        if found["status"] != "open":
            raise Violation(f"{case.name}: nobody answered, and it is {found['status']}")
        seeds = random.Random(chance.random())
        await Play(self._client, seeds).answer(case, f"{case.name}-at-last", seeds)
        if not case.won:
            raise Violation(f"{case.name}: it was open and took no answer: {case.told}")
        case.style = "single"

    async def _record(
        self, case: Case, chance: random.Random, at: int | None = None
    ) -> dict[str, Any]:
        path = f"/host/sayso/interrupts/{path_segment(case.interrupt_id)}"
        told = await self._client.send(chance, "GET", path, at=at)
        if told.status != 200:
            raise Violation(f"{case.name}: an interrupt that was acknowledged is gone: {told}")
        found: dict[str, Any] = told.body
        return found

    async def _seen(self, case: Case, chance: random.Random) -> None:
        """All replicas say what the clients were told, and say it again to the same key."""
        for at in range(self._replicas):
            one = random.Random(chance.random())
            found = await self._record(case, one, at)
            if case.won and (found["status"], found.get("resumeValue")) != (
                "resolved",
                case.won[0],
            ):
                raise Violation(f"{case.name}: acknowledged {case.won[0]!r}, found {found}")
            if not case.won and found["status"] != "cancelled":
                raise Violation(f"{case.name}: its cancelling was acknowledged, found {found}")
            path = f"/runs/{path_segment(case.run_id)}/events/poll?timeout=1"
            events = (await self._client.send(one, "GET", path, at=at)).body["events"]
            if [event["sequence"] for event in events] != list(range(len(events))):
                raise Violation(f"{case.name}: gaps in {[e['sequence'] for e in events]}")
            ends = Counter(e["type"] for e in events if e["type"] in _ENDED)
            if sum(ends.values()) != 1:
                raise Violation(f"{case.name}: it ended {dict(ends)}")
        if case.won:
            told, value = case.told[case.won[0]], case.won[0]
            again = await self._client.send(
                chance, "POST", case.node, {"resumeValue": value}, key=case.key(value)
            )
            if (again.status, again.body, again.replayed) != (200, told.body, True):
                raise Violation(f"{case.name}: told {told}, and the same key again: {again}")


class Checker:
    """Checks cases that have been played. Every method raises `Violation`."""

    def __init__(self, world: World, client: Client) -> None:
        self._world = world
        self._http = OverHttp(client, replicas=2)

    async def cases(self, cases: list[Case], chance: random.Random) -> None:
        """All of a batch, over HTTP and then in the database."""
        await self._http.cases(cases, chance)
        await self.log(cases)
        await self.messages(cases)

    async def log(self, cases: list[Case]) -> None:
        """The rows themselves: sequences without gaps, the run's version, one end, one interrupt."""
        ids = [case.run_id for case in cases]
        log = await self._rows(
            "SELECT run_id, sequence, events FROM log WHERE run_id = ANY ($1) "
            "ORDER BY run_id, sequence",
            ids,
        )
        versions = dict(
            await self._rows("SELECT run_id, version FROM runs WHERE run_id = ANY ($1)", ids)
        )
        asked = Counter(
            row[0]
            for row in await self._rows(
                "SELECT run_id FROM interrupts WHERE run_id = ANY ($1)", ids
            )
        )
        for case in cases:
            events: list[Any] = []
            for run_id, sequence, blob in log:
                if run_id == case.run_id:
                    if sequence != len(events):
                        raise Violation(f"{case.name}: {sequence} follows {len(events) - 1}")
                    events += orjson.loads(blob)
            ends = [event[0] for event in events if event[0] in _ENDED]
            if len(ends) != 1 or versions.get(case.run_id) != len(events):
                raise Violation(f"{case.name}: {ends}, {versions.get(case.run_id)}, {len(events)}")
            if asked[case.run_id] != 1:
                raise Violation(f"{case.name}: asked once, and there are {asked[case.run_id]}")

    async def messages(self, cases: list[Case]) -> None:
        """In the end every message shows its interrupt's version."""
        ids = [case.interrupt_id for case in cases]
        end = time.monotonic() + PATIENCE
        while True:
            found = await self._rows(
                "SELECT i.interrupt_id, i.version, m.shown, m.wanted, m.due_at, m.error, m.attempts "
                "FROM interrupts i LEFT JOIN messages m USING (interrupt_id) "
                "WHERE i.interrupt_id = ANY ($1)",
                ids,
            )
            behind = [
                tuple(row) for row in found if not row[1] == row[2] == row[3] or row[4] is not None
            ]
            if len(found) != len(ids):
                raise Violation(f"{len(ids)} were asked, and there are {len(found)} messages")
            if not behind:
                return
            if time.monotonic() > end:
                raise Violation(f"messages that are behind after {PATIENCE:g} s: {behind}")
            await asyncio.sleep(0.05)

    async def nothing_was_made_twice(self, cases: list[Case]) -> None:
        """Of all that was played ever: as many runs as were acknowledged, and no other."""
        known = {case.run_id for case in cases}
        there = {row[0] for row in await self._rows("SELECT run_id FROM runs")}
        if there != known:
            raise Violation(f"runs nobody was told of: {there - known}; gone: {known - there}")

    async def _rows(self, sql: str, *args: Any) -> list[Any]:
        """Read past the programs, as soon as the server answers: it may be what failed."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return await self._world.rows(sql, *args)
            except AWAY:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(0.05)
