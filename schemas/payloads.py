"""InterruptPayload: the one shape of every kind of pause, closed and bound to its `kind`.

Fields and limits: interrupt specification, section 'Payload'. `interrupt.requested`
carries this object verbatim, so nothing is ever added to it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from schemas.errors import Refusal
from schemas.ids import AgentId
from schemas.model import Exact

Text = Annotated[str, Field(min_length=1)]
ConversationId = Annotated[str, Field(min_length=1, max_length=256)]
ApprovalAction = Literal["accept", "reject", "refine", "edit-accept", "ask"]
Kind = Literal[
    "approval",
    "clarification",
    "external-event",
    "custom",
    "conversation.start",
    "conversation.exchange",
    "conversation.close",
    "low-confidence",
]
JsonSchema = dict[str, Any]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Audience(Exact):
    """Who is told. Never who may act."""

    subjects: list[str] | None = None
    groups: list[str] | None = None
    roles: list[str] | None = None


class ApprovalData(Exact):
    """A decision on one artifact, by one or several people."""

    artifact_id: Text
    artifact_type: Text
    title: Text
    actions: Annotated[list[ApprovalAction], Field(min_length=1)]
    description: str | None = None
    artifact_data: Any = None
    required_approvals: Annotated[int, Field(ge=1, strict=True)] | None = None
    approvers_list: list[str] | None = None
    approver_group_refs: list[str] | None = None
    approver_role_refs: list[str] | None = None
    rejection_policy: Literal["single-veto", "majority"] | None = None
    override_bypasses_quorum: Annotated[bool, Field(strict=True)] | None = None
    audience: Audience | None = None
    on_timeout: Literal["reject", "approve", "escalate"] | None = None

    @model_validator(mode="after")
    def _actions_unique(self) -> ApprovalData:
        if len(set(self.actions)) != len(self.actions):
            raise ValueError("actions must not name an action twice")
        return self


class Question(Exact):
    """One question. `schema` is the JSON Schema of its answer; without it any JSON will do."""

    model_config = ConfigDict(protected_namespaces=())

    id: Text
    question: Text
    schema_: Annotated[JsonSchema | None, Field(alias="schema")] = None


class ClarificationData(Exact):
    """Facts that a run needs from a person."""

    questions: Annotated[list[Question], Field(min_length=1)]
    context_type: str | None = None

    @model_validator(mode="after")
    def _ids_unique(self) -> ClarificationData:
        ids = [q.id for q in self.questions]
        if len(set(ids)) != len(ids):
            raise ValueError("question ids must be unique")
        return self


class ExternalEventData(Exact):
    """A wait for something that happens elsewhere: a payment, a build, a signature."""

    event_type: str
    correlation: dict[str, Any]


class CustomData(Exact):
    """Anything else. Always accepted and stored; drawn as readable data."""

    custom_kind: Text
    payload: Any = None


class ConversationStartData(Exact):
    """Opens a conversation. Asks nobody: it is recorded and resolved by the host."""

    conversation_id: ConversationId
    title: str | None = None
    initial_prompt: str | None = None


class ConversationExchangeData(Exact):
    """One turn: the prompt is posted, a person's reply resolves it."""

    conversation_id: ConversationId
    prompt: Text
    outcome_schema: JsonSchema | None = None
    turn_index: Annotated[int, Field(ge=0, strict=True)] | None = None


class ConversationCloseData(Exact):
    """Ends a conversation. Resolved by the host, like its start."""

    conversation_id: ConversationId
    reason: str | None = None


class LowConfidenceData(Exact):
    """An agent decided with less confidence than the run asks for: a person ratifies."""

    agent_id: AgentId
    threshold: Share
    observed: Share
    decision: Any = None


class _Payload(Exact):
    key: Annotated[str, Field(min_length=1, max_length=256)]
    resume_schema: JsonSchema | None = None
    timeout_ms: Annotated[int, Field(ge=0, le=10 * 366 * 86_400_000, strict=True)] | None = None


class Approval(_Payload):
    kind: Literal["approval"]
    data: ApprovalData


class Clarification(_Payload):
    kind: Literal["clarification"]
    data: ClarificationData


class ExternalEvent(_Payload):
    kind: Literal["external-event"]
    data: ExternalEventData


class Custom(_Payload):
    kind: Literal["custom"]
    data: CustomData


class ConversationStart(_Payload):
    kind: Literal["conversation.start"]
    data: ConversationStartData


class ConversationExchange(_Payload):
    kind: Literal["conversation.exchange"]
    data: ConversationExchangeData


class ConversationClose(_Payload):
    kind: Literal["conversation.close"]
    data: ConversationCloseData


class LowConfidence(_Payload):
    kind: Literal["low-confidence"]
    data: LowConfidenceData


InterruptPayload = Annotated[
    Approval
    | Clarification
    | ExternalEvent
    | Custom
    | ConversationStart
    | ConversationExchange
    | ConversationClose
    | LowConfidence,
    Field(discriminator="kind"),
]

PAYLOAD: Final[TypeAdapter[InterruptPayload]] = TypeAdapter(InterruptPayload)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
CONVERSATION_KINDS: Final = frozenset(k for k in KINDS if k.startswith("conversation."))


def problems(error: ValidationError, prefix: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """A pydantic error as our own `[{path, message}]`: never the refused value itself."""
    tags = set(KINDS)
    return [
        {
            "path": [*prefix, *(p for p in e["loc"] if p not in tags)],
            "message": e["msg"].removeprefix("Value error, "),
        }
        for e in error.errors(include_url=False, include_input=False, include_context=False)[:20]
    ]


def check_payload(raw: Any) -> InterruptPayload:
    """The typed payload of a raw JSON value.

    Raises `Refusal` (`validation_error`) with `details.errors`, one `{path, message}` a mistake.
    """
    try:
        return PAYLOAD.validate_python(raw)
    except ValidationError as error:
        found = problems(error, ("payload",))
        first = found[0]
        where = ".".join(str(p) for p in first["path"])
        raise Refusal(
            "validation_error",
            f"The interrupt payload is wrong at {where}: {first['message']}.",
            errors=found,
        ) from None
