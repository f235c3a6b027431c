"""The checker of the fault campaigns turns red at each thing that must never be."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.checker import OverHttp
from tests.faults.load import Case, Client, Told, Violation, _final

ACCEPTED = Told(200, {"runId": "main/r"}, False, 1)
TOO_LATE = Told(409, {"error": "interrupt_already_resolved"}, False, 1)
RESOLVED = {"status": "resolved", "resumeValue": "v", "messages": []}
EVENTS = [{"sequence": n, "type": t} for n, t in enumerate(("run.started", "interrupt.resolved"))]


class Gateway(Client):
    """Answers as a right gateway does, but for what a test changes."""

    def __init__(self) -> None:
        self.record: dict[str, Any] = dict(RESOLVED)
        self.events: list[dict[str, Any]] = list(EVENTS)
        self.again = Told(200, ACCEPTED.body, True, 1)

    async def send(self, chance: Any, method: str, path: str, *_: Any, **__: Any) -> Told:
        if method == "POST":
            return self.again
        body = {"events": self.events} if "/events/" in path else self.record
        return Told(200, body, False, 1)


def case(**told: Told) -> Case:
    found = Case("case", "raced", "main/r", "main/i")
    found.told.update(told)
    return found


async def check(gateway: Gateway, one: Case) -> None:
    await OverHttp(gateway, replicas=2).cases([one], random.Random(0))


async def test_what_is_right_passes() -> None:
    await check(Gateway(), case(v=ACCEPTED, w=TOO_LATE))


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"v": ACCEPTED, "w": ACCEPTED}, "two ends were acknowledged"),
        ({"v": TOO_LATE, "w": TOO_LATE}, "somebody else was first"),
    ],
)
async def test_what_clients_were_told_is_held_against_each_other(
    told: dict[str, Told], says: str
) -> None:
    with pytest.raises(Violation, match=says):
        await check(Gateway(), case(**told))


def _lost(gateway: Gateway) -> None:
    gateway.record["status"] = "open"


def _changed(gateway: Gateway) -> None:
    gateway.record["resumeValue"] = "w"


def _gap(gateway: Gateway) -> None:
    gateway.events[1] = {"sequence": 2, "type": "interrupt.resolved"}


def _twice(gateway: Gateway) -> None:
    gateway.events.append({"sequence": 2, "type": "interrupt.resolved"})


def _never(gateway: Gateway) -> None:
    gateway.events[1] = {"sequence": 1, "type": "node.resumed"}


def _forgotten(gateway: Gateway) -> None:
    gateway.again = TOO_LATE


def _repeated(gateway: Gateway) -> None:
    gateway.again = ACCEPTED  # the same answer, and not from memory: it was carried out again


@pytest.mark.parametrize(
    "harm", [_lost, _changed, _gap, _twice, _never, _forgotten, _repeated], ids=lambda h: h.__name__
)
async def test_an_acknowledged_answer_that_is_not_there_once_is_found(
    harm: Callable[[Gateway], None],
) -> None:
    gateway = Gateway()
    harm(gateway)
    with pytest.raises(Violation):
        await check(gateway, case(v=ACCEPTED))


async def test_one_that_nobody_answered_must_be_open() -> None:
    left = Case("case", "left", "main/r", "main/i")
    with pytest.raises(Violation, match="nobody answered"):
        await check(Gateway(), left)


def test_a_client_goes_on_only_while_there_is_no_answer() -> None:
    busy = Told(409, {"error": "idempotency_in_flight"}, False, 1)
    assert [_final(t) for t in (Told(503, {}, False, 1), busy)] == [False, False]
    assert [_final(t) for t in (ACCEPTED, TOO_LATE, Told(404, {}, False, 1))] == [True, True, True]
