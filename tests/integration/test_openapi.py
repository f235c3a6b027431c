"""The OpenAPI document against the program: everything served is in it, and every answer conforms.

Requests are generated from the document by Schemathesis, right ones and wrong ones, a bounded and repeatable
number for each operation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import jsonschema
import pytest
import requests
import schemathesis
from aiohttp import web
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from gateway.openapi.document import OPERATIONS, document
from schemas.ids import path_segment
from tests.integration.conftest import Api, approval

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    missing_required_header,
    unsupported_method,
    ignored_auth,
]
EXAMPLES = 15
# What waits for something to happen is only asked about what has ended: it must answer at once.
_WAITS = {"streamRunEvents", "pollRunEvents", "getInterrupt"}
# Members of the create body that the protocol has and this gateway refuses.
_REFUSED = {"tenantId", "residency", "callbackUrl", "mode", "evalSuiteRef"}
# Granted only for what no document can describe: a public endpoint, a subscription, the right action.
_NEEDS_MORE = {
    "registerWebhook",
    "unregisterWebhook",
    "listWebhookDeadLetters",
    "rotateWebhookSecret",
    "redriveDelivery",
    "resolveInterruptByToken",
    "resolveInterruptByRun",
    "revokeApiKey",
    "matchHookEvent",
    "replayHookEvent",
}
# The routes of dialects have shapes that are documented elsewhere: docs/dialects/.
_NOT_OURS = (
    "/compat/",
    "/a/",
    "/slack/",
    "/hooks/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/conformance/",
)


class World:
    """Runs and interrupts in all states, for generated requests to meet."""

    def __init__(self, api: Api, ended: dict[str, str], live: dict[str, str]) -> None:
        self.api = api
        self.ended = ended
        self.live = live

    def places(self, operation: str, name: str, generated: Any) -> st.SearchStrategy[Any]:
        """Mostly something that exists."""
        if name not in self.live:
            return st.just(generated)
        real = [self.ended[name]] if operation in _WAITS else [self.live[name], self.ended[name]]
        return st.sampled_from([*real, *real, generated])


async def world(api: Api) -> World:
    done = await api.run()
    record = await api.ask(done)
    await api.call("POST", f"/runs/{done}/interrupts/gate", {"resumeValue": {"action": "accept"}})
    await api.call("POST", f"/host/sayso/runs/{done}/complete", {})
    live = await api.run()
    open_one = await api.ask(live, approval(requiredApprovals=50))
    interrupt = path_segment(open_one["interruptId"])
    _, minted, _ = await api.call(
        "POST", f"/host/sayso/interrupts/{interrupt}/tokens", {"intent": "resolve"}
    )
    contract = {
        "name": "known", "description": "d", "schemaId": "s", "schemaVersion": "1",
        "requestSchema": {}, "responseSchema": {},
    }  # fmt: skip
    await api.call("POST", "/host/sayso/contracts", contract)
    for name in ("old", "new"):
        await api.call("POST", "/host/sayso/api-keys", {"name": name, "scopes": ["runs:read"]})
    ended = {"runId": done, "interruptId": path_segment(record["interruptId"]), "keyName": "old"}
    return World(
        api,
        {**ended, "contractName": "known", "nodeId": "gate", "token": "ow2.hs256.own.e30.nothing"},
        {
            "runId": live,
            "interruptId": interrupt,
            "nodeId": "gate",
            "token": minted["token"],
            "keyName": "new",
            "contractName": "known",
        },
    )


async def test_every_route_is_documented_and_every_operation_routed(
    start: Callable[..., Awaitable[Api]], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[web.Application] = []

    class Runner(web.AppRunner):
        def __init__(self, app: web.Application, **options: Any) -> None:
            served.append(app)
            super().__init__(app, **options)

    monkeypatch.setattr(web, "AppRunner", Runner)
    await start()
    [app] = served
    routed = {
        (route.method.lower(), route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    ours = {pair for pair in routed if not pair[1].startswith(_NOT_OURS)}
    assert ours == {(o.method, o.path) for o in OPERATIONS}


async def test_the_document_is_served_and_cached(api: Api) -> None:
    status, body, headers = await api.call("GET", "/openapi.json", key=None)
    assert (status, body["openapi"]) == (200, "3.1.0")
    again = {"If-None-Match": f'"other", W/{headers["ETag"]}'}
    status, _, headers = await api.call("GET", "/openapi.json", key=None, headers=again)
    assert (status, headers["OpenWOP-Version"]) == (304, "2.1")


def test_the_document_is_a_document() -> None:
    found = document("1.0", "2.1")
    for schema in found["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    schemathesis.openapi.from_dict(found).validate()
    ids = [o.id for o in OPERATIONS]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
async def test_answers_conform(start: Callable[..., Awaitable[Api]], operation: Any) -> None:
    api = await start()
    there = await world(api)
    await asyncio.to_thread(_fuzz, there, operation.path, operation.method, operation.id)


def _fuzz(there: World, path: str, method: str, operation_id: str) -> None:
    operation = schemathesis.openapi.from_dict(document("1.0", "2.1"))[path][method]
    session = requests.Session()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        _examples(there, operation, operation_id, mode, session)


def _examples(
    there: World, operation: Any, operation_id: str, mode: GenerationMode, session: requests.Session
) -> None:
    answered: list[int] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        # A parameter that no operation has is ignored, as the protocol asks: it is no wrong request.
        assume(set(case.query or {}) <= {p.name for p in operation.query})
        for name, generated in (case.path_parameters or {}).items():
            if mode is GenerationMode.POSITIVE:
                case.path_parameters[name] = data.draw(there.places(operation_id, name, generated))
        if operation_id == "createRun" and mode is GenerationMode.POSITIVE:
            case.body = {k: v for k, v in case.body.items() if k not in _REFUSED}
            case.body["workflowId"] = "sayso.external"
        if operation_id == "forkRun" and mode is GenerationMode.POSITIVE:
            case.body = data.draw(st.sampled_from([case.body, {"mode": "replay"}]))
        if operation_id == "askForInput" and mode is GenerationMode.POSITIVE:
            # Which members go together is said in words: hardly a generated request is right.
            asked = {"nodeId": "n", "key": "why", "kind": "text", "question": "Why?"}
            case.body = data.draw(st.sampled_from([case.body, asked]))
        response = case.call_and_validate(
            base_url=there.api.gateway.url,
            session=session,
            headers={"Authorization": f"Bearer {there.api.key}"},
            checks=CHECKS,
            timeout=20,
        )
        answered.append(response.status_code)

    try:
        run()
    except Unsatisfiable:  # every text is a right token: there is no wrong request to make
        assert mode is GenerationMode.NEGATIVE
        return
    assert answered
    if mode is GenerationMode.POSITIVE and operation_id not in _NEEDS_MORE:
        assert min(answered) < 300, "no generated request was ever granted"
