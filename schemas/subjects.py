"""Who acts: the protocol's Subject, and the owner of a run (OpenWOP: identity)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from schemas.model import Exact

Lane = Literal[
    "api-key",
    "session",
    "oauth2",
    "oidc",
    "mtls",
    "saml",
    "scim",
    "ldap",
    "workload",
    "anonymous",
]
Tenant = Annotated[str, StringConstraints(pattern=r"^(anon:)?[A-Za-z0-9._~-]{1,128}$")]
Workspace = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._~-]{1,128}$")]
_MOST_ACTORS = 4


class Subject(Exact):
    """Somebody who was resolved through one lane of authentication. `actor` acted on their behalf.

    `subjectId` is never personal data. Lane and kind are `anonymous` together or not at all.
    """

    issuer: Annotated[str, StringConstraints(pattern=r"^\S{1,1024}$")]
    subject_id: Annotated[str, StringConstraints(pattern=r"^[^\s/]{1,256}$")]
    tenant: Tenant
    lane: Lane
    kind: Literal["user", "agent", "anonymous", "workload"]
    key_class: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    actor: Subject | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Subject:
        if (self.lane == "anonymous") != (self.kind == "anonymous"):
            raise ValueError("lane and kind are 'anonymous' together or not at all")
        if self.key_class is not None and self.lane not in ("saml", "scim"):
            raise ValueError("keyClass belongs to the lanes saml and scim")
        depth, actor = 1, self.actor
        while actor is not None:
            depth, actor = depth + 1, actor.actor
        if depth > _MOST_ACTORS:
            raise ValueError(f"actors are nested at most {_MOST_ACTORS} deep")
        return self


class Owner(Exact):
    """Who a run belongs to: `run.started` and the snapshot carry the same one."""

    tenant: Tenant
    workspace: Workspace | None = None
    subject: Subject
