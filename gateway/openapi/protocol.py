"""The protocol's operations that are served here, by their protocol names (OpenWOP: operations)."""

from __future__ import annotations

from typing import Final

from gateway.openapi.operation import Answer, Operation
from schemas.discovery import Discovery
from schemas.resume import ResolveBody
from schemas.runs import CancelBody, CreateRun, ForkBody
from schemas.snapshots import (
    CreatedRun,
    EffectSeams,
    EventPage,
    ForkedRun,
    NodeResolved,
    RunEnded,
    RunSnapshot,
)

_UNCHANGED: Final = Answer(304, "It has not changed.", headers=("ETag",))
_REPLAYED: Final = ("OpenWOP-Idempotent-Replay",)
_TOKEN_ERRORS: Final = (
    "forbidden",
    "interrupt_token_invalid",
    "interrupt_already_resolved",
    "interrupt_expired",
    "not_found",
)

OPERATIONS: Final = (
    Operation(
        "getCapabilities",
        "get",
        "/.well-known/openwop",
        "What this host serves.",
        (Answer(200, "The discovery document.", Discovery, headers=("ETag",)), _UNCHANGED),
        parameters=("IfNoneMatch",),
    ),
    Operation(
        "getOpenApiSpec",
        "get",
        "/openapi.json",
        "This document.",
        (Answer(200, "An OpenAPI 3.1 document.", "Anything", headers=("ETag",)), _UNCHANGED),
        parameters=("IfNoneMatch",),
    ),
    Operation(
        "createRun",
        "post",
        "/runs",
        "Start a run of a workflow, or one that your own program drives (`sayso.external`).",
        (Answer(201, "The run is started.", CreatedRun, headers=_REPLAYED),),
        scope="runs:create",
        body=CreateRun,
        errors=("id_tenant_mismatch", "not_found", "capability_required", "run_already_active"),
        parameters=("Dedup",),
        idempotent=True,
    ),
    Operation(
        "getRun",
        "get",
        "/runs/{runId}",
        "A run as it is now.",
        (Answer(200, "Its snapshot.", RunSnapshot, headers=("ETag",)), _UNCHANGED),
        scope="runs:read",
        parameters=("IfNoneMatch",),
    ),
    Operation(
        "cancelRun",
        "post",
        "/runs/{runId}/cancel",
        "Cancel a run and take back what it asks.",
        (Answer(200, "It is cancelled.", RunEnded, headers=_REPLAYED),),
        scope="runs:cancel",
        body=CancelBody,
        errors=("run_terminal",),
        idempotent=True,
    ),
    Operation(
        "forkRun",
        "post",
        "/runs/{runId}:fork",
        "Replay a run from its recorded answers, or branch off it and ask anew.",
        (Answer(201, "The fork, a run of its own.", ForkedRun, headers=_REPLAYED),),
        scope="runs:create",
        body=ForkBody,
        errors=("fork_point_invalid", "replay_source_missing"),
        idempotent=True,
    ),
    Operation(
        "getEffectSeamManifest",
        "get",
        "/host/effect-seams",
        "Every way out of this host, and that a replay takes none of them.",
        (Answer(200, "The seams.", EffectSeams),),
        scope="runs:read",
    ),
    Operation(
        "streamRunEvents",
        "get",
        "/runs/{runId}/events",
        "A run's events as they happen, until it ends.",
        (Answer(200, "Server-sent events; `id` is the sequence.", None, "text/event-stream"),),
        scope="runs:read",
        parameters=("StreamMode", "BufferMs", "LastEventId"),
        errors=("unsupported_stream_mode", "rate_limited"),
    ),
    Operation(
        "pollRunEvents",
        "get",
        "/runs/{runId}/events/poll",
        "A run's events above a sequence, as soon as there are any.",
        (Answer(200, "The events, in order.", EventPage),),
        scope="runs:read",
        parameters=("AfterSequence", "Timeout"),
    ),
    Operation(
        "resolveInterruptByRun",
        "post",
        "/runs/{runId}/interrupts/{nodeId}",
        "Answer what a node waits for. A vote that does not decide leaves the run waiting.",
        (Answer(200, "Recorded.", NodeResolved, headers=_REPLAYED),),
        scope="approvals:respond",
        body=ResolveBody,
        errors=("interrupt_already_resolved",),
        idempotent=True,
    ),
    Operation(
        "inspectInterruptByToken",
        "get",
        "/interrupts/{token}",
        "What is asked. Changes nothing, however often it is fetched.",
        (Answer(200, "The interrupt payload.", "InterruptPayload"),),
        errors=_TOKEN_ERRORS,
    ),
    Operation(
        "resolveInterruptByToken",
        "post",
        "/interrupts/{token}",
        "Answer with a token and no other credential.",
        (Answer(200, "Recorded.", NodeResolved, headers=_REPLAYED),),
        body=ResolveBody,
        errors=_TOKEN_ERRORS,
        idempotent=True,
    ),
)
