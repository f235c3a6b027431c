"""`OpenWOP-Dedup: enforce`: one active run of a `scopeId`, over HTTP and as clients use it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError

from sayso import AsyncSayso, SaysoError
from schemas.ids import path_segment
from tests.integration.conftest import Api

ENFORCE = {"OpenWOP-Dedup": "enforce"}


async def create(api: Api, scope: str = "deploy", **headers: str) -> tuple[int, Any, Any]:
    body = {"workflowId": "sayso.external", "scopeId": scope}
    return await api.call("POST", "/runs", body, headers=ENFORCE | headers)


async def end(api: Api, run_id: str) -> None:
    path = f"/host/sayso/runs/{path_segment(run_id)}/complete"
    assert (await api.call("POST", path, {}))[0] == 200


async def test_a_second_waits_for_the_end_of_the_first(api: Api) -> None:
    status, first, _ = await create(api)
    assert status == 201
    status, refused, headers = await create(api)
    assert (status, refused["error"]) == (409, "run_already_active")
    assert refused["details"]["runId"] == first["runId"]
    assert int(headers["Retry-After"]) > 0
    assert (await create(api, "another"))[0] == 201
    await end(api, first["runId"])
    status, second, _ = await create(api)
    assert status == 201
    assert second["runId"] != first["runId"]
    path = f"/runs/{path_segment(second['runId'])}"
    assert (await api.call("GET", path))[1]["status"] == "running"


async def test_a_run_that_does_not_enforce_is_in_nobodys_way(api: Api) -> None:
    body = {"workflowId": "sayso.external", "scopeId": "deploy"}
    for _ in range(2):
        assert (await api.call("POST", "/runs", body))[0] == 201
    assert (await create(api))[0] == 201
    assert (await api.call("POST", "/runs", body))[0] == 201


async def test_a_key_has_its_own_run_back_and_a_refusal_is_judged_again(api: Api) -> None:
    mine = {"Idempotency-Key": "mine-0123456789012345678901"}
    yours = {"Idempotency-Key": "yours-012345678901234567890"}
    status, first, _ = await create(api, **mine)
    again, same, headers = await create(api, **mine)
    assert (status, again, same) == (201, 201, first)
    assert headers["OpenWOP-Idempotent-Replay"] == "true"
    assert (await create(api, **yours))[0] == 409
    await end(api, first["runId"])
    status, second, _ = await create(api, **yours)
    assert (status, second["runId"] != first["runId"]) == (201, True)
    assert (await create(api, **mine))[1] == first  # what the key made, whatever came since


async def test_of_many_at_once_one_begins(api: Api) -> None:
    answers = await asyncio.gather(*(create(api) for _ in range(30)))
    assert sorted(status for status, _, _ in answers) == [201, *[409] * 29]


async def test_the_protocols_client_asks_for_it(api: Api) -> None:
    client = OpenwopClient(api.gateway.url, api.key)
    body = CreateRunRequest(workflowId="sayso.external", scopeId="deploy")
    await asyncio.to_thread(client.runs_create, body, dedup=True)
    with pytest.raises(WopError) as raised:
        await asyncio.to_thread(client.runs_create, body, dedup=True)
    assert raised.value.envelope is not None
    assert (raised.value.status, raised.value.envelope.error) == (409, "run_already_active")


async def test_our_client_asks_for_it_by_a_scope(api: Api) -> None:
    async with AsyncSayso(api.gateway.url, api.key, wait=0) as client:
        one, other = client.run(scope="deploy"), client.run(scope="deploy")
        await one.complete()
        async with client.run(scope="deploy") as third:
            await third.ratify("planner", "go", 0.9)
            with pytest.raises(SaysoError, match="run_already_active"):
                await other.ratify("planner", "go", 0.9)
        await other.ratify("planner", "go", 0.9)
