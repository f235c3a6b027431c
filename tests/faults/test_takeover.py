"""A replica goes, by SIGTERM or SIGKILL: what it held is taken up by the other within seconds."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from schemas.ids import path_segment
from tests.acceptance.program import until
from tests.fakes.mail_server import MailServer
from tests.faults.checker import Checker
from tests.faults.load import Case, Client, Play
from tests.faults.world import World

pytestmark = pytest.mark.faults

TAKEOVER = 10.0
"""Seconds after which what a killed replica held must have been taken up."""


@asynccontextmanager
async def silent_server() -> AsyncIterator[tuple[str, list[asyncio.StreamWriter]]]:
    """A mail server that accepts connections and never says a word; its URL, and who called."""
    callers: list[asyncio.StreamWriter] = []

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}", callers
    finally:
        server.close()
        for writer in callers:
            writer.transport.abort()


@asynccontextmanager
async def holding(
    tmp_path: Path, session: aiohttp.ClientSession
) -> AsyncIterator[tuple[World, MailServer, Client]]:
    """Replica 0 is in the middle of sending a mail that won't come through; replica 1 could send it."""
    async with silent_server() as (silent, callers), MailServer() as mail:
        world = World(
            tmp_path / "world",
            {"SAYSO_EMAIL__SMTP_URL": silent},
            {"SAYSO_EMAIL__SMTP_URL": mail.url},
        )
        try:
            await world.start()
            client = Client(session, world.key, lambda: world.urls)
            chance = random.Random(0)
            run = await client.send(chance, "POST", "/runs", {"workflowId": "sayso.external"}, at=0)
            other = world.replicas[1].program.process
            other.send_signal(signal.SIGSTOP)
            try:
                body = {
                    "nodeId": "gate",
                    "payload": {"kind": "custom", "key": "k", "data": {"customKind": "x"}},
                    "notify": ["email:ada@example.com"],
                }
                path = f"/host/sayso/runs/{path_segment(run.body['runId'])}/interrupts"
                told = await client.send(chance, "POST", path, body, at=0)
                assert told.status == 201, told.body
                await until(lambda: callers, "replica 0 to send")
            finally:
                other.send_signal(signal.SIGCONT)
            yield world, mail, client
        finally:
            for replica in world.replicas:
                print("\n".join(replica.program.lines[-40:]))
            await world.stop()


async def test_what_a_killed_replica_was_sending_is_sent_by_the_other(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with holding(tmp_path, session) as (world, mail, _):
        assert not mail.mails
        [row] = await world.rows("SELECT shown, leased_until, fence FROM messages")
        assert (row[0], row[2]) == (0, 1)
        killed = time.monotonic()
        await world.replicas[0].program.kill()
        await until(lambda: mail.mails, "the mail to come from the other replica", TAKEOVER)
        assert time.monotonic() - killed < TAKEOVER
        await _shown(world)


async def test_a_slow_message_stays_with_who_sends_it(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """The lease is renewed while the channel takes its time, beyond its first end."""
    async with holding(tmp_path, session) as (world, mail, _):
        [first] = await world.rows("SELECT leased_until FROM messages")

        async def renewed() -> bool:
            [row] = await world.rows("SELECT leased_until FROM messages")
            return bool(row[0] > first[0] + 8_000)

        await until(renewed, "the lease to have been renewed past its first end")
        [row] = await world.rows("SELECT fence FROM messages")
        assert row[0] == 1
        assert not mail.mails


async def test_what_a_stopped_replica_was_sending_is_handed_back(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with holding(tmp_path, session) as (world, mail, _):
        assert await world.replicas[0].program.stop() == 0
        # No lease is left to run out: the other one has it at its next look.
        await until(lambda: mail.mails, "the mail to come from the other replica", 3.0)
        await _shown(world)


async def test_a_stop_under_load_breaks_no_request(
    world: World, session: aiohttp.ClientSession, client: Client
) -> None:
    """Requests that a replica has read are answered, long polls too; others find the other replica."""
    chance = random.Random(5)
    play = Play(client, chance)
    cases = [Case(f"drain-{n}", "left") for n in range(30)]
    await asyncio.gather(*(play.case(case) for case in cases))
    stopping, other = world.replicas
    url = stopping.program.url
    headers = {"Authorization": f"Bearer {world.key}"}
    poll = f"/host/sayso/interrupts/{path_segment(cases[0].interrupt_id)}?wait=60"
    stopping.postgres.delay = 0.05  # so that they are under way when it is told to stop

    async def get(path: str) -> tuple[int, Any]:
        async with session.get(url + path, headers=headers) as response:
            return response.status, await response.json()

    async def resolve(case: Case) -> tuple[int, Any]:
        sent = {**headers, "Idempotency-Key": case.key("v")}
        async with session.post(url + case.node, json={"resumeValue": "v"}, headers=sent) as got:
            return got.status, await got.json()

    before = await _waiters(session, url)
    polling = asyncio.create_task(get(poll))
    await until(lambda: _more_waiters(session, url, before), "the long poll")
    answering = [asyncio.create_task(resolve(case)) for case in cases[1:20]]
    await asyncio.wait(answering, return_when=asyncio.FIRST_COMPLETED)
    stopped = asyncio.create_task(stopping.program.stop())
    answers = await asyncio.gather(*answering)
    assert {status for status, _ in answers} == {200}
    status, found = await polling
    assert (status, found["status"]) == (200, "open")
    assert await stopped == 0
    for case, (_, body) in zip(cases[1:20], answers, strict=True):
        told = await client.send(
            chance, "POST", case.node, {"resumeValue": "v"}, key=case.key("v"), at=1
        )
        assert (told.status, told.body, told.replayed) == (200, body, True)
        case.style, case.told["v"] = "single", told
    await until(lambda: _nothing_leased(world), "no lease to be left of what has to be sent")
    more = Case("while-one-is-away", "raced")
    await Play(client, chance).case(more)  # half of its tries meet a closed port
    assert other.program.running
    await stopping.program.start()
    await Checker(world, client).cases([*cases, more], chance)


async def _shown(world: World) -> None:
    async def shown() -> bool:
        [row] = await world.rows("SELECT shown = wanted AND due_at IS NULL FROM messages")
        return bool(row[0])

    await until(shown, "the message to be on record as shown")


async def _nothing_leased(world: World) -> bool:
    [row] = await world.rows(
        "SELECT count(*) FROM messages WHERE due_at IS NOT NULL AND leased_until > 0"
    )
    return bool(row[0] == 0)


async def _waiters(session: aiohttp.ClientSession, url: str) -> float:
    async with session.get(f"{url}/metrics") as response:
        lines = (await response.text()).splitlines()
    [line] = [line for line in lines if line.startswith("sayso_waiters ")]
    return float(line.split()[1])


async def _more_waiters(session: aiohttp.ClientSession, url: str, before: float) -> bool:
    return await _waiters(session, url) > before
