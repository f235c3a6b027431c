"""Pauses as symfonic's events, refusals as its errors, and what its servers answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from host.decisions import asking_user
from host.pauses import Pause
from schemas.errors import Refusal
from schemas.symfonic import (
    ASK_USER,
    AskUserAnsweredEvent,
    AskUserExpiredEvent,
    AskUserQuestionEvent,
    AskUserRequest,
    InterruptEvent,
    InterruptExpiredEvent,
    InterruptResolvedEvent,
)

Event = (
    InterruptEvent
    | InterruptResolvedEvent
    | InterruptExpiredEvent
    | AskUserQuestionEvent
    | AskUserAnsweredEvent
    | AskUserExpiredEvent
)
_GONE: Final = frozenset({"interrupt_expired", "interrupt_already_resolved", "run_terminal"})
_STATUS: Final = {
    "unauthenticated": 401,
    "forbidden": 403,
    "id_tenant_mismatch": 403,
    "not_found": 404,
    "sayso.pause_lost": 424,
}


def event_of(pause: Pause, token: str) -> Event:
    """The event that says how a pause stands. `token` is for an open one."""
    interrupt = pause.interrupt
    if interrupt.status == "open":
        return _asked(pause, token)
    at = interrupt.outcome.at if interrupt.outcome else pause.expires_at
    if interrupt.status == "resolved":
        return _answered(pause, max(0.0, (at - pause.minted_at) / 1000))
    expired, swept = _time(pause.expires_at), _time(max(at, pause.expires_at))
    if (
        interrupt.status == "cancelled"
    ):  # its run ended: theirs has no word for it, and nobody can answer
        expired = swept = _time(at)
    if pause.name == ASK_USER:
        return AskUserExpiredEvent(
            run_id=interrupt.run_id,
            scope_hash=pause.scope.hash,
            expired_at=expired,
            swept_at=swept,
        )
    return InterruptExpiredEvent(
        name=pause.name,
        interrupt_id=pause.interrupt_id,
        scope_hash=pause.scope.hash,
        expired_at=expired,
        swept_at=swept,
    )


def _asked(pause: Pause, token: str) -> Event:
    run_id, expires = pause.interrupt.run_id, _time(pause.expires_at)
    if pause.name == ASK_USER:
        return AskUserQuestionEvent(
            run_id=run_id,
            session_id=pause.session_id,
            pause_token=token,
            request=AskUserRequest.model_validate(pause.payload),
            tool_call_id=pause.tool_call_id,
            expires_at=expires,
        )
    return InterruptEvent(
        name=pause.name,
        pause_token=token,
        payload=pause.payload,
        expires_at=expires,
        interrupt_id=pause.interrupt_id,
        run_id=run_id,
        session_id=pause.session_id,
    )


def _answered(pause: Pause, seconds: float) -> Event:
    outcome = pause.interrupt.outcome
    value = outcome.value if outcome else {}
    if pause.name == ASK_USER:
        request = AskUserRequest.model_validate(pause.payload)
        answers = asking_user.response_of(value, request).answers
        return AskUserAnsweredEvent(
            run_id=pause.interrupt.run_id,
            session_id=pause.session_id,
            tool_call_id=pause.tool_call_id,
            selected_labels=[label for answer in answers for label in answer.selections],
            has_other=any(answer.other for answer in answers),
            time_to_answer_seconds=seconds,
        )
    return InterruptResolvedEvent(
        name=pause.name,
        interrupt_id=pause.interrupt_id,
        response=value if isinstance(value, dict) else {"value": value},
        run_id=pause.interrupt.run_id,
        session_id=pause.session_id,
        time_to_resolve_seconds=seconds,
    )


def frame(event: Event) -> bytes:
    """One event of a stream: the name is the class's, as theirs."""
    return b"event: %s\ndata: %s\n\n" % (
        type(event).__name__.encode(),
        orjson.dumps(event.wire()),
    )


def status_of(refusal: Refusal) -> int:
    """Their code map: bad_request 400, gone 410, failed_dependency 424, and so on."""
    if refusal.code in _GONE:
        return 410
    return _STATUS.get(refusal.code, 400 if refusal.status < 500 else refusal.status)


def error_body(refusal: Refusal) -> dict[str, Any]:
    return {"detail": refusal.message, "status": status_of(refusal)}


def error_frame(refusal: Refusal) -> bytes:
    return b"event: error\ndata: %s\n\n" % orjson.dumps(error_body(refusal))


@dataclass(frozen=True, slots=True)
class Told:
    """What a symfonic server said. `status` is the one that counts, whatever HTTP's was."""

    status: int
    events: tuple[tuple[str, Any], ...]
    detail: str = ""


def read_stream(http_status: int, body: bytes) -> Told:
    """Read the answer of a symfonic server: one that refuses says so in an `error` event under HTTP 200."""
    events: list[tuple[str, Any]] = []
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        name, data = "message", []
        for line in block.split(b"\n"):
            member, _, text = line.partition(b":")
            if member == b"event":
                name = text.strip().decode("utf-8", "replace")
            elif member == b"data":
                data.append(text.removeprefix(b" "))
        if not data:
            continue
        try:
            value = orjson.loads(b"\n".join(data))
        except orjson.JSONDecodeError:
            continue
        if name == "error":
            said = value if isinstance(value, dict) else {}
            status = said.get("status")
            return Told(
                status if isinstance(status, int) else max(http_status, 500),
                tuple(events),
                str(said.get("detail", "")),
            )
        events.append((name, value))
    return Told(http_status, tuple(events))


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
