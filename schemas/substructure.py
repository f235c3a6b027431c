"""What goes over the wire of substructure: client inputs, machine calls, workers' answers.

Shapes of its protocol and API reference (inputs, actions, decision response). An object may have members
that are not named here: they are ignored where nothing depends on them, as there. What a message or a
result holds is any JSON, bounded by the size of a request.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

Id = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class Open(BaseModel):
    """An object of theirs: snake_case, tolerant of members that came later."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Kept(BaseModel):
    """An object whose further members are its own, and kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)


class DraftMessage(Kept):
    """A message. Without an id the host makes one."""

    id: Id | None = None
    role: Literal["system", "user", "assistant", "tool"]
    content: Any = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: Id | None = None


Messages = Annotated[list[DraftMessage], Field(max_length=10_000)]


class ClientContext(Kept):
    """What a client brings along: tools that it runs, and context for the worker."""

    tools: list[dict[str, Any]] | None = None


class Identity(Open):
    id: Id
    metadata: dict[str, str] | None = None


# --- client inputs ------------------------------------------------------------------------------------


class MessagePayload(Open):
    type: Literal["client.message"]
    message: DraftMessage
    queue: bool = False


class ViewPayload(Open):
    type: Literal["client.messages"]
    messages: Messages
    client: ClientContext | None = None


class AppendPayload(Open):
    type: Literal["client.append"]
    messages: Annotated[list[DraftMessage], Field(min_length=1, max_length=10_000)]
    client: ClientContext | None = None
    queue: bool = False


class ActionPayload(Open):
    type: Literal["client.action"]
    name: Id
    args: Any = None


class MessageInput(MessagePayload):
    agent_id: Id
    turn_id: Id | None = None


class ViewInput(ViewPayload):
    agent_id: Id
    turn_id: Id | None = None


class AppendInput(AppendPayload):
    agent_id: Id
    turn_id: Id | None = None


class ActionInput(ActionPayload):
    agent_id: Id
    turn_id: Id | None = None


class ResumeInput(Open):
    type: Literal["interrupt.resume"]
    interrupt_id: Id
    payload: Any = None


class ToolResult(Open):
    type: Literal["tool.result"]
    id: Id
    attempt: Annotated[int, Field(ge=1)] | None = None
    result: Any = None


class ToolError(Open):
    type: Literal["tool.error"]
    id: Id
    attempt: Annotated[int, Field(ge=1)] | None = None
    error: Text
    retryable: bool = False
    code: str | None = None
    detail: Any = None


class ModelResult(Open):
    type: Literal["llm.result"]
    id: Id
    attempt: Annotated[int, Field(ge=1)] | None = None
    response: dict[str, Any]


class ModelError(ToolError):
    type: Literal["llm.error"]  # type: ignore[assignment]


ClientInput = Annotated[
    MessageInput | ViewInput | AppendInput | ActionInput | ResumeInput | ToolResult | ToolError,
    Field(discriminator="type"),
]
ClientPayload = Annotated[
    MessagePayload | ViewPayload | AppendPayload | ActionPayload, Field(discriminator="type")
]
Settle = Annotated[ToolResult | ToolError | ModelResult | ModelError, Field(discriminator="type")]


class InputBody(Open):
    """Body of `POST /api/client/sessions/input`. `thread` is ours: where a new session has one."""

    session_id: Id | None = None
    input: ClientInput
    thread: Annotated[str, StringConstraints(max_length=512)] | None = None


class RaiseBody(Open):
    """Body of `POST /api/client/sessions/{id}/interrupt`."""

    interrupt_id: Id | None = None
    reason: Annotated[str, Field(max_length=2000)] = "interrupt"
    payload: Any = None


class SubmitBody(Open):
    """Body of `POST /api/machine/sessions/submit`. `thread` as in `InputBody`."""

    agent_id: Id
    identity: Identity
    session_id: Id | None = None
    turn_id: Id | None = None
    payload: ClientPayload
    queue: bool = False
    thread: Annotated[str, StringConstraints(max_length=512)] | None = None


class TokenBody(Open):
    """Body of `POST /api/machine/client-tokens`."""

    identity: Identity
    ttl_seconds: Annotated[int, Field(ge=1, le=86_400)] = 600


SETTLE: Final[TypeAdapter[Settle]] = TypeAdapter(Settle)


# --- workers' answers ---------------------------------------------------------------------------------


class CallModel(Kept):
    type: Literal["llm.call"]
    id: Id | None = None
    messages: Messages | None = None


class CallTool(Kept):
    type: Literal["tool.call"]
    id: Id | None = None
    name: Id
    arguments: Any = None


class EndTool(Kept):
    type: Literal["tool.result"]
    id: Id | None = None
    attempt: int | None = None
    result: Any = None


class FailTool(Kept):
    type: Literal["tool.error"]
    id: Id | None = None
    attempt: int | None = None
    error: Text
    retryable: bool = False


class EndModel(Kept):
    type: Literal["llm.result"]
    id: Id | None = None
    attempt: int | None = None
    response: dict[str, Any]


class FailModel(FailTool):
    type: Literal["llm.error"]  # type: ignore[assignment]


class SpawnAgent(Kept):
    type: Literal["sub_agent.spawn"]
    session_id: Id
    agent_id: Id
    tool_call_id: Id
    message: DraftMessage | None = None


class SendMessage(Kept):
    type: Literal["message.send"]
    session_id: Id
    message: DraftMessage


class Interrupt(Kept):
    """`reason` is required: an interrupt without one makes the answer malformed."""

    type: Literal["interrupt"]
    interrupt_id: Id | None = None
    reason: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    payload: Any = None


class ResolveInterrupt(Kept):
    type: Literal["interrupt.resolve"]
    interrupt_id: Id
    payload: Any = None


class SyncConnector(Kept):
    type: Literal["connector.sync"]
    id: Id


class Done(Kept):
    type: Literal["done"]
    data: Any = None


Action = Annotated[
    CallModel
    | CallTool
    | EndTool
    | FailTool
    | EndModel
    | FailModel
    | SpawnAgent
    | SendMessage
    | Interrupt
    | ResolveInterrupt
    | SyncConnector
    | Done,
    Field(discriminator="type"),
]


class DecisionResponse(Open):
    """What a worker answers. `state` and `agent` left out or null keep what there is."""

    messages: Messages | None = None
    actions: Annotated[list[Action], Field(max_length=1000)] | None = None
    state: Any = None
    agent: dict[str, Any] | None = None

    def plain(self) -> dict[str, Any]:
        """The answer as the rules take it, members that are null left out."""
        found: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return {"messages": [], "actions": [], **found}


class WorkerSubmit(DecisionResponse):
    """Body of `POST /api/machine/workers/submit`."""

    session_id: Id
    decision_id: Id
