"""The client can say all that the gateway's request bodies can: each member is an option or left out for a
reason that stands here. A member that is added to a body and not to the client fails this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from pydantic import BaseModel

import sayso
from sayso import AsyncSayso, Sayso
from sayso.plans import RunState
from schemas import payloads
from schemas.runs import (
    AgentDecision,
    AskBody,
    CancelBody,
    CreateRun,
    FinishBody,
    RequestInterrupt,
)
from tests.fakes.sdk_gateway import KEY, Gateway

LEFT_OUT = {
    CreateRun: {
        "residency": "refused: the gateway can't promise it",
        "tenantId": "the API key's",
        "mode": "refused: no evaluations",
        "evalSuiteRef": "refused: no evaluations",
        "agentId": "of no effect for a run that a program drives",
    },
    payloads.ApprovalData: {
        "audience": "`notify` says who is told",
        "onTimeout": "a deadline never approves, whatever it says",
    },
    payloads.ConversationExchangeData: {"turnIndex": "the gateway counts"},
}
SCHEMA = {"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]}
ASKING = {
    "key": "k-1",
    "notify": "slack:#ops",
    "fallback": ["slack:#triage", "email:ops@example.com"],
    "timeout": timedelta(hours=1),
    "replies": "off",
}
BEGINNING: dict[str, Any] = {
    "inputs": {"order": 7},
    "tags": ["refunds"],
    "metadata": {"who": "ada"},
    "callback_url": "https://app.example.com/answers",
    "scope": "refunds-of-ada",
    "escalation_threshold": 0.9,
    "parent": "acme/run0000000000000009",
}


def members(model: type[BaseModel]) -> set[str]:
    """The names on the wire, without those that the client leaves out."""
    named = {field.alias or name for name, field in model.model_fields.items()}
    left_out = LEFT_OUT.get(model, {})
    assert left_out.keys() <= named, "left out here, and no longer there"
    return named - left_out.keys()


async def everything(run: Any, call: Callable[[Any], Awaitable[Any]]) -> None:
    """Each question, with every option that it has."""
    await call(
        run.approve(
            "Refund",
            description="order 7",
            artifact={"eur": 120},
            artifact_type="refund",
            artifact_id="4711",
            approvers=["ada"],
            groups=["finance"],
            roles=["lead"],
            required=2,
            rejection_policy="majority",
            override=True,
            self_approval=False,
            **ASKING,
        )
    )
    await call(run.ask({"q": SCHEMA}, context_type="onboarding", **ASKING | {"key": "k-2"}))
    await call(run.wait_for("payment", {"order": 7}, **ASKING | {"key": "k-3"}))
    await call(
        run.interrupt(
            "custom",
            {"customKind": "x", "payload": 1},
            node="n",
            resume_schema=SCHEMA,
            self_approval=True,
            **ASKING | {"key": "k-4"},
        )
    )
    talk = run.converse(
        "plan", title="The plan", initial_prompt="Hello", notify=["slack:#ops"], replies="off"
    )
    await call(talk.start())
    await call(talk.outcome("Which?", SCHEMA, timeout=60))
    await call(talk.close("done"))
    await call(run.ratify("planner", {"go": True}, 0.4, key="k-5", notify="slack:#ops"))
    await call(run.complete({"done": True}))
    await call(run.cancel(reason="changed our minds"))


ANSWERS: dict[str, Any] = {
    "approval": {"action": "accept"},
    "clarification": {"answers": {"q": {"plan": "a"}}},
    "external-event": {"order": 7},
    "custom": {"plan": "b"},
    "conversation.exchange": {"plan": "c"},
    "low-confidence": {"go": False},
}


@pytest.fixture(params=["blocking", "awaited"])
async def said(request: pytest.FixtureRequest) -> AsyncIterator[Gateway]:
    """What a gateway hears when a program says everything."""
    gateway = Gateway()
    gateway.answer = lambda kind, data: ANSWERS.get(kind)
    async with TestServer(gateway.app()) as server:
        url = str(server.make_url("")).rstrip("/")
        if request.param == "awaited":
            async with AsyncSayso(url, KEY) as client:
                await everything(client.run("r", **BEGINNING), lambda made: made)
                await client.cancel("acme/int0000000000000000", reason="asked in error")
        else:
            await asyncio.to_thread(_blocking, url)
        yield gateway


def _blocking(url: str) -> None:
    async def done(made: Any) -> Any:
        return made

    with Sayso(url, KEY) as client:
        asyncio.run(everything(client.run("r", **BEGINNING), done))
        client.cancel("acme/int0000000000000000", reason="asked in error")


async def test_every_member_of_every_body_can_be_said(said: Gateway) -> None:
    assert set(said.created[0]) == members(CreateRun)
    asked = {each["payload"]["kind"]: each for each in said.asked}
    assert set().union(*said.asked) == members(RequestInterrupt)
    assert set().union(*(each["payload"] for each in said.asked)) == {
        field.alias or name for name, field in payloads.Approval.model_fields.items()
    }
    for kind, model in (
        ("approval", payloads.ApprovalData),
        ("clarification", payloads.ClarificationData),
        ("external-event", payloads.ExternalEventData),
        ("custom", payloads.CustomData),
        ("conversation.start", payloads.ConversationStartData),
        ("conversation.exchange", payloads.ConversationExchangeData),
        ("conversation.close", payloads.ConversationCloseData),
    ):
        assert set(asked[kind]["payload"]["data"]) == members(model), kind
    assert set(said.reported[0]) == members(AgentDecision)
    assert members(FinishBody) == {"outputs"}
    assert members(CancelBody) == {"reason"}
    assert said.reasons == ["changed our minds", "asked in error"]


def test_a_first_question_has_no_member_that_run_and_question_have_not() -> None:
    assert members(AskBody) <= members(CreateRun) | members(RequestInterrupt)


async def test_what_a_run_begins_with(said: Gateway) -> None:
    assert said.created[0] == {
        "workflowId": "sayso.external",
        "inputs": {"order": 7},
        "tags": ["refunds"],
        "metadata": {"who": "ada", "key": "r"},
        "callbackUrl": "https://app.example.com/answers",
        "scopeId": "refunds-of-ada",
        "configurable": {
            "run": {"escalationThreshold": 0.9},
            "extensions": {"sayso.parent": {"runId": "acme/run0000000000000009"}},
        },
    }
    approval = said.asked[0]
    assert (approval["replies"], approval["selfApproval"]) == ("off", False)
    assert approval["payload"]["data"]["artifactType"] == "refund"


def test_a_run_that_says_nothing_begins_as_it_always_did() -> None:
    """The body of a run's creation is what its key is bound to: an option of a newer client that isn't
    used must not change it. Nor may the derived name of a question."""
    run = RunState.of("deploy")
    assert run.body == {"workflowId": "sayso.external", "metadata": {"key": "deploy"}}
    assert RunState.of(None).body == {"workflowId": "sayso.external"}
    plan = sayso.plans.approve("Deploy?", **_APPROVE)
    assert run.name(plan.ask) == "gate:130cbb0f12186529:0"


_APPROVE: dict[str, Any] = {
    "node": "gate",
    "description": None,
    "artifact": {"a": 1},
    "artifact_type": None,
    "artifact_id": None,
    "approvers": ["ada"],
    "groups": None,
    "roles": None,
    "required": 1,
    "rejection_policy": None,
    "override": False,
    "self_approval": None,
    "actions": ("accept", "reject"),
}


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    async with TestServer(gateway.app()) as server:
        gateway.url = str(server.make_url("")).rstrip("/")
        yield gateway


@pytest.mark.parametrize(
    ("answer", "got"),
    [(None, {"go": True}), ({"go": False}, {"go": False})],
    ids=["sure-enough", "a-person-decided"],
)
async def test_an_agents_decision_is_ratified_or_replaced(
    gateway: Gateway, answer: Any, got: Any
) -> None:
    gateway.answer = lambda kind, data: answer
    async with AsyncSayso(gateway.url, KEY) as client:
        run = client.run("r", escalation_threshold=0.5)
        assert await run.ratify("planner", {"go": True}, 0.4, notify="slack:#ops") == got
    [reported] = gateway.reported
    assert (reported["agentId"], reported["confidence"]) == ("planner", 0.4)
    assert gateway.created[0]["configurable"] == {"run": {"escalationThreshold": 0.5}}


async def test_a_turn_is_waited_for_as_long_as_it_says(gateway: Gateway) -> None:
    async with AsyncSayso(gateway.url, KEY) as client:
        talk = client.run("r").converse("plan")
        await talk.start()
        with pytest.raises(sayso.StillOpen):
            await talk.turn("Which?", wait=0)


async def test_an_outcome_is_the_value_and_a_turn_its_text(gateway: Gateway) -> None:
    gateway.answer = lambda kind, data: {"content": "the blue one", "plan": "b"}
    async with AsyncSayso(gateway.url, KEY) as client:
        talk = client.run("r").converse("plan")
        assert await talk.turn("Which?") == "the blue one"
        assert await talk.outcome("So?", SCHEMA) == {"content": "the blue one", "plan": "b"}


def test_tags_are_a_list() -> None:
    with Sayso("http://127.0.0.1:9", "k") as client, pytest.raises(ValueError, match="list"):
        client.run("r", tags="refunds")
