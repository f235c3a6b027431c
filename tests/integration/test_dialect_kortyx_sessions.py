"""The kortyx dialect: lateness, discovery, children, checkpoints, telemetry. Numbers: docs/dialects."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.ids import path_segment
from tests.integration.conftest import Api
from tests.integration.kortyx_world import (
    ASK,
    Client,
    handle,
    one_node,
    only,
    types,
    workflows_in,
)

TEXT = one_node("text", kind="text", question="Name?")
QUICK = one_node("quick", kind="text", question="Quick!", timeoutMs=250)


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    return workflows_in(tmp_path / "flows", ASK, TEXT, QUICK)


@pytest.fixture
async def client(start: Any, flows: Path) -> Client:
    return Client(await start(workflows=flows, kortyx={"workflow": "ask", "wait_seconds": 5}))


async def over(client: Client, asked: dict[str, Any]) -> None:
    """Wait until the question's deadline has had its effect."""
    run = path_segment(asked["runId"])
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    [interrupt] = [e for e in page["events"] if e["type"] == "node.suspended"]
    place = path_segment(interrupt["payload"]["interruptId"])
    _, record, _ = await client.api.call("GET", f"/host/sayso/interrupts/{place}?wait=10")
    assert record["status"] == "expired"


async def external(api: Api, session: str, key: str = "k", **more: Any) -> str:
    """A run of an outside program, with a question on a session's stream."""
    _, body, _ = await api.call("POST", "/runs", {"workflowId": "sayso.external", **more})
    run = path_segment(body["runId"])
    await ask(api, run, session, key)
    return run


async def ask(api: Api, run: str, session: str | None, key: str, node: str = "n") -> None:
    body = {"nodeId": node, "key": key, "kind": "text", "question": key, "notify": []}
    if session is not None:
        body["session"] = session
    status, answer, _ = await api.call("POST", f"/host/sayso/runs/{run}/inputs", body)
    assert status == 201, answer


def by_hand(found: Any, **response: Any) -> dict[str, Any]:
    return {"handle": found["resume"], "response": response}


async def pending(client: Client, query: str = "") -> list[dict[str, Any]]:
    query = query or f"sessionId={client.session}"
    status, body = await client.get(f"interrupts?{query}")
    assert status == 200, body
    return list(body["interrupts"])


# --- time -----------------------------------------------------------------------------------------


async def test_18_19_a_late_answer_resumes_nothing_and_says_so(client: Client) -> None:
    asked = await client.start("quick")
    assert asked["expiresAt"]
    await over(client, asked)
    assert await pending(client) == []
    body = await client.refused(asked, selected=["late"])
    assert (body["code"], body["reason"]) == ("INVALID_RESUME", "expired")
    _, snapshot, _ = await client.api.call("GET", f"/runs/{path_segment(asked['runId'])}")
    assert snapshot["status"] == "failed"
    [listed] = (await client.api.call("GET", "/host/sayso/interrupts?status=expired"))[1][
        "interrupts"
    ]
    assert "resumeValue" not in listed


async def test_19_as_a_new_turn_a_late_answer_starts_another_run(start: Any, flows: Path) -> None:
    kortyx = {"workflow": "quick", "late": "new-turn", "wait_seconds": 5}
    client = Client(await start(workflows=flows, kortyx=kortyx))
    asked = await client.start("quick")
    await over(client, asked)
    again = only(await client.answer(asked, selected=["late"]), "interrupt")
    assert again["runId"] != asked["runId"]
    assert again["requestId"] != asked["requestId"]
    _, told = await client.get("telemetry?sessionId=s1")
    old = [e for e in told["events"] if e["correlation"]["runId"] == asked["runId"]]
    assert [e["type"] for e in old] == ["interrupt.created"]  # expired before resume, not resumed


