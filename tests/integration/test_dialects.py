"""The blocks of docs/dialects.md, sent: one approval in four dialects, each answered in its own."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.session_worker import Worker
from tests.integration.conftest import Api
from tests.integration.kortyx_world import Client as Kortyx
from tests.integration.kortyx_world import only, workflows_in
from tests.integration.session_world import client_of, opened

PAGE = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text("utf-8")
JWT = "a-secret-of-more-than-32-characters"
REGISTERED = {
    "refund": {
        "payload_schema": {"type": "object", "required": ["order"]},
        "response_schema": {
            "type": "object",
            "required": ["approved"],
            "properties": {"approved": {"type": "boolean"}},
        },
    }
}
WORKFLOW = {
    "workflowId": "refund",
    "nodes": [
        {
            "id": "gate",
            "type": "core.approvalGate",
            "config": {
                "title": "Refund 4,000.00 EUR to Acme Ltd",
                "artifactId": "4711",
                "artifactType": "order",
            },
        }
    ],
}


def blocks(heading: str) -> list[Any]:
    """The JSON blocks below a heading of the page."""
    part = PAGE.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", part, re.DOTALL)]


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    """Asks as the page says, and takes whatever comes of it."""
    asks = blocks("Substructure")[0]

    def decide(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] == "client.messages":
            return asks
        return {"actions": [{"type": "done"}]}

    found = Worker(decide)
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
async def api(start: Any, worker: Worker, tmp_path: Path) -> Api:
    return await opened(
        start,
        worker,
        workflows=workflows_in(tmp_path / "flows", WORKFLOW),
        symfonic={"jwt_secret": JWT},
        registrations=REGISTERED,
    )


async def only_open(api: Api) -> dict[str, Any]:
    """The one question that is open, whoever asked it."""
    _, page, _ = await api.call("GET", "/host/sayso/interrupts?status=open")
    (one,) = page["interrupts"]
    return dict(one)


async def ended(api: Api, asked: dict[str, Any]) -> str:
    path = "/host/sayso/interrupts/" + asked["interruptId"].replace("/", "~2F")
    _, record, _ = await api.call("GET", f"{path}?wait=20")
    return str(record["status"])


async def test_the_protocol(api: Api) -> None:
    asks, answers = blocks("The protocol")
    status, _, _ = await api.call("POST", "/host/sayso/interrupts", {**asks, "notify": []})
    assert status == 201
    asked = await only_open(api)
    run = asked["runId"].replace("/", "~2F")
    assert (await api.call("POST", f"/runs/{run}/interrupts/refund", answers))[0] == 200
    assert await ended(api, asked) == "resolved"


async def test_substructure(api: Api, worker: Worker) -> None:
    _, answers = blocks("Substructure")
    client = await client_of(api)
    assert (await client.say("Refund order 4711"))[0] == 202
    await client.interrupted()
    asked = await only_open(api)
    assert (await client.call("POST", "/client/sessions/input", answers))[0] == 202
    assert await ended(api, asked) == "resolved"
    await client.idle()
    (resumed,) = worker.of("interrupt.resumed")
    assert resumed["payload"] == {"approved": True}


async def test_kortyx(api: Api) -> None:
    (answers,) = blocks("Kortyx")
    client = Kortyx(api)
    shown = await client.start("refund")
    asked = await only_open(api)
    resume = answers["messages"][0]["metadata"]["resume"]
    resume |= {"token": shown["resumeToken"], "requestId": shown["requestId"]}
    status, frames = await client.frames({**answers, "stream": True})
    assert status == 200, frames
    assert frames[-1] == "[DONE]"
    only([json.loads(one) for one in frames[:-1]], "done")
    assert await ended(api, asked) == "resolved"


async def test_symfonic(api: Api) -> None:
    asks, answers = blocks("Symfonic")
    scope = {"X-Tenant-ID": "acme"}
    base = "/compat/symfonic/api/v1"
    status, event, _ = await api.call("POST", f"{base}/interrupts", asks, headers=scope)
    assert status == 201, event
    asked = await only_open(api)
    url = f"{api.gateway.url}{base}/resume/{event['pause_token']}"
    headers = {**scope, "Authorization": f"Bearer {api.key}"}
    async with api.session.post(url, json=answers, headers=headers) as response:
        assert response.status == 200
        assert (await response.text()).startswith("event: InterruptResolvedEvent\n")
    assert await ended(api, asked) == "resolved"
