"""The payloads of `interrupt.resolved`, its aliases and `node.suspended`, in both widths.

At 2.1 `interrupt.resolved` has four members and the decision stands inside `resumeValue`. Later versions
add who decided what, and require it of approvals (OpenWOP: event payloads). `interrupt.requested` and its
aliases carry the interrupt payload itself: `schemas.payloads`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, model_validator

from schemas.ids import BoundId, NodeId
from schemas.model import Exact
from schemas.payloads import Kind
from schemas.resume import RefineFeedback
from schemas.subjects import Subject

Reason = Annotated[str, Field(min_length=1, max_length=64)]
S = TypeVar("S", "NodeSuspended", "NodeSuspendedWide")


class InterruptResolved(Exact):
    """`interrupt.resolved` at 2.1."""

    node_id: NodeId
    interrupt_id: BoundId
    kind: Kind | None = None
    resume_value: Any = None


class InterruptResolvedWide(Exact):
    """`interrupt.resolved` at 2.45. `reason` says why it happened without a person."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"kind": {"const": "approval"}}, "required": ["kind"]},
                    "then": {"required": ["action"]},
                },
                {
                    "if": {"properties": {"action": {"const": "refine"}}, "required": ["action"]},
                    "then": {"required": ["refineFeedback"]},
                },
                {
                    "if": {
                        "properties": {"action": {"const": "edit-accept"}},
                        "required": ["action"],
                    },
                    "then": {"required": ["editedArtifactData"]},
                },
            ]
        }
    )

    node_id: NodeId
    interrupt_id: BoundId
    kind: Kind | None = None
    resume_value: Any = None
    resolved_by: Subject | None = None
    decision: Literal["granted", "rejected", "overridden"] | None = None
    action: Literal["accept", "reject", "refine", "edit-accept", "timeout"] | None = None
    refine_feedback: RefineFeedback | None = None
    edited_artifact_data: Any = None
    reason: Reason | None = None

    @model_validator(mode="after")
    def _members_of_the_action(self) -> InterruptResolvedWide:
        if self.kind == "approval" and self.action is None:
            raise ValueError("a resolved approval carries its action")
        if self.action == "refine" and self.refine_feedback is None:
            raise ValueError("action 'refine' carries refineFeedback")
        if self.action == "edit-accept" and "edited_artifact_data" not in self.model_fields_set:
            raise ValueError("action 'edit-accept' carries editedArtifactData")
        return self


class NodeSuspended(Exact):
    """`node.suspended` at 2.1.

    The closed schema of that version has no `reason`, and its text requires one when confidence was too
    low: exactly that value is admitted (OpenWOP: low confidence).
    """

    node_id: NodeId
    interrupt_id: BoundId
    kind: Kind | None = None
    key: Annotated[str, Field(min_length=1)] | None = None
    reason: Literal["low-confidence"] | None = None

    @model_validator(mode="after")
    def _says_that_confidence_was_low(self) -> NodeSuspended:
        return _checked(self)


class NodeSuspendedWide(Exact):
    """`node.suspended` at 2.45: any reason."""

    node_id: NodeId
    interrupt_id: BoundId
    kind: Kind | None = None
    key: Annotated[str, Field(min_length=1)] | None = None
    reason: Reason | None = None

    @model_validator(mode="after")
    def _says_that_confidence_was_low(self) -> NodeSuspendedWide:
        return _checked(self)


def _checked(suspended: S) -> S:
    if suspended.kind == "low-confidence" and suspended.reason != "low-confidence":
        raise ValueError("a suspension for low confidence has the reason 'low-confidence'")
    return suspended