async def test_20_the_time_to_live(
    start: Any, flows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def life(asked: dict[str, Any], made: str) -> float:
        ends = datetime.fromisoformat(asked["expiresAt"].replace("Z", "+00:00"))
        return (ends - datetime.fromisoformat(made.replace("Z", "+00:00"))).total_seconds()

    async def of(api: Api) -> float:
        client = Client(api)
        asked = await client.start("text")
        [item] = await pending(client)
        return life(asked, item["createdAt"])

    assert await of(await start(workflows=flows)) == 900
    monkeypatch.setenv("KORTYX_FRAMEWORK_TTL_MS", "60000")
    assert await of(await start(workflows=flows)) == 60
    assert await of(await start(workflows=flows, kortyx={"ttl_ms": 30_000})) == 30


async def test_21_after_a_restart_the_answer_counts(
    start: Any, flows: Path, tmp_path: Path
) -> None:
    chosen = {"workflows": flows, "data_dir": tmp_path / "kept", "kortyx": {"workflow": "ask"}}
    client = Client(await start(**chosen))
    asked = await client.start()
    await client.api.gateway.stop()
    again = Client(await start(**chosen))
    assert [one["expiresAt"] for one in await pending(again)] == [asked["expiresAt"]]
    assert only(await again.answer(asked, selected=["x"]), "interrupt")["node"] == "tags"


async def test_27_a_cancelled_runs_question_is_withdrawn(client: Client) -> None:
    asked = await client.start()
    await client.api.call("POST", f"/runs/{path_segment(asked['runId'])}/cancel", {})
    assert await pending(client) == []
    body = await client.refused(asked, selected=["x"])
    assert (body["code"], body["reason"]) == ("INVALID_RESUME", "cancelled")


# --- discovery ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["", "status=pending", "sessionId=s1&colour=red", "sessionId=s1&status=resolved"]
)
async def test_30_a_listing_needs_a_scope_and_knows_its_members(client: Client, query: str) -> None:
    status, body = await client.get(f"interrupts?{query}")
    assert status == 400
    assert body["error"]


async def test_30_a_listing_has_no_token_and_an_order(client: Client) -> None:
    asked = [await client.start(), await client.start(), await client.start("text")]
    items = await pending(client)
    assert [i["createdAt"] for i in items] == sorted(i["createdAt"] for i in items)
    assert {i["id"] for i in items} == {a["requestId"] for a in asked}
    assert not any(one["resumeToken"] in str(items) for one in asked)
    assert "meta" not in str(items)
    _, one = await client.get(f"interrupts/{asked[0]['requestId']}?sessionId=s1")
    assert one["resume"].keys() == {"token", "requestId", "sessionId", "runId"}
    status, _ = await client.get(f"interrupts/{asked[0]['requestId']}?sessionId=s2")
    assert status == 404


async def test_30_what_was_asked_after_the_response_is_found(start: Any, flows: Path) -> None:
    api = await start(workflows=flows, kortyx={"workflow": "sayso.external", "wait_seconds": 0})
    client = Client(api)
    chunks = await client.chat(context={"tenant": "t1", "page": 4})
    assert types(chunks) == ["session", "status", "checkpoint", "done"]
    run = path_segment(only(chunks, "done")["data"]["runId"])
    await ask(api, run, None, "later")
    [item] = await pending(client, "sessionId=s1&afterResponseCompleted=true")
    assert item["afterResponseCompleted"] is True
    assert await pending(client, "sessionId=s1&afterResponseCompleted=false") == []
    context = json.dumps({"page": 4})
    assert [i["id"] for i in await pending(client, f"context={context}")] == [item["id"]]
    assert await pending(client, f"context={json.dumps({'page': 5})}") == []
    _, found = await client.get(f"interrupts/{item['id']}?sessionId=s1")
    _, result = await client.post("resume", by_hand(found, type="text", text="done"))
    assert result["status"] == "running"


async def test_a_program_of_its_own_answers_on_the_stream(client: Client) -> None:
    """A run that an outside program drives: its answer, and its end, go to the one who waits."""
    api = client.api
    run = await external(api, "s1")
    [item] = await pending(client)
    _, found = await client.get(f"interrupts/{item['id']}?sessionId=s1")

    async def goes_on() -> None:
        answered = f"/host/sayso/interrupts/{path_segment(wait)}?wait=10"
        assert (await api.call("GET", answered))[1]["resumeValue"] == "Ada"
        body = {"outputs": {"message": "Hello Ada"}}
        await api.call("POST", f"/host/sayso/runs/{run}/complete", body)

    _, listed, _ = await api.call("GET", "/host/sayso/interrupts")
    wait = listed["interrupts"][0]["interruptId"]
    resume = {
        "token": found["resume"]["token"],
        "requestId": item["id"],
        "selected": ["Ada"],
    }
    chunks, _ = await asyncio.gather(client.chat("Ada", resume), goes_on())
    assert only(chunks, "message")["content"] == "Hello Ada"


async def test_a_failed_run_is_an_error_before_its_done(start: Any, tmp_path: Path) -> None:
    fails = {
        "workflowId": "fails",
        "nodes": [{"id": "f", "type": "core.fail", "config": {"message": "No luck."}}],
    }
    client = Client(await start(workflows=workflows_in(tmp_path / "w", fails)))
    chunks = await client.chat(workflowId="fails")
    assert types(chunks) == ["session", "error", "checkpoint", "done"]
    assert only(chunks, "error")["message"] == "No luck."


# --- children -------------------------------------------------------------------------------------


