"""The protocol version and what follows it; discovery; caching; what a run can't be created with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from host.store.records import StoredEvent
from schemas.discovery import Discovery
from schemas.events import EventInvalid
from tests.integration.conftest import Api, approval
from tests.integration.event_checks import check_everywhere

ACCEPT = {"resumeValue": {"action": "accept"}}
Start = Callable[..., Awaitable[Api]]


async def events(api: Api, run: str) -> list[dict[str, Any]]:
    _, body, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    return list(body["events"])


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [None, "2", "2.0", "2.1", "2.45", "2.999", " 2.1 "])
async def test_the_major_selects(api: Api, asked: str | None) -> None:
    headers = {"OpenWOP-Version": asked} if asked else {}
    status, _, seen = await api.call("GET", "/.well-known/openwop", headers=headers)
    assert (status, seen["OpenWOP-Version"]) == (200, "2.1")


@pytest.mark.parametrize(
    "asked", ["1", "1.1", "3", "20.1", "2.", "2.x", "x", "2.1.0", "-2", "9" * 40]
)
async def test_other_majors_are_not_served(api: Api, asked: str) -> None:
    headers = {"OpenWOP-Version": asked}
    status, body, seen = await api.call("GET", "/runs/x", headers=headers, key=None)
    assert (status, body["error"]) == (406, "protocol_version_unsupported")
    assert body["details"] == {"protocolVersions": ["2.1"]}
    assert seen["OpenWOP-Version"] == "2.1"


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ("2", 400, "protocol_version_mismatch"),
        ("2.1", 400, "protocol_version_mismatch"),
        ("1.1", 406, "protocol_version_unsupported"),
    ],
)
async def test_paths_of_version_1(api: Api, asked: str, status: int, code: str) -> None:
    got, body, _ = await api.call("GET", "/v1/runs/x", headers={"OpenWOP-Version": asked})
    assert (got, body["error"]) == (status, code)


async def test_paths_of_version_1_without_a_header_do_not_exist(api: Api) -> None:
    status, body, _ = await api.call("GET", "/v1/runs/x")
    assert (status, body["error"]) == (404, "not_found")


async def test_our_own_paths_have_no_version(api: Api) -> None:
    headers = {"OpenWOP-Version": "1"}
    status, _, seen = await api.call("GET", "/host/sayso/interrupts", headers=headers)
    assert (status, "OpenWOP-Version" in seen) == (200, False)


async def test_2_45_says_who_decided_what(start: Start) -> None:
    api = await start(protocol={"version": "2.45"})
    run = await api.run()
    await api.ask(run)
    _, _, seen = await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    assert seen["OpenWOP-Version"] == "2.45"
    resolved = [e for e in await events(api, run) if e["type"] == "interrupt.resolved"]
    payload = resolved[0]["payload"]
    assert (payload["action"], payload["decision"]) == ("accept", "granted")
    assert payload["resolvedBy"] == {
        "issuer": "urn:sayso:api-key",
        "subjectId": "robot",
        "tenant": "acme",
        "lane": "api-key",
        "kind": "workload",
    }
    refused = {"OpenWOP-Version": "3"}
    _, body, _ = await api.call("GET", "/.well-known/openwop", headers=refused)
    assert body["details"] == {"protocolVersions": ["2.45"]}


async def test_without_aliases_there_is_one_event_each_way(start: Start) -> None:
    api = await start(protocol={"legacy_aliases": False})
    run = await api.run()
    await api.ask(run)
    await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    assert [e["type"] for e in await events(api, run)] == [
        "run.started",
        "interrupt.requested",
        "node.suspended",
        "interrupt.resolved",
        "node.resumed",
    ]


# --- discovery ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "until"), [("2.1", "2.2"), ("2.45", "2.46")])
async def test_discovery_follows_the_version(start: Start, version: str, until: str) -> None:
    api = await start(protocol={"version": version})
    status, body, seen = await api.call("GET", "/.well-known/openwop", key=None)
    assert (status, seen["OpenWOP-Version"]) == (200, version)
    Discovery.model_validate(body, strict=True)
    assert body["protocolVersions"] == [version]
    assert body["preferredVersion"] == version
    families = [v for v in body.values() if isinstance(v, dict) and "witness" in v]
    assert len(families) >= 3
    for family in families:
        assert (family["since"], family["until"]) == (version, until)


async def test_discovery_says_which_references_are_enforced(start: Start) -> None:
    api = await start(approvals={"ref_kinds": ["principal"]})
    _, body, _ = await api.call("GET", "/.well-known/openwop", key=None)
    assert body["interrupt"]["refKinds"] == ["principal"]
    assert body["interrupt"]["tokenAlgs"] == ["hs256"]


@pytest.mark.parametrize(
    "path", ["/runs", "/runs/{run}/effects", "/workflows/sayso.external", "/runs:bulk-cancel"]
)
async def test_what_is_not_advertised_is_not_there(api: Api, path: str) -> None:
    status, _, _ = await api.call("GET", path.format(run=await api.run()))
    assert status in (404, 405)


# --- caching --------------------------------------------------------------------------------------


async def test_entity_tags(api: Api) -> None:
    run = await api.run()
    for path in ("/.well-known/openwop", "/openapi.json", f"/runs/{run}"):
        _, _, seen = await api.call("GET", path)
        tag = seen["ETag"]
        for same in (tag, f"W/{tag}", f'"a", {tag}', f'W/"a",W/{tag} , "b"', "*"):
            status, body, seen = await api.call("GET", path, headers={"If-None-Match": same})
            assert (status, body, seen["ETag"]) == (304, None, tag), (path, same)
            assert seen["OpenWOP-Version"] == "2.1"
        for other in ('"a"', 'W/"a", "b"', tag.strip('"'), ""):
            status, _, _ = await api.call("GET", path, headers={"If-None-Match": other})
            assert status == 200, (path, other)


async def test_a_runs_tag_changes_with_its_log(api: Api) -> None:
    run = await api.run()
    _, _, before = await api.call("GET", f"/runs/{run}")
    await api.ask(run, approval())
    same = {"If-None-Match": before["ETag"]}
    status, body, after = await api.call("GET", f"/runs/{run}", headers=same)
    assert (status, body["status"]) == (200, "waiting-approval")
    assert after["ETag"] != before["ETag"]


# --- creating a run -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "headers", "status", "code", "details"),
    [
        ({"callbackUrl": "https://a.example/x"}, {}, 400, "validation_error", ("field", "callbackUrl")),
        ({"mode": "eval"}, {}, 422, "capability_required", ("requiredCapability", "eval")),
        ({"evalSuiteRef": "s"}, {}, 422, "capability_required", ("requiredCapability", "eval")),
        ({"mode": "dream"}, {}, 400, "validation_error", ("field", "mode")),
        ({"residency": "eu"}, {}, 422, "capability_required", ("requiredCapability", "residency")),
        ({"tenantId": "other"}, {}, 403, "id_tenant_mismatch", None),
        ({"tags": None}, {}, 400, "validation_error", None),
        ({}, {"OpenWOP-Dedup": "enforce"}, 400, "validation_error", ("field", "scopeId")),
    ],
)  # fmt: skip
async def test_what_a_run_cannot_be_created_with(
    api: Api,
    body: dict[str, Any],
    headers: dict[str, str],
    status: int,
    code: str,
    details: tuple[str, str] | None,
) -> None:
    sent = {"workflowId": "sayso.external", **body}
    got, answer, _ = await api.call("POST", "/runs", sent, headers=headers)
    assert (got, answer["error"]) == (status, code)
    if details is not None:
        assert answer["details"][details[0]] == details[1]


async def test_a_run_needs_a_workflow(api: Api) -> None:
    status, answer, _ = await api.call("POST", "/runs", {})
    assert (status, answer["error"]) == (400, "validation_error")
    assert answer["details"]["field"] == "workflowId"


async def test_what_says_nothing_that_matters_is_taken(api: Api) -> None:
    body = {"workflowId": "sayso.external", "tenantId": "acme", "scopeId": "s", "agentId": "a"}
    status, answer, _ = await api.call("POST", "/runs", body)
    assert status == 201
    assert answer["eventsUrl"].startswith("/runs/acme~2F")


# --- ids in paths ---------------------------------------------------------------------------------


async def test_both_spellings_of_an_id_and_of_a_node(api: Api) -> None:
    run = await api.run()
    await api.ask(run, node="a:b")
    encoded = run.replace("~2F", "%2F")
    for name in (run, encoded, run.replace("~", "%7E")):
        status, body, _ = await api.call("GET", f"/runs/{name}")
        assert status == 200, name
    for node in ("a:c", "a~3Ac", "a%3Ac"):
        status, body, _ = await api.call("POST", f"/runs/{encoded}/interrupts/{node}", ACCEPT)
        assert (status, body["error"]) == (404, "not_found"), node
    status, body, _ = await api.call("POST", f"/runs/{encoded}/interrupts/a~3Ab", ACCEPT)
    assert (status, body["nodeId"]) == (200, "a:b")


@pytest.mark.parametrize("name", ["other~7E2F0123456789abcdef", "other", "other~2Fshort", "~"])
async def test_the_form_of_an_id_is_checked_before_its_tenant(api: Api, name: str) -> None:
    status, body, _ = await api.call("GET", f"/runs/{name}")
    assert (status, body["error"]) == (400, "validation_error")


# --- what holds every other test here -------------------------------------------------------------


async def test_every_written_event_is_recorded_and_a_wrong_one_is_caught(
    api: Api, every_event_is_checked: list[StoredEvent]
) -> None:
    await api.ask(await api.run())
    types = [event.type for event in every_event_is_checked]
    assert types[:2] == ["run.started", "interrupt.requested"]
    wrong = replace(every_event_is_checked[0], payload={"workflowId": "w", "surprise": 1})
    with pytest.raises(EventInvalid, match="surprise"):
        check_everywhere(wrong)
