"""What the façade checks before it looks anything up, and whom a new run belongs to."""

from __future__ import annotations

from typing import Any

from host import contracts
from host.decisions.state import Principal
from schemas.errors import Refusal
from schemas.ids import tenant_of
from schemas.payloads import InterruptPayload


def check_tenant(principal: Principal, bound_id: str) -> None:
    """Refuse an id of another tenant before any look-up, saying nothing about what exists."""
    if "/" not in bound_id:
        raise Refusal("validation_error", "Ids are tenant-bound: '<tenant>/<id>'.")
    if tenant_of(bound_id) != principal.tenant:
        raise Refusal("id_tenant_mismatch", "This id belongs to another tenant.")


def check_schemas(payload: InterruptPayload) -> None:
    """Refuse a bad JSON Schema now, not when somebody answers. Raises `Refusal`."""
    if payload.resume_schema is not None:
        contracts.check_schema(payload.resume_schema, where="payload.resumeSchema")
    if payload.kind == "clarification":
        for number, question in enumerate(payload.data.questions):
            if question.schema_ is not None:
                where = f"payload.data.questions.{number}.schema"
                contracts.check_schema(question.schema_, where=where)
    if payload.kind == "conversation.exchange" and payload.data.outcome_schema is not None:
        contracts.check_schema(payload.data.outcome_schema, where="payload.data.outcomeSchema")


def owner_of(principal: Principal) -> dict[str, Any]:
    """The owner of a run that a program starts with its API key."""
    subject = {
        "issuer": "urn:sayso:api-key",
        "subjectId": principal.id,
        "tenant": principal.tenant,
        "lane": "api-key",
        "kind": "workload",
    }
    return {"tenant": principal.tenant, "subject": subject}