async def child_of(api: Api, parent: str, call: str) -> str:
    parent_id = parent.replace("~2F", "/")
    extensions = {"sayso.parent": {"runId": parent_id, "callId": call}}
    body = {"workflowId": "sayso.external", "configurable": {"extensions": extensions}}
    status, found, _ = await api.call("POST", "/runs", body)
    assert status == 201, found
    return path_segment(found["runId"])


async def test_26_a_childs_question_is_on_the_parents_stream(start: Any) -> None:
    api = await start(kortyx={"workflow": "sayso.external", "wait_seconds": 0})
    client = Client(api)
    parent = path_segment(only(await client.chat(), "done")["data"]["runId"])
    first, second = await child_of(api, parent, "c1"), await child_of(api, parent, "c2")
    await ask(api, first, None, "first")
    await ask(api, second, None, "second")
    items = await pending(client)
    assert [one["input"]["question"] for one in items] == ["first", "second"]
    _, found = await client.get(f"interrupts/{items[0]['id']}?sessionId=s1")
    assert found["resume"]["runId"] == parent.replace("~2F", "/")
    _, result = await client.post("resume", by_hand(found, type="text", text="one"))
    shown = result["interrupt"]  # one at a time, and the next one with where it comes from
    assert shown["input"]["question"] == "second"
    assert shown["input"]["meta"]["workflowCallPath"] == [
        {
            "workflowId": "sayso.external",
            "invocationId": second.replace("~2F", "/"),
            "callId": "c2",
        }
    ]
    _, record, _ = await api.call("GET", "/host/sayso/interrupts?status=resolved")
    assert [r["runId"] for r in record["interrupts"]] == [first.replace("~2F", "/")]


async def test_26_a_child_needs_a_parent_that_goes_on(start: Any) -> None:
    api = await start()
    run = await api.run()
    await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
    extensions = {"sayso.parent": {"runId": run.replace("~2F", "/")}}
    body = {"workflowId": "sayso.external", "configurable": {"extensions": extensions}}
    status, found, _ = await api.call("POST", "/runs", body)
    assert (status, found["error"]) == (400, "validation_error")
    body["configurable"]["extensions"]["sayso.parent"]["runId"] = "acme/nobodynobodynobody"
    assert (await api.call("POST", "/runs", body))[0] == 400


# --- checkpoints ----------------------------------------------------------------------------------


async def test_25_a_forks_answers_are_its_own(client: Client) -> None:
    asked = await client.start()
    point = only(await client.answer(asked, selected=["x"]), "checkpoint")
    [source] = await pending(client)
    status, forked = await client.post(
        "checkpoints", {"action": "fork", "checkpointId": point["id"], "newSessionId": "s2"}
    )
    assert (status, forked["parentSessionId"], forked["sessionId"]) == (200, "s1", "s2")
    other = Client(client.api, "s2")
    [branch] = await pending(other)
    assert branch["id"] != source["id"]
    assert branch["runId"] != source["runId"]
    [active] = forked["activePendingRequests"]
    as_chunk = {"resumeToken": active["token"], "requestId": active["requestId"]}
    theirs = only(await other.answer(as_chunk, selected=["a"]), "interrupt")
    assert theirs["node"] == "decision"
    assert [one["id"] for one in await pending(client)] == [source["id"]]
    _, found = await client.get(f"interrupts/{source['id']}?sessionId=s1")
    _, result = await client.post("resume", by_hand(found, type="select", ids=["b"]))
    assert result["interrupt"]["node"] == "decision"
    run = path_segment(branch["runId"])
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    values = [
        e["payload"]["resumeValue"] for e in page["events"] if e["type"] == "interrupt.resolved"
    ]
    assert values == ["x", ["a"]]


async def test_24_going_back_withdraws_what_came_later(client: Client) -> None:
    first = await client.chat(workflowId="ask")
    point, asked = only(first, "checkpoint"), only(first, "interrupt")
    later = only(await client.answer(asked, selected=["x"]), "interrupt")
    body = {"action": "rollback", "checkpointId": point["id"], "sessionId": "s1"}
    status, back = await client.post("checkpoints", body)
    assert (status, back["head"]) == (200, point["id"])
    assert back["invalidatedRequestIds"] == [later["requestId"]]
    assert (await client.refused(later, selected=["a"]))["code"] == "INVALID_RESUME"
    [active] = back["activePendingRequests"]
    fresh = {"resumeToken": active["token"], "requestId": active["requestId"]}
    again = only(await client.answer(fresh, selected=["y"]), "interrupt")
    assert again["node"] == "tags"
    assert again["runId"] != later["runId"]


