"""A client that nobody here wrote, against a running gateway: `openwop-client`, as published.

It is synchronous, so that its script runs in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import pytest
from openwop_client import OpenwopClient
from openwop_client.errors import WopError
from openwop_client.types import (
    CancelRunRequest,
    CreateRunRequest,
    ForkRunRequest,
    RegisterWebhookRequest,
    ResolveInterruptRequest,
    RotateWebhookSecretRequest,
)
from openwop_client.webhook_helpers import (
    VerifyValid,
    read_webhook_headers,
    verify_webhook_signature,
)

from adapters.webhooks.retry import RetryPolicy
from schemas.ids import path_segment
from tests.fakes.webhook_receiver import PATIENCE, Receiver
from tests.integration.conftest import Api, approval

START = Callable[..., Awaitable[Api]]
ACCEPT = ResolveInterruptRequest(resumeValue={"action": "accept"})
T = TypeVar("T")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
async def api(start: START, receiver: Receiver) -> Api:
    return await start(egress={"allow": [receiver.origin]})


@pytest.fixture
def client(api: Api) -> OpenwopClient:
    return OpenwopClient(base_url=api.gateway.url, api_key=api.key, timeout=PATIENCE)


async def call(function: Callable[..., T], *args: Any, **named: Any) -> T:
    """A call of the synchronous client, while the gateway runs on in this loop."""
    return await asyncio.wait_for(asyncio.to_thread(function, *args, **named), PATIENCE)


async def started(client: OpenwopClient) -> str:
    run = await call(client.runs_create, CreateRunRequest(workflowId="sayso.external"))
    return str(run.runId)


async def token(api: Api, interrupt_id: str, intent: str = "resolve") -> str:
    path = f"/host/sayso/interrupts/{path_segment(interrupt_id)}/tokens"
    status, answer, _ = await api.call("POST", path, {"intent": intent})
    assert status == 201, answer
    return str(answer["token"])


async def refusal(function: Callable[..., Any], *args: Any, **named: Any) -> tuple[int, str]:
    with pytest.raises(WopError) as refused:
        await call(function, *args, **named)
    assert refused.value.envelope is not None
    return refused.value.status, refused.value.envelope.error


async def test_discovery(client: OpenwopClient) -> None:
    found = await call(client.discovery_capabilities)
    assert found.preferredVersion in found.protocolVersions
    assert {"interrupt", "conversationPrimitive", "webhooks", "auth"} <= set(found.families)
    assert "v1" in found.families["webhooks"].facets["signatureAlgorithms"]


async def test_a_run_is_started_read_and_resolved_by_its_node(
    api: Api, client: OpenwopClient
) -> None:
    key = "0123456789abcdef0123456789"
    body = CreateRunRequest(workflowId="sayso.external", tags=["red"])
    run = await call(client.runs_create, body, idempotency_key=key)
    again = await call(client.runs_create, body, idempotency_key=key)
    assert again == run
    await api.ask(path_segment(run.runId))
    snapshot = await call(client.runs_get, run.runId)
    assert (snapshot.status, snapshot.workflowId) == ("waiting-approval", "sayso.external")
    assert (snapshot.owner.tenant, snapshot.tags) == ("acme", ["red"])
    resolved = await call(client.interrupts_resolve_by_run, run.runId, "gate", ACCEPT)
    assert (resolved.runId, resolved.nodeId, resolved.status) == (run.runId, "gate", "running")
    again = await refusal(client.interrupts_resolve_by_run, run.runId, "gate", ACCEPT)
    assert again == (409, "interrupt_already_resolved")


async def test_events_by_polling_and_by_streaming_are_the_same(
    api: Api, client: OpenwopClient
) -> None:
    run_id = await started(client)
    await api.ask(path_segment(run_id))
    await call(client.interrupts_resolve_by_run, run_id, "gate", ACCEPT)
    await api.call("POST", f"/host/sayso/runs/{path_segment(run_id)}/complete", {})
    first = await call(client.runs_poll_events, run_id, timeout_seconds=1)
    assert [e.sequence for e in first.events] == list(range(len(first.events)))
    assert (first.isTerminal, first.status) == (True, "completed")
    rest = await call(client.runs_poll_events, run_id, after_sequence=2, timeout_seconds=1)
    assert rest.events == first.events[3:]
    streamed = await call(lambda: list(client.runs_events(run_id, stream_mode="debug")))
    assert streamed == first.events
    assert streamed[-1].type == "run.completed"
    later = await call(
        lambda: list(client.runs_events(run_id, stream_mode="debug", last_event_id="2"))
    )
    assert later == first.events[3:]


async def test_a_stream_follows_a_run_to_its_end(api: Api, client: OpenwopClient) -> None:
    run_id = await started(client)
    await api.ask(path_segment(run_id))
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    def follow() -> list[str]:
        found = []
        for event in client.runs_events(run_id):
            found.append(event.type)
            if event.type == "interrupt.requested":
                loop.call_soon_threadsafe(seen.set)
        return found

    following = asyncio.create_task(call(follow))
    await asyncio.wait_for(seen.wait(), PATIENCE)
    await call(client.runs_cancel, run_id, CancelRunRequest(reason="enough"))
    types = await following
    assert types[0] == "run.started"
    assert types[-1] == "run.cancelled"


async def test_an_interrupt_is_inspected_and_resolved_by_token(
    api: Api, client: OpenwopClient
) -> None:
    run_id = await started(client)
    record = await api.ask(path_segment(run_id))
    bearer = await token(api, record["interruptId"])
    seen = await call(client.interrupts_inspect_by_token, bearer)
    assert (seen.kind, seen.key) == ("approval", "k")
    assert seen.data["title"] == "Refund"
    looking = await token(api, record["interruptId"], "inspect")
    refused = await refusal(client.interrupts_resolve_by_token, looking, ACCEPT)
    assert refused == (403, "forbidden")
    answered = await call(client.interrupts_resolve_by_token, bearer, ACCEPT)
    assert isinstance(answered, dict)
    assert (await call(client.runs_get, run_id)).status == "running"
    refused = await refusal(client.interrupts_inspect_by_token, bearer)
    assert refused == (409, "interrupt_already_resolved")
    refused = await refusal(client.interrupts_inspect_by_token, bearer[:-4] + "AAAA")
    assert refused == (401, "interrupt_token_invalid")


async def test_a_run_is_cancelled_once(client: OpenwopClient) -> None:
    run_id = await started(client)
    cancelled = await call(client.runs_cancel, run_id)
    assert (cancelled.runId, cancelled.status) == (run_id, "cancelled")
    assert await refusal(client.runs_cancel, run_id) == (409, "run_terminal")


async def test_a_run_is_forked(api: Api, client: OpenwopClient) -> None:
    run_id = await started(client)
    await api.ask(path_segment(run_id))
    await call(client.interrupts_resolve_by_run, run_id, "gate", ACCEPT)
    fork = await call(client.runs_fork, run_id, ForkRunRequest(fromSeq=1, mode="branch"))
    assert (fork.sourceRunId, fork.mode, fork.fromSeq) == (run_id, "branch", 1)


async def test_a_webhook_is_registered_delivered_and_unregistered(
    client: OpenwopClient, receiver: Receiver
) -> None:
    wanted = RegisterWebhookRequest(url=receiver.url, events=["run.started", "run.cancelled"])
    hook = await call(client.webhooks_register, wanted)
    assert (hook.url, hook.eventTypes) == (receiver.url, ["run.started", "run.cancelled"])
    run_id = await started(client)
    await call(client.runs_cancel, run_id)
    page = await call(client.runs_poll_events, run_id, timeout_seconds=1)
    got = await receiver.wait(2)
    for one, event in zip(got, page.events, strict=True):
        read = read_webhook_headers(one.headers)
        assert read is not None
        verdict = verify_webhook_signature(
            hook.secret, read.signature, read.timestamp, one.raw, algorithm_header=read.algorithm
        )
        assert isinstance(verdict, VerifyValid)
        assert (one.event["eventId"], one.event["type"]) == (event.eventId, event.type)
    letters = await call(client.webhooks_dead_letters, hook.subscriptionId, limit=5)
    assert (letters.deliveries, letters.nextCursor) == ([], None)
    await call(client.webhooks_unregister, hook.subscriptionId)
    assert await refusal(client.webhooks_unregister, hook.subscriptionId) == (404, "not_found")
    await started(client)
    assert len(receiver.deliveries) == 2


async def test_dead_letters_as_the_client_reads_them(
    api: Api, client: OpenwopClient, receiver: Receiver
) -> None:
    api.gateway.outbound.policy = RetryPolicy(attempts=1)
    receiver.always = 500
    wanted = RegisterWebhookRequest(url=receiver.url, events=["run.started"])
    hook = await call(client.webhooks_register, wanted)
    run_id = await started(client)
    await receiver.wait(1)
    await api.gateway.outbound.idle()
    [letter] = (await call(client.webhooks_dead_letters, hook.subscriptionId)).deliveries
    assert (letter.webhookId, letter.runId) == (hook.subscriptionId, run_id)
    assert (letter.reason, letter.lastStatus, letter.attempts) == ("retries_exhausted", 500, 1)


async def test_a_secret_is_rotated(api: Api, client: OpenwopClient, receiver: Receiver) -> None:
    body = {
        "url": receiver.url, "events": ["run.started"], "secret": "whsec_" + "A" * 40,
        "signatureAlgorithms": ["v1", "standard-webhooks-1"],
    }  # fmt: skip
    status, made, _ = await api.call("POST", "/webhooks", body)
    assert status == 201
    rotation = RotateWebhookSecretRequest(secret="whsec_" + "B" * 40)
    answer = await call(client.webhooks_rotate_secret, made["webhookId"], rotation)
    assert answer.rotatedAt < answer.previousSecretExpiresAt


async def test_refusals_are_envelopes_that_it_reads(client: OpenwopClient) -> None:
    unknown = "acme/0123456789abcdef0123"
    assert await refusal(client.runs_get, unknown) == (404, "not_found")
    assert await refusal(client.runs_get, "other/0123456789abcdef0123") == (
        403,
        "id_tenant_mismatch",
    )
    body = CreateRunRequest(workflowId="no-such-workflow")
    assert await refusal(client.runs_create, body) == (404, "not_found")
    nobody = OpenwopClient(base_url=client._base_url, api_key="unknown-key")
    assert await refusal(nobody.runs_get, unknown) == (401, "unauthenticated")
    inside = RegisterWebhookRequest(url="https://10.0.0.1/x", events=["run.started"])
    assert await refusal(client.webhooks_register, inside) == (400, "webhook_url_rejected")
    nothing = RegisterWebhookRequest(url="https://hooks.example.com/x", events=[])
    assert await refusal(client.webhooks_register, nothing) == (400, "validation_error")


async def test_payloads_of_all_shapes_reach_the_client(api: Api, client: OpenwopClient) -> None:
    run_id = await started(client)
    await api.ask(path_segment(run_id), approval(title="Ünïcode — ✓"))
    page = await call(client.runs_poll_events, run_id, timeout_seconds=1)
    requested = next(e for e in page.events if e.type == "interrupt.requested")
    assert requested.payload["data"]["title"] == "Ünïcode — ✓"
    assert requested.nodeId == "gate"
