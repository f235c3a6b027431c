"""A request that lists its approver, and all that somebody else may try: the list holds on every way."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.views import Person
from schemas.ids import path_segment
from tests.integration.conftest import Api
from tests.integration.kortyx_world import Client, handle, only, workflows_in

Start = Callable[..., Awaitable[Api]]

GATE = {
    "workflowId": "gated",
    "nodes": [
        {
            "id": "gate",
            "type": "core.approvalGate",
            "config": {"title": "Refund", "approversList": ["ada"]},
        }
    ],
}
ACCEPT = {"resumeValue": {"action": "accept"}}
REFUSED = "Only ada may answer this."


async def by_key(client: Client, asked: dict[str, Any]) -> tuple[int, str]:
    status, answer, _ = await client.api.call("POST", f"{_gate(asked)}", ACCEPT)
    return status, answer["message"]


async def by_key_that_claims_to_be_ada(client: Client, asked: dict[str, Any]) -> tuple[int, str]:
    value = {"action": "accept", "voter": "ada", "decidedBy": "ada", "principal": "ada"}
    status, answer, _ = await client.api.call("POST", _gate(asked), {"resumeValue": value})
    return status, answer["message"]


async def by_chat(client: Client, asked: dict[str, Any]) -> tuple[int, str]:
    [body] = await client.answer(asked, selected=["accept"], status=403)
    return 403, body["error"]


async def by_resume(client: Client, asked: dict[str, Any]) -> tuple[int, str]:
    named = {"token": asked["resumeToken"], "requestId": asked["requestId"]}
    named |= {"sessionId": "s1", "runId": asked["runId"]}
    body = {"handle": named, "response": {"type": "select", "ids": ["accept"]}}
    status, answer = await client.post("resume", body)
    return status, answer["error"]


async def by_token(client: Client, asked: dict[str, Any]) -> tuple[int, str]:
    """One that is bound to somebody else."""
    tokens = f"/host/sayso/interrupts/{path_segment(await _interrupt(client))}/tokens"
    body = {"intent": "resolve", "principal": "bob"}
    _, minted, _ = await client.api.call("POST", tokens, body)
    status, answer, _ = await client.api.call("POST", f"/interrupts/{minted['token']}", ACCEPT)
    return status, answer["message"]


async def by_shown_token(client: Client, asked: dict[str, Any]) -> tuple[int, str]:
    """The one that kortyx' clients have: it names the question, and answers nothing."""
    path = f"/interrupts/{asked['resumeToken']}"
    status, answer, _ = await client.api.call("POST", path, ACCEPT, key=None)
    assert answer["message"] == "This token only shows the request; it can't answer it."
    return status, REFUSED


async def by_page(client: Client, asked: dict[str, Any]) -> tuple[int, str]:
    """The page behind a link of somebody else's, with a real press."""
    links = client.api.gateway.links
    link = await links.make(await _interrupt(client), Person("email", "bob@example.com", "Bob"))
    async with client.api.session.get(link) as page:
        nonce = re.search(r'name="nonce" value="([^"]+)"', await page.text())
        cookie = page.cookies["sayso-form"].value
    assert nonce is not None
    form = {"nonce": nonce[1], "action": "accept", "press": "hand"}
    headers = {"Origin": client.api.gateway.url, "Cookie": f"sayso-form={cookie}"}
    async with client.api.session.post(link, data=form, headers=headers) as answer:
        return answer.status, REFUSED


def _gate(asked: dict[str, Any]) -> str:
    return f"/runs/{path_segment(asked['runId'])}/interrupts/gate"


async def _interrupt(client: Client) -> str:
    _, page, _ = await client.api.call("GET", "/host/sayso/interrupts?status=open")
    return str(page["interrupts"][0]["interruptId"])


@pytest.mark.parametrize(
    "way",
    [by_key, by_key_that_claims_to_be_ada, by_chat, by_resume, by_token, by_shown_token, by_page],
)
async def test_nobody_else_by_any_way(
    start: Start, tmp_path: Path, way: Callable[[Client, dict[str, Any]], Awaitable[Any]]
) -> None:
    client = Client(await start(workflows=workflows_in(tmp_path / "flows", GATE)))
    asked = only(await client.chat(workflowId="gated"), "interrupt")
    assert handle(asked)["token"]
    assert await way(client, asked) == (403, REFUSED)
    _, record, _ = await client.api.call(
        "GET", f"/host/sayso/interrupts/{path_segment(await _interrupt(client))}"
    )
    assert (record["status"], "votes" in record, "outcome" in record) == ("open", False, False)
