"""The load: agents that ask, people that answer, and what each of them was told.

A client sends a request until it has an answer that is one: it tries again, at whichever replica, after a
broken connection, a timeout, a 503, or while the same key is in flight. What it then was told is on record.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp

from schemas.ids import path_segment

PATIENCE = 60.0
"""Seconds after which a request without an answer is a violation: it waits out every fault."""
_ONE_TRY = 7.0

Style = Literal["single", "raced", "left", "cancelled"]
STYLES: tuple[Style, ...] = ("single", "raced", "raced", "left", "cancelled")


class Violation(AssertionError):
    """Something that must never be. The text says what."""


@dataclass(frozen=True, slots=True)
class Told:
    """The final answer to one request, and how many tries it took."""

    status: int
    body: Any
    replayed: bool
    tries: int


class Client:
    """Sends to any replica. `failed` and `told` count tries and answers of all its requests."""

    def __init__(
        self, session: aiohttp.ClientSession, key: str, urls: Callable[[], list[str]]
    ) -> None:
        self._session = session
        self._key = key
        self._urls = urls
        self.failed = 0
        self.told = 0

    async def send(
        self,
        chance: random.Random,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str = "",
        at: int | None = None,
    ) -> Told:
        """The answer. `at` names a replica; without it each try goes to one that `chance` picks."""
        end = time.monotonic() + PATIENCE
        headers = {"Authorization": f"Bearer {self._key}"}
        if key:
            headers["Idempotency-Key"] = key
        tries, last = 0, ""
        while time.monotonic() < end:
            tries += 1
            urls = self._urls()
            url = urls[chance.randrange(len(urls)) if at is None else at]
            try:
                async with self._session.request(
                    method,
                    url + path,
                    json=body,
                    headers=headers,
                    timeout=aiohttp.ClientTimeout(total=_ONE_TRY),
                ) as response:
                    told = await _told(response, tries)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                told, last = None, repr(error)
            if told is not None and _final(told):
                self.told += 1
                return told
            if told is not None:
                last = f"{told.status} {told.body}"
            self.failed += 1
            await asyncio.sleep(0.02 + chance.random() * 0.15)  # a client's backoff
        raise Violation(f"no answer to {method} {path} in {PATIENCE:g} s; at last: {last}")


async def _told(response: aiohttp.ClientResponse, tries: int) -> Told:
    body = await response.json()
    if response.status == 503 and "Retry-After" not in response.headers:
        raise Violation(f"503 without Retry-After: {body}")
    if response.status >= 500 and response.status != 503:
        raise Violation(f"{response.status} from {response.url.path}: {body}")
    return Told(response.status, body, "OpenWOP-Idempotent-Replay" in response.headers, tries)


def _final(told: Told) -> bool:
    return told.status != 503 and not (
        told.status == 409 and told.body.get("error") == "idempotency_in_flight"
    )


@dataclass
class Case:
    """One interrupt and all that its people were told. `values` are those that somebody sent."""

    name: str
    style: Style
    run_id: str = ""
    interrupt_id: str = ""
    values: tuple[str, ...] = ()
    told: dict[str, Told] = field(default_factory=dict)
    cancelled: Told | None = None

    @property
    def won(self) -> list[str]:
        """The values that were acknowledged."""
        return [value for value, told in self.told.items() if told.status == 200]

    def key(self, what: str) -> str:
        """An idempotency key of this case."""
        return f"{self.name}-{what}".ljust(22, "-")

    @property
    def node(self) -> str:
        return f"/runs/{path_segment(self.run_id)}/interrupts/gate"


class Play:
    """Plays cases with one client. Every request's replica and pauses come from `chance`."""

    def __init__(self, client: Client, chance: random.Random) -> None:
        self._client = client
        self._chance = chance

    async def case(self, case: Case) -> None:
        """Ask, and answer as its style says. Raises `Violation`."""
        chance = random.Random(self._chance.random())
        told = await self._client.send(
            chance, "POST", "/runs", {"workflowId": "sayso.external"}, key=case.key("run")
        )
        self._expect(told, 201)
        case.run_id = told.body["runId"]
        payload = {"customKind": "load", "payload": {"case": case.name}}
        body = {
            "nodeId": "gate",
            "payload": {"kind": "custom", "key": "k", "data": payload},
            "notify": ["web:"],
        }
        path = f"/host/sayso/runs/{path_segment(case.run_id)}/interrupts"
        told = await self._client.send(chance, "POST", path, body, key=case.key("ask"))
        self._expect(told, 201)
        case.interrupt_id = told.body["interruptId"]
        await self._finish(case, chance)

    async def _finish(self, case: Case, chance: random.Random) -> None:
        if case.style == "single":
            await self.answer(case, f"{case.name}-only", chance)
        elif case.style == "raced":
            seeds = [random.Random(chance.random()) for _ in range(3)]
            await asyncio.gather(
                *(self.answer(case, f"{case.name}-{n}", one) for n, one in enumerate(seeds))
            )
        elif case.style == "cancelled":
            one, other = random.Random(chance.random()), random.Random(chance.random())
            await asyncio.gather(
                self.answer(case, f"{case.name}-late", one), self.cancel(case, other)
            )

    async def answer(self, case: Case, value: str, chance: random.Random) -> None:
        """Send one answer until it is acknowledged or refused for good."""
        case.values += (value,)
        told = await self._client.send(
            chance, "POST", case.node, {"resumeValue": value}, key=case.key(value)
        )
        case.told[value] = told
        self._expect_one_of(told, "interrupt_already_resolved")

    async def cancel(self, case: Case, chance: random.Random) -> None:
        """Take the question back."""
        path = f"/host/sayso/interrupts/{path_segment(case.interrupt_id)}/cancel"
        case.cancelled = await self._client.send(
            chance, "POST", path, {"reason": "no longer needed"}, key=case.key("cancel")
        )
        self._expect_one_of(case.cancelled, "interrupt_already_resolved")

    def _expect(self, told: Told, status: int) -> None:
        if told.status != status:
            raise Violation(f"expected {status}, was told {told}")

    def _expect_one_of(self, told: Told, code: str) -> None:
        if told.status != 200 and (told.status, told.body.get("error")) != (409, code):
            raise Violation(f"expected 200 or 409 {code}, was told {told}")
