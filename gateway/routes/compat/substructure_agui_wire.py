"""AG-UI's shapes: what a run is asked with, and a session's events and interrupts as clients read them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from host.decisions.session import Pause, Session
from host.decisions.session_capture import whole
from host.decisions.session_delivery import text_of
from host.store.records import StoredEvent

Json = dict[str, Any]
_ROLES = ("user", "assistant", "system", "tool")


class _Model(BaseModel):
    """camelCase; members that came later (`protocolVersion`) are ignored."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, alias_generator=to_camel, populate_by_name=True
    )


class Resume(_Model):
    """An answer to one interrupt."""

    interrupt_id: str = Field(min_length=1, max_length=256)
    status: Literal["resolved", "cancelled"]
    payload: Any = None

    def resume_payload(self) -> Json:
        """As a worker reads it. The responder is this channel, whatever the payload says; `approved` stands
        beside too, for workers that read it there."""
        said = {"payload": self.payload} if self.payload is not None else {}
        yes = self.payload.get("approved") if isinstance(self.payload, dict) else None
        if self.status == "resolved" and isinstance(yes, bool):
            said["approved"] = yes
        return {"status": self.status, **said, "responder": {"channel": "ag-ui"}}


class RunAgentInput(_Model):
    """The body of a run. A thread is a session, a run a turn."""

    thread_id: str = Field(min_length=1, max_length=256)
    run_id: str = Field(min_length=1, max_length=256)
    messages: list[Json] = Field(default=[], max_length=10_000)
    tools: list[Json] = Field(default=[], max_length=1000)
    context: list[Any] = []
    state: Any = None
    forwarded_props: Any = None
    resume: list[Resume] = Field(default=[], max_length=1000)

    def client(self) -> Json | None:
        """What the client brings along, as a worker reads it: its tools, and its context."""
        tools = [
            {
                "name": t["name"],
                "handler": "client",
                **({"description": t["description"]} if t.get("description") else {}),
                **({"input": t["parameters"]} if t.get("parameters") else {}),
            }
            for t in self.tools
            if isinstance(t.get("name"), str)
        ]
        found = {
            "tools": tools,
            "context": self.context,
            "state": self.state,
            "forwarded_props": self.forwarded_props,
        }
        return {name: value for name, value in found.items() if value} or None


class Connect(_Model):
    thread_id: str = Field(min_length=1, max_length=256)
    run_id: str | None = Field(default=None, max_length=256)


def drafts(messages: list[Json]) -> list[Json]:
    """AG-UI's messages as the session's. Roles that it has none for are left out."""
    found = []
    for message in messages:
        if message.get("role") not in _ROLES:
            continue
        draft: Json = {"role": message["role"]}
        for theirs, ours in (
            ("id", "id"),
            ("content", "content"),
            ("name", "name"),
            ("toolCallId", "tool_call_id"),
            ("toolCalls", "tool_calls"),
        ):
            if message.get(theirs) is not None:
                draft[ours] = message[theirs]
        found.append(draft)
    return found


def snapshot(session: Session) -> list[Json]:
    """The conversation at the head, as AG-UI's messages."""
    return [_message(m) for m in session.messages]


def _message(message: Json) -> Json:
    found: Json = {"id": message["id"], "role": message["role"]}
    if message.get("content") is not None:
        found["content"] = text_of(message["content"])
    elif message["role"] != "assistant":
        found["content"] = ""
    if message.get("tool_calls"):
        found["toolCalls"] = message["tool_calls"]
    if message.get("tool_call_id"):
        found["toolCallId"] = message["tool_call_id"]
    return found


def interrupt_entry(pause: Pause) -> Json:
    """An open interrupt. Members that the payload doesn't have, or has wrongly, are left out, never null."""
    prompt = pause.payload if isinstance(pause.payload, dict) else {}
    entry: Json = {"id": pause.interrupt_id, "reason": pause.reason}
    kinds: tuple[tuple[str, type], ...] = (
        ("message", str),
        ("toolCallId", str),
        ("responseSchema", dict),
        ("expiresAt", str),
        ("metadata", dict),
    )
    return entry | {n: prompt[n] for n, kind in kinds if isinstance(prompt.get(n), kind)}


def rendered(event: StoredEvent) -> list[Json]:
    """The AG-UI events of one event of the log."""
    if event.type != "sayso.message-added" or not event.payload["head"]:
        return []
    message = whole(event.payload, event.record)["message"]
    name = message["id"]
    if message["role"] == "tool":
        content = text_of(message.get("content") or "")
        ids = {"messageId": name, "toolCallId": message.get("tool_call_id", "")}
        return [{"type": "TOOL_CALL_RESULT", **ids, "content": content, "role": "tool"}]
    if message["role"] != "assistant":
        return []
    found: list[Json] = []
    if message.get("content"):
        delta = text_of(message["content"])
        found = [
            {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": delta},
            {"type": "TEXT_MESSAGE_END", "messageId": name},
        ]
    for call in message.get("tool_calls") or ():
        ids = {"toolCallId": call["id"]}
        function = call["function"]
        start = {"toolCallName": function["name"], "parentMessageId": name}
        found.append({"type": "TOOL_CALL_START", **ids, **start})
        if function.get("arguments"):
            found.append({"type": "TOOL_CALL_ARGS", **ids, "delta": function["arguments"]})
        found.append({"type": "TOOL_CALL_END", **ids})
    return found
