"""Kortyx' chat request, and a turn as the chunks of its answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from gateway.routes.compat.kortyx_errors import KortyxRefused
from gateway.routes.compat.kortyx_prompts import chunk_of
from gateway.routes.compat.kortyx_resume import Resume, parse_resume
from gateway.routes.compat.kortyx_turns import Turn

MOST_MESSAGES: Final = 1000
_LONGEST_ID: Final = 256
_MEMBERS: Final = frozenset({"role", "content", "metadata", "id", "timestamp"})
_ROLES: Final = ("user", "assistant", "system")
DONE: Final = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Chat:
    """A checked chat request. `content` and `resume` are those of its last message."""

    session_id: str = ""
    workflow_id: str = ""
    stream: bool = True
    context: dict[str, Any] = field(default_factory=dict)
    content: str = ""
    resume: Resume | None = None


def parse_chat(raw: Any) -> Chat:
    """Check a chat request. Unknown members beside `messages` are ignored, inside a message refused.

    Raises `KortyxRefused` with the first mistake.
    """
    if not isinstance(raw, dict):
        raise KortyxRefused("The body is not an object.")
    messages = raw.get("messages")
    if not isinstance(messages, list) or len(messages) > MOST_MESSAGES:
        raise KortyxRefused(f"messages is not a list of at most {MOST_MESSAGES} messages.")
    for number, message in enumerate(messages):
        _check_message(message, f"messages.{number}")
    context = raw.get("context")
    if context is not None and not isinstance(context, dict):
        raise KortyxRefused("context is not an object.")
    last = messages[-1] if messages else {}
    return Chat(
        session_id=_name(raw, "sessionId"),
        workflow_id=_name(raw, "workflowId"),
        stream=raw.get("stream") is not False,
        context=context or {},
        content=last.get("content", ""),
        resume=parse_resume(last.get("metadata")),
    )


def _check_message(message: Any, where: str) -> None:
    if not isinstance(message, dict):
        raise KortyxRefused(f"{where} is not an object.")
    unknown = sorted(message.keys() - _MEMBERS)
    if unknown:
        raise KortyxRefused(f"{where} has a member that is not known: {unknown[0][:80]}.")
    if message.get("role") not in _ROLES:
        raise KortyxRefused(f"{where}.role is not one of {', '.join(_ROLES)}.")
    if not isinstance(message.get("content"), str):
        raise KortyxRefused(f"{where}.content is not text.")


def _name(raw: dict[str, Any], member: str) -> str:
    value = raw.get(member)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST_ID:
        raise KortyxRefused(f"{member} is not a text of at most {_LONGEST_ID} characters.")
    return value


def chunks_of(turn: Turn, token: str) -> list[dict[str, Any]]:
    """A turn's chunks in their order: session, what was said or asked, checkpoint, done. One `done`.

    A cancel has `done` alone: nothing ran.
    """
    run, ended = turn.run, {"type": "done", "data": {"runId": turn.run.run_id}}
    if turn.cancelled:
        return [ended]
    found = [session_chunk(turn.session.session_id)]
    if turn.pending is not None:
        asked = turn.pending
        found.append(chunk_of(asked.interrupt, run.workflow_id, token, asked.path))
    elif run.status == "failed":
        error = run.error or {}
        said = {"message": error.get("message", "The run failed."), "failure": error}
        found.append({"type": "error", **said})
    elif run.status == "cancelled":
        found.append({"type": "cancelled", "runId": run.run_id, "reason": "cancelled"})
    elif run.status == "completed":
        text = text_of(turn)
        found += [{"type": "message", "content": text, "node": "outputs"}] if text else []
    else:
        found.append({"type": "status", "message": "still running"})
    at = turn.checkpoint
    found.append(
        {
            "type": "checkpoint",
            "id": at.id,
            "sessionId": turn.session.session_id,
            "turnIndex": at.turn,
        }
    )
    return [*found, ended]


def session_chunk(session_id: str) -> dict[str, Any]:
    """The first chunk of a turn."""
    return {"type": "session", "sessionId": session_id}


def text_of(turn: Turn) -> str:
    """What a completed run has to say: `message` or `text` of its outputs."""
    outputs = turn.run.outputs or {}
    for name in ("message", "text"):
        if isinstance(outputs.get(name), str):
            return str(outputs[name])
    return ""


def frame(chunk: dict[str, Any]) -> bytes:
    """A chunk as its SSE frame: no event name, no id."""
    return b"data: %b\n\n" % orjson.dumps(chunk)
