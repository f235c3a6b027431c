"""The kortyx dialect over HTTP: the chat route, its chunks and its resumes. Numbers: docs/dialects."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from schemas.ids import path_segment
from tests.integration.conftest import approval
from tests.integration.kortyx_world import (
    ASK,
    Client,
    handle,
    one_node,
    only,
    types,
    workflows_in,
)

CONTRACT = {
    "description": "Where does it go?",
    "schema_id": "acme.place",
    "schema_version": "3",
    "request_schema": {"type": "object", "required": ["order"]},
    "response_schema": {
        "type": ["object", "null"],
        "properties": {"city": {"type": "string", "minLength": 2}},
        "required": ["city"],
    },
}
FLOWS = (
    ASK,
    one_node("text", kind="text", question="Name?"),
    one_node("picker", schemaId="acme.customers", question="Whose?"),
    one_node("place", contract="place", request={"order": 7, "question": "Where to?"}),
)


@pytest.fixture
async def client(start: Any, tmp_path: Path) -> Client:
    flows = workflows_in(tmp_path / "flows", *FLOWS)
    kortyx = {"workflow": "ask", "wait_seconds": 5}
    return Client(await start(workflows=flows, kortyx=kortyx, contracts={"place": CONTRACT}))


async def test_01_a_text_question(client: Client) -> None:
    asked = await client.start("text")
    shown = asked["input"]
    assert (shown["kind"], shown["multiple"], shown["options"]) == ("text", False, [])
    assert shown["question"] == "Name?"


async def test_02_an_options_value_goes_nowhere(client: Client) -> None:
    asked = await client.start()
    asked = only(await client.answer(asked, selected=["x"]), "interrupt")
    asked = only(await client.answer(asked, selected=["a"]), "interrupt")
    assert asked["input"]["options"] == [
        {"id": "approve", "label": "Approve"},
        {"id": "revise", "label": "Revise"},
    ]
    run = path_segment(asked["runId"])
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    _, told = await client.get("telemetry?sessionId=s1")
    _, listed = await client.get("interrupts?sessionId=s1")
    assert "internal-1" not in str((page, told, listed))


async def test_03_private_meta_is_stripped_and_other_meta_kept(client: Client) -> None:
    asked = only(await client.answer(await client.start(), selected=["x"]), "interrupt")
    assert asked["input"]["meta"] == {"colour": "red"}


async def test_04_the_kind_follows_from_multiple(client: Client) -> None:
    asked = only(await client.answer(await client.start(), selected=["x"]), "interrupt")
    assert (asked["input"]["kind"], asked["input"]["multiple"]) == ("multi-choice", True)
    assert asked["input"]["question"] == "Please choose an option."
    asked = only(await client.answer(asked, selected=["b", "a"]), "interrupt")
    assert (asked["input"]["kind"], asked["input"]["multiple"]) == ("choice", False)


async def test_05_the_order_of_the_frames_and_one_done(client: Client) -> None:
    body = {"sessionId": "s1", "messages": [{"role": "user", "content": "go"}]}
    status, frames = await client.frames(body)
    assert (status, frames[-1]) == (200, "[DONE]")
    found = types(await client.chat())
    assert found == ["session", "interrupt", "checkpoint", "done"]


async def test_05_without_a_stream_the_chunks_are_one_document(client: Client) -> None:
    body = {"sessionId": "s9", "stream": False, "messages": [{"role": "user", "content": "go"}]}
    status, found = await client.post("chat", body)
    assert (status, found.keys()) == (200, {"chunks", "text", "structured"})
    assert types(found["chunks"])[0] == "session"
    assert found["chunks"][0]["sessionId"] == "s9"


async def test_a_pause_and_its_resumes_are_one_run(client: Client) -> None:
    first = await client.start()
    second = only(await client.answer(first, selected=["my label"]), "interrupt")
    third = only(await client.answer(second, selected=["a", "c"]), "interrupt")
    assert first["runId"] == second["runId"] == third["runId"]
    ended = await client.answer(third, selected=["approve"])
    assert types(ended) == ["session", "checkpoint", "done"]
    run = path_segment(first["runId"])
    _, snapshot, _ = await client.api.call("GET", f"/runs/{run}")
    assert snapshot["status"] == "completed"


async def test_06_the_nested_form_answers_too(client: Client) -> None:
    asked = await client.start("picker")
    found = await client.answer(asked, selected={"choice": {"id": "c1"}})
    assert types(found) == ["session", "checkpoint", "done"]


async def test_07_a_resume_in_an_earlier_message_is_ordinary_input(client: Client) -> None:
    asked = await client.start()
    messages = [
        {"role": "user", "content": "x", "metadata": {"resume": handle(asked) | {"selected": "x"}}},
        {"role": "user", "content": "more"},
    ]
    again = only(await client.chat(messages=messages), "interrupt")
    assert again["runId"] != asked["runId"]
    assert types(await client.answer(asked, selected=["x"]))[1] == "interrupt"


async def test_08_half_a_resume_is_ordinary_input(client: Client) -> None:
    asked = await client.start()
    half = {"token": asked["resumeToken"], "selected": ["x"]}
    again = only(await client.chat("x", half), "interrupt")
    assert again["runId"] != asked["runId"]
    assert only(await client.answer(asked, selected=["x"]), "interrupt")["node"] == "tags"


async def test_09_the_wrong_request_id_leaves_the_question_open(client: Client) -> None:
    asked = await client.start()
    wrong = asked | {"requestId": "human-00000000-0000-0000-0000-000000000000"}
    body = await client.refused(wrong, selected=["x"])
    assert (body["code"], body["reason"]) == ("INVALID_RESUME", "mismatch")
    assert only(await client.answer(asked, selected=["x"]), "interrupt")["node"] == "tags"


async def test_10_the_same_answer_twice_resumes_once(client: Client) -> None:
    asked = await client.start()
    await client.answer(asked, selected=["x"])
    body = await client.refused(asked, selected=["x"])
    assert (body["code"], body["reason"]) == ("INVALID_RESUME", "resumed")
    assert body["error"]


async def test_11_twenty_answers_at_once_resume_once(client: Client) -> None:
    asked = await client.start("text")

    async def say(number: int) -> str:
        message = {
            "role": "user",
            "content": "x",
            "metadata": {"resume": handle(asked) | {"selected": [str(number)]}},
        }
        status, frames = await client.frames({"sessionId": "s1", "messages": [message]})
        return "won" if status == 200 else frames[0]

    found = await asyncio.gather(*(say(n) for n in range(20)))
    assert found.count("won") == 1
    assert sum("INVALID_RESUME" in one for one in found) == 19


@pytest.mark.parametrize(
    "selected", [["nobody"], ["approve", "revise"], ["approve", "approve"], []]
)
async def test_12_a_wrong_choice_is_refused_and_the_token_lives(
    client: Client, selected: list[str]
) -> None:
    asked = only(await client.answer(await client.start(), selected=["x"]), "interrupt")
    asked = only(await client.answer(asked, selected=["a"]), "interrupt")
    body = await client.refused(asked, selected=selected)
    assert body["code"] == "INVALID_RESPONSE"
    assert types(await client.answer(asked, selected=["approve"]))[-1] == "done"


async def test_12_a_picker_without_a_source_takes_any_id(client: Client) -> None:
    asked = await client.start("picker")
    assert (asked["input"]["options"], asked["schemaId"]) == ([], "acme.customers")
    assert "interrupt" not in types(await client.answer(asked, selected=["anything-at-all"]))


@pytest.mark.parametrize(
    ("workflow", "response"),
    [
        ("text", {"type": "select", "ids": ["x"]}),
        ("text", {"type": "text", "text": ""}),
        ("place", {"type": "text", "text": "Oslo"}),
        ("picker", {"type": "value", "value": "x"}),
    ],
)
async def test_13_an_answer_of_the_wrong_type(
    client: Client, workflow: str, response: dict[str, Any]
) -> None:
    asked = await client.start(workflow)
    names = handle(asked) | {"sessionId": "s1", "runId": asked["runId"]}
    status, body = await client.post("resume", {"handle": names, "response": response})
    assert (status, body["code"]) == (400, "INVALID_RESPONSE")
    _, listed = await client.get("interrupts?sessionId=s1")
    assert [one["id"] for one in listed["interrupts"]] == [asked["requestId"]]


async def test_14_a_value_is_held_to_the_contract_before_anything_resumes(client: Client) -> None:
    asked = await client.start("place")
    shown = asked["input"]
    assert (shown["kind"], shown["contract"], shown["question"]) == ("custom", "place", "Where to?")
    assert shown["request"]["order"] == 7
    assert (asked["schemaId"], asked["schemaVersion"]) == ("acme.place", "3")
    body = await client.refused(asked, value={"city": "x"})
    assert (body["code"], body["errors"][0]["path"]) == ("INVALID_RESPONSE", ["city"])
    body = await client.refused(asked)
    assert body["code"] == "INVALID_RESPONSE"  # absent is not null
    assert types(await client.answer(asked, value=None))[-1] == "done"  # null is a value


async def test_15_another_session_is_refused_and_the_question_stays(client: Client) -> None:
    asked = await client.start()
    other = Client(client.api, "s2")
    body = await other.refused(asked, selected=["x"])
    assert body["code"] == "RESUME_MISMATCH"
    await other.start()
    assert (await other.refused(asked, selected=["x"]))["code"] == "RESUME_MISMATCH"
    assert only(await client.answer(asked, selected=["x"]), "interrupt")["node"] == "tags"


async def test_17_a_cancel_ends_and_starts_nothing(client: Client) -> None:
    asked = await client.start()
    assert types(await client.answer(asked, cancel="true", selected=["x"])) != ["done"]
    asked = await client.start()
    assert types(await client.answer(asked, cancel=True)) == ["done"]
    body = await client.refused(asked, selected=["x"])
    assert (body["code"], body["reason"]) == ("INVALID_RESUME", "cancelled")
    run = path_segment(asked["runId"])
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    [told] = [one for one in page["events"] if one["type"] == "node.cancelled"]
    assert told["payload"]["reason"] == "cancelled_by_client"


async def test_22_a_second_question_has_a_token_of_its_own(client: Client) -> None:
    first = await client.start()
    second = only(await client.answer(first, selected=["x"]), "interrupt")
    assert first["resumeToken"] != second["resumeToken"]
    assert first["requestId"] != second["requestId"]
    run = path_segment(first["runId"])
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    asked = [e["nodeId"] for e in page["events"] if e["type"] == "interrupt.requested"]
    assert asked == ["label", "tags"]  # the first was asked once


async def test_an_approval_is_a_choice_on_this_wire(client: Client) -> None:
    api = client.api
    run = await api.run()
    body = {"nodeId": "n", "key": "k", "kind": "text", "session": "s1", "notify": []}
    await api.call("POST", f"/host/sayso/runs/{run}/inputs", body)
    await api.ask(run, approval("k2", actions=["accept", "reject", "refine"]))
    _, listed = await client.get("interrupts?sessionId=s1")
    [asked] = [i for i in listed["interrupts"] if i["input"].get("schemaId") == "sayso.approval"]
    assert [one["id"] for one in asked["input"]["options"]] == ["accept", "refine", "reject"]
    _, found = await client.get(f"interrupts/{asked['id']}?sessionId=s1")
    answer = {"handle": found["resume"], "response": {"type": "select", "ids": ["accept"]}}
    status, result = await client.post("resume", answer)
    assert (status, result["status"]) == (200, "suspended")  # the text is still open
    _, record, _ = await api.call("GET", "/host/sayso/interrupts?status=resolved")
    assert record["interrupts"][0]["resumeValue"]["action"] == "accept"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"messages": "x"}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "role"),
        ({"messages": [{"role": "user", "content": "x", "extra": 1}]}, "extra"),
        ({"messages": [{"role": "user", "content": 1}]}, "content"),
        ({"messages": [], "workflowId": "nobody", "sessionId": "s1"}, "No workflow"),
        ([], "object"),
    ],
)
async def test_a_bad_request_is_told_in_their_shape(
    client: Client, body: Any, sentence: str
) -> None:
    status, found = await client.post("chat", body)
    assert status in (400, 404)
    assert sentence in found["error"]


async def test_no_key_no_chat(client: Client) -> None:
    status, found = await client.post("chat", {"messages": []}, key=None)
    assert (status, found["code"]) == (401, "unauthenticated")
    status, found = await client.post("chat", {"messages": []}, key="read-key-0123456789")
    assert (status, found["code"]) == (403, "forbidden")


async def test_another_tenants_token_is_unknown(client: Client) -> None:
    asked = await client.start()
    message = {
        "role": "user",
        "content": "x",
        "metadata": {"resume": handle(asked) | {"selected": "x"}},
    }
    body = {"sessionId": "s1", "messages": [message]}
    status, found = await client.post("chat", body, key="alien-key-123456789")
    assert (status, found["reason"]) == (400, "unknown")
