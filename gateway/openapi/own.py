"""Our own operations, under `/host/sayso`: what the protocol has no operation for."""

from __future__ import annotations

from typing import Final

from gateway.openapi.operation import Answer, Operation
from schemas.records import (
    DecisionNoted,
    EscalatedDecision,
    InterruptDetail,
    InterruptPage,
    InterruptRecord,
    MintedToken,
)
from schemas.runs import AgentDecision, AskBody, CancelBody, FinishBody, MintToken, RequestInterrupt
from schemas.snapshots import RunEnded

_REPLAYED: Final = ("OpenWOP-Idempotent-Replay",)
_ONE: Final = "/host/sayso/interrupts/{interruptId}"

OPERATIONS: Final = (
    Operation(
        "requestInterrupt",
        "post",
        "/host/sayso/runs/{runId}/interrupts",
        "Ask. The same key of a run again answers with the same interrupt.",
        (
            Answer(201, "It is asked.", InterruptRecord, headers=_REPLAYED),
            Answer(200, "The key is known: the interrupt as it is.", InterruptRecord),
        ),
        scope="runs:create",
        body=RequestInterrupt,
        errors=("run_terminal", "run_state_conflict", "replay_source_missing"),
        idempotent=True,
    ),
    Operation(
        "ask",
        "post",
        "/host/sayso/interrupts",
        "Begin a run of an outside program with its first question, in one commit.",
        (
            Answer(
                201, "It is asked; `runId` is the new run's.", InterruptRecord, headers=_REPLAYED
            ),
        ),
        scope="runs:create",
        body=AskBody,
        errors=("validation_error",),
        idempotent=True,
    ),
    Operation(
        "listInterrupts",
        "get",
        "/host/sayso/interrupts",
        "The tenant's interrupts, newest first.",
        (Answer(200, "A page of them.", InterruptPage),),
        scope="runs:read",
        parameters=("Status", "Limit", "Cursor"),
        errors=("validation_error",),
    ),
    Operation(
        "getInterrupt",
        "get",
        _ONE,
        "One interrupt, its votes, how it ended and where it was shown.",
        (Answer(200, "The interrupt.", InterruptDetail),),
        scope="runs:read",
        parameters=("Wait",),
    ),
    Operation(
        "cancelInterrupt",
        "post",
        f"{_ONE}/cancel",
        "Take one question back.",
        (Answer(200, "It is cancelled.", InterruptRecord, headers=_REPLAYED),),
        scope="runs:cancel",
        body=CancelBody,
        errors=("interrupt_already_resolved",),
        idempotent=True,
    ),
    Operation(
        "mintInterruptToken",
        "post",
        f"{_ONE}/tokens",
        "A token for one interrupt. A gate that lists its approvers needs to know whose it is.",
        (Answer(201, "The token. It is kept nowhere.", MintedToken),),
        scope="approvals:respond",
        body=MintToken,
        errors=("interrupt_already_resolved",),
    ),
    Operation(
        "completeRun",
        "post",
        "/host/sayso/runs/{runId}/complete",
        "How an outside program ends its run.",
        (Answer(200, "It is completed.", RunEnded, headers=_REPLAYED),),
        scope="runs:create",
        body=FinishBody,
        errors=("run_terminal",),
        idempotent=True,
    ),
    Operation(
        "reportDecision",
        "post",
        "/host/sayso/runs/{runId}/agent-decisions",
        "What an agent decided. Below the run's threshold a person is asked to ratify it.",
        (
            Answer(200, "Noted; nobody was asked.", DecisionNoted, headers=_REPLAYED),
            Answer(201, "A person is asked.", EscalatedDecision, headers=_REPLAYED),
        ),
        scope="runs:create",
        body=AgentDecision,
        errors=("run_terminal", "run_state_conflict", "replay_source_missing"),
        idempotent=True,
    ),
)