async def test_24_going_back_to_where_it_is_changes_nothing(client: Client) -> None:
    chunks = await client.chat(workflowId="ask")
    point, asked = only(chunks, "checkpoint"), only(chunks, "interrupt")
    body = {"action": "rollback", "checkpointId": point["id"], "sessionId": "s1"}
    _, back = await client.post("checkpoints", body)
    assert back["invalidatedInterruptTokens"] == []
    assert [one["token"] for one in back["activePendingRequests"]] == [asked["resumeToken"]]
    assert only(await client.answer(asked, selected=["x"]), "interrupt")["node"] == "tags"


async def test_checkpoints_are_listed_and_unknown_ones_named(client: Client) -> None:
    chunks = await client.chat(workflowId="ask")
    await client.answer(only(chunks, "interrupt"), selected=["x"])
    _, body = await client.post("checkpoints", {"action": "list", "sessionId": "s1"})
    assert [one["turnIndex"] for one in body["checkpoints"]] == [1, 2]
    assert body["head"] == body["checkpoints"][-1]["id"]
    status, body = await client.post("checkpoints", {"action": "get", "checkpointId": "cp-none"})
    assert status == 400
    assert "cp-none" in body["error"]


# --- telemetry ------------------------------------------------------------------------------------


@pytest.mark.parametrize("requests", [True, False])
@pytest.mark.parametrize("answers", [True, False])
async def test_31_what_is_captured_is_told_and_nothing_else(
    start: Any, flows: Path, requests: bool, answers: bool
) -> None:
    capture = {"requests": requests, "answers": answers}
    client = Client(await start(workflows=flows, capture=capture))
    asked = await client.start("text")
    assert asked["input"]["question"] == "Name?"  # the person is shown it all the same
    await client.answer(asked, selected=["Ada Lovelace"])
    _, told = await client.get("telemetry?sessionId=s1")
    created, resolved = told["events"]
    assert [created["type"], resolved["type"]] == ["interrupt.created", "interrupt.resolved"]
    assert ("question" in created["payload"]) is requests
    assert resolved["payload"]["responseCaptured"] is answers
    assert resolved["payload"].get("response") == ("Ada Lovelace" if answers else None)
    assert resolved["payload"]["resumeOutcome"] == "resumed"
    run = path_segment(asked["runId"])
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    everything = str((told, page))
    assert ("Name?" in everything) is requests
    assert ("Ada Lovelace" in everything) is answers
    assert asked["resumeToken"] not in everything


async def test_31_telling_twice_tells_the_same_events(client: Client) -> None:
    await client.start("text")
    first = await client.get("telemetry?sessionId=s1")
    assert first == await client.get("telemetry?sessionId=s1")


async def test_43_the_resume_token_answers_nothing_by_itself(client: Client) -> None:
    asked = await client.start("text")
    path = f"/interrupts/{asked['resumeToken']}"
    status, body, _ = await client.api.call("POST", path, {"resumeValue": "x"}, key=None)
    assert (status, body["error"]) == (403, "forbidden")
    message = {"role": "user", "content": "x", "metadata": {"resume": handle(asked)}}
    body = {"sessionId": "s1", "messages": [message]}
    assert (await client.post("chat", body, key=None))[0] == 401


async def test_26_runs_call_each_other_so_deep_and_no_deeper(start: Any) -> None:
    api = await start()
    run = await api.run()
    for _ in range(15):
        run = await child_of(api, run, "c")
    extensions = {"sayso.parent": {"runId": run.replace("~2F", "/")}}
    body = {"workflowId": "sayso.external", "configurable": {"extensions": extensions}}
    status, found, _ = await api.call("POST", "/runs", body)
    assert (status, found["error"]) == (400, "validation_error")
    assert "16 deep" in found["message"]


async def test_taking_questions_back_needs_the_scope_for_it(client: Client) -> None:
    scopes = ["runs:create", "runs:read", "approvals:respond"]
    _, made, _ = await client.api.call(
        "POST", "/host/sayso/api-keys", {"name": "desk", "scopes": scopes}
    )
    chunks = await client.chat(workflowId="ask")
    point, asked = only(chunks, "checkpoint"), only(chunks, "interrupt")
    resume = {**handle(asked), "cancel": True}
    message = {"role": "user", "content": "no", "metadata": {"resume": resume}}
    named = {"token": asked["resumeToken"], "requestId": asked["requestId"]}
    named |= {"sessionId": "s1", "runId": asked["runId"]}
    for path, body in (
        ("chat", {"sessionId": "s1", "messages": [message]}),
        ("resume", {"handle": named, "response": {"type": "cancel"}}),
        ("checkpoints", {"action": "rollback", "checkpointId": point["id"], "sessionId": "s1"}),
    ):
        status, refused = await client.post(path, body, key=made["key"])
        assert (status, refused["error"]) == (403, "This API key lacks the scope runs:cancel.")
    assert only(await client.answer(asked, selected=["x"]), "interrupt")["node"] == "tags"
