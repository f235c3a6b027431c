"""A session that waits for an answer, for the tests of branches."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.errors import Refusal
from tests.unit.branch_world import World

TOOL = {"type": "tool.call", "id": "t1", "name": "send_email", "arguments": {"to": "bob"}}
MODEL = {"type": "llm.call", "id": "l1"}
INTERRUPT = {"type": "interrupt", "interrupt_id": "i1", "reason": "confirm"}


def refused(code: str) -> Any:
    """The block is refused with this code."""
    return pytest.raises(Refusal, match=f"^{code}:")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def asked(world: World) -> World:
    """u1 -> a1, parked by i1 at a1; a tool runs, its question was answered with the interrupt."""
    world.say("u1", turn="turn-1")
    first = world.next("client.messages")
    a1 = {"id": "a1", "role": "assistant", "content": "Shall I?"}
    world.answer(first, messages=[*first.trigger["new"], a1], actions=[TOOL])
    world.answer(world.next("tool.execute"), actions=[INTERRUPT])
    assert world.parked
    return world
