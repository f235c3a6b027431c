"""What the OpenAPI document says of one operation, and the errors that follow from its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer. `model` None has no body; `media` is its content type."""

    status: int
    description: str
    model: type[BaseModel] | str | None = None
    media: str = "application/json"
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `scope` is what its API key must have; "" asks for no key.

    `errors` are the codes beside those that follow from its shape: see `codes`. `parameters` names
    components; those of the path are found in the path.
    """

    id: str
    method: Literal["get", "post", "delete"]
    path: str
    summary: str
    answers: tuple[Answer, ...]
    scope: str = ""
    body: type[BaseModel] | None = None
    parameters: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    idempotent: bool = False

    @property
    def own(self) -> bool:
        """Ours: outside of the protocol and of its version header."""
        return self.path.startswith("/host/sayso/")

    def codes(self) -> list[str]:
        """Every error code that this operation may answer with."""
        found = ["internal_error", "sayso.unavailable", *self.errors]
        if not self.own:
            found.append("protocol_version_unsupported")
        if self.scope:
            found += ["unauthenticated", "forbidden"]
        if any(name in self.path for name in ("{runId}", "{interruptId}", "{webhookId}")):
            found += ["validation_error", "id_tenant_mismatch", "not_found"]
        if self.body is not None:
            found += ["validation_error", "payload_too_large", "unsupported_media_type"]
        if self.idempotent:
            found += [
                "idempotency_key_invalid",
                "idempotency_key_mismatch",
                "idempotency_in_flight",
            ]
        return sorted(set(found))
