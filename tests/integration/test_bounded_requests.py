"""What a request may hold is bounded, and what is beyond is refused with a sentence, never a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.http import DEEPEST, read_json
from gateway.worker_client import DeliveryFailed, last_result
from schemas.errors import Refusal
from schemas.ids import path_segment
from tests.integration.conftest import Api, approval


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": [value]}
    return value


async def sent(api: Api, path: str, body: Any) -> tuple[int, Any]:
    status, answer, _ = await api.call("POST", path, body)
    return status, answer


@pytest.mark.parametrize("levels", [65, 127, 400])
async def test_deep_json_is_refused_wherever_it_comes(api: Api, levels: int) -> None:
    run, deep = await api.run(), nested(levels)
    await api.ask(run)
    question = {"nodeId": "deep", "payload": approval("deep", artifactData=deep), "notify": []}
    for path, body in (
        ("/runs", {"workflowId": "sayso.external", "inputs": {"x": deep}}),
        ("/runs", {"workflowId": "sayso.external", "metadata": {"x": deep}}),
        (f"/host/sayso/runs/{run}/interrupts", question),
        ("/host/sayso/interrupts", question),
        (f"/runs/{run}/interrupts/gate", {"resumeValue": {"action": "accept", "x": deep}}),
        (f"/host/sayso/runs/{run}/complete", {"outputs": {"x": deep}}),
        ("/compat/kortyx/chat", {"messages": [], "context": {"x": deep}}),
    ):
        status, answer = await sent(api, path, body)
        said = answer.get("message") or answer["error"]
        assert (status, "nested more than" in said) == (400, True), (path, status, said)


async def test_what_is_taken_can_be_read_again_by_every_way(api: Api) -> None:
    run, deep = await api.run(), nested(DEEPEST // 2 - 4)
    asked = await api.ask(run, approval(artifactData=deep))
    one = path_segment(asked["interruptId"])
    _, minted, _ = await api.call(
        "POST", f"/host/sayso/interrupts/{one}/tokens", {"intent": "resolve"}
    )
    status, read, _ = await api.call("GET", f"/host/sayso/interrupts/{one}")
    assert (status, read["payload"]["data"]["artifactData"]) == (200, deep)
    status, polled, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    assert (status, polled["events"][1]["payload"]["data"]["artifactData"]) == (200, deep)
    for path in (f"/interrupts/{minted['token']}", f"/a/{minted['token']}"):
        async with api.session.get(api.gateway.url + path) as response:
            assert response.status == 200


def test_brackets_in_text_are_no_levels() -> None:
    wide = [{"text": "[{" * 1000}] * 300
    assert read_json(json.dumps(wide).encode()) == wide
    with pytest.raises(Refusal, match="nested more than 128"):
        read_json(b"[" * 130 + b"]" * 130)


def test_a_workers_deep_answer_is_a_failed_delivery() -> None:
    deep = json.dumps({"messages": [], "state": nested(100)}).encode()
    with pytest.raises(DeliveryFailed, match="nested too deeply"):
        last_result(b"event: decision.result\ndata: " + deep + b"\n\n")


@pytest.mark.parametrize("number", ["000099999", "0" * 4400 + "1", "61", "-1", "1.5", "%D9%A1", ""])
async def test_numbers_of_a_query_are_as_written_or_refused(api: Api, number: str) -> None:
    asked = await api.ask(await api.run())
    one = path_segment(asked["interruptId"])
    status, answer, _ = await api.call("GET", f"/host/sayso/interrupts/{one}?wait={number}")
    assert (status, answer["message"]) == (400, "wait is a whole number from 0 to 60.")
    number = number.replace("61", "1001")
    status, answer, _ = await api.call("GET", f"/host/sayso/interrupts?limit={number}")
    assert (status, answer["message"]) == (400, "limit is a whole number from 1 to 1000.")


@pytest.mark.parametrize(
    ("configurable", "where"),
    [
        ("x", "runOptionsOverlay.configurable"),
        (None, "runOptionsOverlay.configurable"),
        ({"extensions": 5}, "runOptionsOverlay.configurable.extensions"),
        ({"unknown": 1}, "runOptionsOverlay.configurable.unknown"),
        ({"extensions": {"sayso.contracts": 5}}, "configurable.extensions.sayso.contracts"),
        ({"extensions": {"sayso.parent": {"runId": "acme/nobody-has-this-id"}}}, "no such parent"),
    ],
)
async def test_a_forks_overlay_is_held_to_what_a_new_run_is(
    api: Api, configurable: Any, where: str
) -> None:
    body = {
        "mode": "branch",
        "fromSeq": 1,
        "runOptionsOverlay": {"configurable": configurable},
    }
    status, answer, _ = await api.call("POST", f"/runs/{await api.run()}:fork", body)
    assert (status, where in answer["message"]) == (400, True), answer


async def test_a_fork_can_name_no_parent_of_another_tenant(api: Api) -> None:
    theirs = {"extensions": {"sayso.parent": {"runId": "other/nobody-has-this-id"}}}
    body = {"mode": "branch", "fromSeq": 1, "runOptionsOverlay": {"configurable": theirs}}
    status, answer, _ = await api.call("POST", f"/runs/{await api.run()}:fork", body)
    assert (status, answer["error"]) == (403, "id_tenant_mismatch")
