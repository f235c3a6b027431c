"""The discovery document: closed, every family a record, absent means not served (digest 11)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from schemas.ids import WorkflowId
from schemas.model import Exact
from schemas.payloads import Text
from schemas.subjects import Lane

Minor = Annotated[str, StringConstraints(pattern=r"^\d+\.\d+$")]
Status = Literal["stable", "experimental", "deprecated"]
Witness = Literal["witnessable-gated", "claims-check", "seam-gated"]
ExtensionName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*$"),
]


class Implementation(Exact):
    """Informative."""

    name: Text
    version: Text
    vendor: Text


class Family(Exact):
    """A family without facets: its presence is the claim. `until` unless it is stable."""

    status: Status
    since: Minor
    until: Text | None = None
    witness: Witness

    @model_validator(mode="after")
    def _until_unless_stable(self) -> Family:
        if (self.status == "stable") != (self.until is None):
            raise ValueError("until is required unless the status is 'stable', and then forbidden")
        return self


class InterruptFamily(Family):
    """Which token algorithms verify, and which approver references are enforced."""

    token_algs: Annotated[list[Literal["hs256"]], Field(min_length=1)]
    ref_kinds: list[Literal["principal", "group", "role"]] | None = None


class RetryPolicy(Exact):
    """How often a delivery is tried."""

    max_attempts: Annotated[int, Field(ge=1)]
    backoff: Literal["none", "fixed", "exponential"]


class DeadLetterFacet(Exact):
    """How long a delivery that was given up can be read."""

    retention_days: Annotated[int, Field(ge=1)]
    max_page_size: Annotated[int, Field(ge=1, le=1000)]


class SecretRotation(Exact):
    """How long the secret before signs on."""

    overlap_seconds: Annotated[int, Field(ge=60, le=604_800)]


class WebhooksFamily(Family):
    """How deliveries are signed, tried again and given up."""

    signature_algorithms: Annotated[list[Literal["v1", "standard-webhooks-1"]], Field(min_length=1)]
    retry_policy: RetryPolicy | None = None
    dead_letter: DeadLetterFacet | None = None
    secret_rotation: SecretRotation | None = None


class AuthLane(Exact):
    """One way to authenticate."""

    lane: Lane
    issuers: Annotated[list[Text], Field(min_length=1)]
    revocation: Text
    minimum_assurance: Literal["bearer", "sender-constrained", "key-bound"]


class AuthFamily(Family):
    """The lanes."""

    lanes: Annotated[list[AuthLane], Field(min_length=1)]


class ReplayFamily(Family):
    """Which forks of a run are made."""

    modes: Annotated[list[Literal["replay", "branch"]], Field(min_length=1)]


class Discovery(Exact):
    """`/.well-known/openwop`."""

    protocol_version: Minor
    protocol_versions: Annotated[list[Minor], Field(min_length=1)]
    preferred_version: Minor
    implementation: Implementation
    engine_version: Annotated[int, Field(ge=0)]
    event_log_schema_version: Literal[3]
    interrupt: InterruptFamily
    conversation_primitive: Family
    webhooks: WebhooksFamily
    replay: ReplayFamily
    fixtures: list[WorkflowId] | None = None
    auth: AuthFamily
    extensions: dict[ExtensionName, dict[str, Any]]

    @model_validator(mode="after")
    def _prefers_a_listed_version(self) -> Discovery:
        if self.preferred_version not in self.protocol_versions:
            raise ValueError("preferredVersion is not one of protocolVersions")
        return self
