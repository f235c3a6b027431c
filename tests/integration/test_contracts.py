"""Named contracts and requests for input, over HTTP against a real gateway."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import Api

SHIP = {
    "name": "shipping",
    "description": "Where does it go?",
    "schemaId": "acme.shipping",
    "schemaVersion": "1",
    "requestSchema": {
        "type": "object",
        "properties": {"order": {"type": "integer"}, "question": {"type": "string"}},
        "required": ["order"],
    },
    "responseSchema": {
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 2}},
        "required": ["city"],
    },
}


async def register(api: Api, **changed: Any) -> tuple[int, Any]:
    status, body, _ = await api.call("POST", "/host/sayso/contracts", {**SHIP, **changed})
    return status, body


async def ask(api: Api, run: str, node: str = "n", **body: Any) -> tuple[int, Any]:
    whole = {"nodeId": node, "key": "k", "notify": [], **body}
    status, answer, _ = await api.call("POST", f"/host/sayso/runs/{run}/inputs", whole)
    return status, answer


async def resolve(api: Api, run: str, value: Any, node: str = "n") -> tuple[int, Any]:
    path = f"/runs/{run}/interrupts/{node}"
    status, body, _ = await api.call("POST", path, {"resumeValue": value})
    return status, body


async def test_an_answer_is_held_to_the_contract_before_anything_resumes(api: Api) -> None:
    assert (await register(api))[0] == 201
    run = await api.run()
    status, asked = await ask(api, run, contract="shipping", request={"order": 7})
    assert status == 201
    assert asked["expiresAt"]
    status, refused = await resolve(api, run, {"city": "x"})
    assert (status, refused["error"]) == (400, "validation_error")
    assert refused["details"]["errors"][0]["path"] == ["city"]
    _, snapshot, _ = await api.call("GET", f"/runs/{run}")
    assert snapshot["status"] == "waiting-approval"
    assert (await resolve(api, run, {"city": "Oslo"}))[0] == 200
    _, again = await ask(api, run, contract="shipping", request={"order": 7})
    assert again["resumeValue"] == {"city": "Oslo"}


async def test_a_request_is_held_to_the_contract_before_anybody_is_asked(api: Api) -> None:
    await register(api)
    run = await api.run()
    status, refused = await ask(api, run, contract="shipping", request={"order": "7"})
    assert status == 400
    assert refused["details"]["errors"][0]["path"] == ["request", "order"]
    status, refused = await ask(api, run, contract="unheard-of", request={})
    assert (status, refused["error"]) == (404, "not_found")


async def test_a_version_never_changes_and_a_new_one_is_taken_from_then_on(api: Api) -> None:
    assert (await register(api))[0] == 201
    assert (await register(api))[0] == 200
    status, body = await register(api, responseSchema={"type": "string"})
    assert (status, body["error"]) == (409, "sayso.contract_conflict")
    run = await api.run()
    await ask(api, run, node="old", contract="shipping", request={"order": 1})
    assert (await register(api, schemaVersion="2", responseSchema={"type": "string"}))[0] == 201
    await ask(api, run, node="new", key="k2", contract="shipping", request={"order": 1})
    assert (await resolve(api, run, "Oslo", "old"))[0] == 400
    assert (await resolve(api, run, {"city": "Oslo"}, "old"))[0] == 200
    assert (await resolve(api, run, "Oslo", "new"))[0] == 200
    _, listed, _ = await api.call("GET", "/host/sayso/contracts/shipping")
    assert [one["schemaVersion"] for one in listed["contracts"]] == ["1", "2"]


async def test_another_tenant_does_not_see_a_contract(api: Api) -> None:
    await register(api)
    _, listed, _ = await api.call("GET", "/host/sayso/contracts", key="alien-key-123456789")
    assert listed["contracts"] == []


async def test_the_operators_contract_is_everybodys_and_stays(start: Any) -> None:
    configured = {
        "description": "d",
        "request_schema": {"type": "object"},
        "response_schema": {"type": ["string", "null"]},
    }
    api = await start(contracts={"shipping": configured})
    status, body = await register(api)
    assert (status, body["error"]) == (409, "sayso.contract_conflict")
    run = await api.run()
    await ask(api, run, contract="shipping", request={})
    assert (await resolve(api, run, 1))[0] == 400
    assert (await resolve(api, run, None))[0] == 200


async def test_a_wrong_contract_of_the_configuration_stops_the_start(start: Any) -> None:
    wrong = {"description": "d", "request_schema": {"type": "nonsense"}, "response_schema": {}}
    with pytest.raises(ValueError, match=r"contracts\.shipping"):
        await start(contracts={"shipping": wrong})


@pytest.mark.parametrize(
    ("asked", "good", "bad"),
    [
        ({"kind": "text"}, "words", ""),
        ({"options": [{"id": "a", "label": "A", "value": 1}, {"id": "b", "label": "B"}]}, "a", "c"),
        ({"multiple": True, "options": [{"id": "a", "label": "A"}]}, ["a"], ["a", "a"]),
        ({"schemaId": "acme.customers"}, "anything", 7),
    ],
)
async def test_every_kind_is_answered_by_what_it_asks_for(
    api: Api, asked: dict[str, Any], good: Any, bad: Any
) -> None:
    run = await api.run()
    assert (await ask(api, run, question="Which?", **asked))[0] == 201
    assert (await resolve(api, run, bad))[0] == 400
    assert (await resolve(api, run, good))[0] == 200


async def test_an_options_value_is_kept_nowhere(api: Api) -> None:
    run = await api.run()
    await ask(api, run, options=[{"id": "a", "label": "A", "value": "s3cret"}])
    _, page, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    assert "s3cret" not in str(page)
    [listed] = (await api.call("GET", "/host/sayso/interrupts"))[1]["interrupts"]
    detail = f"/host/sayso/interrupts/{listed['interruptId'].replace('/', '~2F')}"
    assert "s3cret" not in str((await api.call("GET", detail))[1])


def using(**use: Any) -> dict[str, Any]:
    extensions = {"sayso.contracts": {"contracts": ["shipping"], **use}}
    return {"workflowId": "sayso.external", "configurable": {"extensions": extensions}}


async def start_using(api: Api, **use: Any) -> str:
    status, body, _ = await api.call("POST", "/runs", using(**use))
    assert status == 201, body
    return str(body["runId"]).replace("/", "~2F")


async def test_a_run_that_must_ask_is_not_completed_before(api: Api) -> None:
    await register(api)
    run = await start_using(api, mode="required")
    complete = f"/host/sayso/runs/{run}/complete"
    status, body, _ = await api.call("POST", complete, {})
    assert (status, body["error"]) == (409, "run_state_conflict")
    await ask(api, run, contract="shipping", request={"order": 1})
    await resolve(api, run, {"city": "Oslo"})
    assert (await api.call("POST", complete, {}))[0] == 200


async def test_a_run_that_may_ask_is_completed_without(api: Api) -> None:
    run = await start_using(api, mode="optional")
    assert (await api.call("POST", f"/host/sayso/runs/{run}/complete", {}))[0] == 200


async def test_a_run_asks_no_more_often_than_it_declared(api: Api) -> None:
    await register(api)
    run = await start_using(api, maxRequests=1)
    assert (await ask(api, run, contract="shipping", request={"order": 1}))[0] == 201
    assert (await ask(api, run, contract="shipping", request={"order": 1}))[0] == 200
    status, body = await ask(api, run, "m", key="k2", contract="shipping", request={"order": 1})
    assert (status, body["details"]["maxRequests"]) == (409, 1)


async def test_a_use_that_says_nothing_sensible_is_refused_at_the_start(api: Api) -> None:
    status, body, _ = await api.call("POST", "/runs", using(maxRequests=0))
    assert status == 400
    assert body["details"]["errors"][0]["path"][-1] == "maxRequests"


async def test_content_is_kept_out_of_events_and_the_answer_still_arrives(start: Any) -> None:
    api = await start(capture={"requests": False, "answers": False})
    await register(api)
    run = await api.run()
    await ask(api, run, contract="shipping", request={"order": 1, "question": "Sagrada Familia?"})
    await resolve(api, run, {"city": "Barcelona"})
    _, page, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    text = str(page)
    assert "Sagrada" not in text
    assert "Barcelona" not in text
    by_type = {event["type"]: event["payload"] for event in page["events"]}
    asked = by_type["interrupt.requested"]["data"]["payload"]
    assert (asked["contract"], asked["schemaVersion"], asked["optionCount"]) == ("shipping", "1", 0)
    assert by_type["interrupt.resolved"]["kind"] == "custom"
    _, again = await ask(api, run, contract="shipping", request={"order": 1})
    assert again["resumeValue"] == {"city": "Barcelona"}
