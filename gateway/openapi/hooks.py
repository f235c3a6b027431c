"""Operations on the external events that were kept."""

from __future__ import annotations

from typing import Final

from gateway.openapi.operation import Answer, Operation
from schemas.hook_events import EventMatched, EventReplayed, HookEventPage, MatchEvent

_ALL: Final = "/host/sayso/hooks/events"
_ONE: Final = _ALL + "/{source}/{eventId}"
_REPLAYED: Final = ("OpenWOP-Idempotent-Replay",)

OPERATIONS: Final = (
    Operation(
        "listHookEvents",
        "get",
        _ALL,
        "The tenant's external events, newest first: unmatched, late, failed and the rest.",
        (Answer(200, "A page of them.", HookEventPage),),
        scope="webhooks:manage",
        parameters=("HookSource", "HookState", "Limit", "HookCursor"),
        errors=("validation_error",),
    ),
    Operation(
        "matchHookEvent",
        "post",
        _ONE + "/match",
        "Let an event answer an interrupt that an operator names.",
        (Answer(200, "It has ended that wait.", EventMatched, headers=_REPLAYED),),
        scope="webhooks:manage",
        body=MatchEvent,
        errors=("not_found", "id_tenant_mismatch", "interrupt_already_resolved"),
        idempotent=True,
    ),
    Operation(
        "replayHookEvent",
        "post",
        _ONE + "/replay",
        "Map an event anew, from the bytes that were kept, and let it look for its waits again.",
        (Answer(200, "It is due again.", EventReplayed, headers=_REPLAYED),),
        scope="webhooks:manage",
        errors=("not_found", "validation_error", "interrupt_already_resolved"),
        idempotent=True,
    ),
)
