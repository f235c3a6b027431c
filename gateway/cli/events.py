"""`sayso events`: the log as lines, from the store or from a running gateway."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import aiohttp
import orjson

from config.settings import Settings
from gateway import wire
from gateway.cli.store import fail, with_store
from host.store.records import StoredEvent
from host.store.sqlite.beside import Beside
from schemas.ids import BOUND_ID, path_segment, tenant_of
from schemas.versions import ProtocolVersion

_PAGE: Final = 500
_LOOK_SECONDS: Final = 0.5
_WAIT_SECONDS: Final = 30
_TRIES: Final = 60  # in a row, a second apart: a gateway that is started again is found again


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events, and how. `run` and `tenant` are "" for all."""

    follow: bool
    run: str
    tenant: str
    form: Literal["text", "jsonl"]

    def admits(self, event: StoredEvent) -> bool:
        if self.run and event.run_id != self.run:
            return False
        return not self.tenant or tenant_of(event.run_id) == self.tenant


def print_from_store(wanted: Wanted, settings: Settings) -> None:
    """Read the log in its own order, over all runs."""
    _check_run(wanted.run)
    version = settings.protocol.version

    async def work(store: Beside) -> int:
        after = 0
        while True:
            commits = await store.feed.read(after, _PAGE)
            for commit in commits:
                after = commit.position
                for event in filter(wanted.admits, commit.events):
                    _say(wanted, _document(event, version))
            if not commits:
                if not wanted.follow:
                    return 0
                await asyncio.sleep(_LOOK_SECONDS)

    with_store(settings, work)


def print_from_gateway(wanted: Wanted, url: str) -> None:
    """Read one run's events by long polls, with the API key of `SAYSO_API_KEY`."""
    key = os.environ.get("SAYSO_API_KEY", "")
    if not wanted.run or not key:
        fail("--url needs --run, and an API key with runs:read in SAYSO_API_KEY.", 2)
    if wanted.tenant:
        fail("--url reads one run, which names its tenant: leave --tenant out.", 2)
    if urlsplit(url).scheme not in ("http", "https"):
        fail("--url is the address of a gateway, like https://sayso.example.com.", 2)
    _check_run(wanted.run)
    try:
        asyncio.run(_poll(wanted, url.rstrip("/"), key))
    except KeyboardInterrupt:
        fail("", 130)


async def _poll(wanted: Wanted, url: str, key: str) -> None:
    address = f"{url}/runs/{path_segment(wanted.run)}/events/poll"
    timeout = aiohttp.ClientTimeout(total=2 * _WAIT_SECONDS)
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
        after = -1
        while True:
            patience = _WAIT_SECONDS if wanted.follow else 1
            query = {"timeout": str(patience)} | (
                {"afterSequence": str(after)} if after >= 0 else {}
            )
            body = await _again(partial(_page, session, address, query), wanted.follow)
            for event in body["events"]:
                _say(wanted, event)
                after = event["sequence"]
            done = after >= body["lastSequence"] and (not wanted.follow or body["isTerminal"])
            if done:
                return


async def _page(session: aiohttp.ClientSession, url: str, query: dict[str, str]) -> dict[str, Any]:
    async with session.get(url, params=query, allow_redirects=False) as response:
        raw = await response.read()
        if response.status >= 500:
            raise ConnectionError(f"the gateway answered {response.status}")
        body: dict[str, Any] = orjson.loads(raw)
        if response.status != 200:
            fail(str(body.get("message", response.status)), 1)
        return body


async def _again(ask: Callable[[], Awaitable[dict[str, Any]]], patient: bool) -> dict[str, Any]:
    """The answer; a follower asks again while the gateway is away."""
    for left in range(_TRIES if patient else 1, 0, -1):
        try:
            return await ask()
        except (aiohttp.ClientError, OSError, TimeoutError, orjson.JSONDecodeError) as error:
            if left == 1:
                fail(f"The gateway does not answer: {type(error).__name__}.", 1)
            await asyncio.sleep(1.0)
    raise AssertionError("the last try returns or fails")


def _document(event: StoredEvent, version: ProtocolVersion) -> dict[str, Any]:
    """As stream and poll show it, and with the record that only the store has."""
    found = wire.event_doc(event, version)
    if event.record is not None:
        found["record"] = event.record
    return found


def _say(wanted: Wanted, event: dict[str, Any]) -> None:
    if wanted.form == "jsonl":
        print(orjson.dumps(event).decode(), flush=True)
        return
    who = event.get("record", {}).get("by", "")
    parts = [event["timestamp"], event["runId"], event["type"], event.get("nodeId", ""), who]
    print("  ".join(part for part in parts if part), flush=True)


def _check_run(run: str) -> None:
    if run and not BOUND_ID.match(run):
        fail("--run is a whole run id, '<tenant>/<id>'.", 2)
