"""Resume values that have a shape: the approval actions, and the closed resolve body.

A resume value stays open (callers add members of their own); what is named here is checked. Required
members per action: interrupt specification, section 'Approval'.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from schemas.model import Exact


class RefineFeedback(Exact):
    """What should change, and where."""

    scope: Literal["whole", "section", "items"]
    section_path: Annotated[str | None, Field(validate_default=True)] = None
    item_ids: Annotated[list[str] | None, Field(validate_default=True)] = None
    tags: list[str] | None = None
    text: str | None = None

    @field_validator("section_path")
    @classmethod
    def _section_named(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("scope") == "section" and not value:
            raise ValueError("scope 'section' needs sectionPath: name the section")
        return value

    @field_validator("item_ids")
    @classmethod
    def _items_named(cls, value: list[str] | None, info: ValidationInfo) -> list[str] | None:
        if info.data.get("scope") == "items" and not value:
            raise ValueError("scope 'items' needs itemIds: name the items")
        return value


class ApprovalResume(BaseModel):
    """The named members of an approval's resume value; others are kept as they are."""

    model_config = ConfigDict(
        extra="allow", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    action: Literal["accept", "reject", "refine", "edit-accept", "ask"]
    feedback: Annotated[str, Field(max_length=20_000)] | None = None
    refine_feedback: RefineFeedback | None = None
    edited_artifact_data: Any = None
    decided_by: str | None = None
    decided_at: str | None = None

    @model_validator(mode="after")
    def _members_of_the_action(self) -> ApprovalResume:
        if self.action == "refine" and self.refine_feedback is None:
            raise ValueError("action 'refine' needs refineFeedback")
        if self.action == "edit-accept" and "edited_artifact_data" not in self.model_fields_set:
            raise ValueError("action 'edit-accept' needs editedArtifactData")
        return self


class ResolveBody(Exact):
    """The body of both resolve operations: `{ "resumeValue": any }`, and nothing else."""

    resume_value: Any
