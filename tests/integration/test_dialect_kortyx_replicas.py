"""The kortyx dialect on two gateways that share a PostgreSQL database. Numbers: docs/dialects."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.integration.kortyx_world import ASK, Client, handle, only, workflows_in
from tests.integration.test_two_gateways import shared, valkey

__all__ = ["shared", "valkey"]


async def test_11_twenty_answers_over_two_gateways_resume_once(
    start: Any,
    shared: dict[str, object],
    tmp_path: Path,
) -> None:
    flows = workflows_in(tmp_path / "flows", ASK)
    chosen = {"workflows": flows, "tokens": {"keys": {"k1": "k" * 40}}, **shared}
    both = [Client(await start(**chosen)) for _ in range(2)]
    asked = await both[0].start()

    async def say(number: int) -> str:
        resume = handle(asked) | {"selected": [f"label {number}"]}
        message = {"role": "user", "content": "x", "metadata": {"resume": resume}}
        body = {"sessionId": "s1", "messages": [message]}
        status, frames = await both[number % 2].frames(body)
        return "resumed" if status == 200 else frames[0]

    found = await asyncio.gather(*(say(number) for number in range(20)))
    assert found.count("resumed") == 1
    assert sum("INVALID_RESUME" in one for one in found) == 19
    for client in both:
        _, listed = await client.get("interrupts?sessionId=s1")
        assert [one["node"] for one in listed["interrupts"]] == ["tags"]
    [item] = listed["interrupts"]
    _, one = await both[1].get(f"interrupts/{item['id']}?sessionId=s1")
    shown = {"resumeToken": one["resume"]["token"], "requestId": item["id"]}
    assert only(await both[0].answer(shown, selected=["a"]), "interrupt")["node"] == "decision"
