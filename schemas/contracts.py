"""Named contracts, and the requests for input that are made under one or stand for themselves.

A contract is a request schema and a response schema under a name and a version. A request for input is an
interrupt of kind `custom` whose `customKind` is `sayso.input`: its `payload` is an `InputRequest`, and its
`resumeSchema` says what an answer is. Limits and defaults follow kortyx' interrupts (kortyx: requests).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from schemas.ids import NodeId
from schemas.model import Exact
from schemas.payloads import JsonSchema, Text
from schemas.records import Timestamp

INPUT_KIND: Final = "sayso.input"
"""`customKind` of a request for input."""

PICKER: Final = "x-sayso-picker"
"""Annotates a schema of a string: its value is an option of the picker that this names."""

CONTROL_PREFIX: Final = "kortyx_request_input__"
LONGEST_CONTROL: Final = 64
"""A kortyx runtime offers a contract to its model as a tool of this prefix and at most this length."""

LONGEST_NAME: Final = LONGEST_CONTROL - len(CONTROL_PREFIX)
DEFAULT_TTL_MS: Final = 900_000
LONGEST_TTL_MS: Final = 10 * 366 * 86_400_000

InputKind = Literal["text", "choice", "multi-choice", "custom"]
ContractName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=LONGEST_NAME)
]
SchemaId = Annotated[str, Field(min_length=1, max_length=256)]
SchemaVersion = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._+-]{1,64}$")]
OptionId = Annotated[str, Field(min_length=1, max_length=512)]
Words = Annotated[str, Field(min_length=1, max_length=3000)]
Notify = Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=50)]
Ttl = Annotated[int, Field(ge=1, le=LONGEST_TTL_MS, strict=True)]


class Option(Exact):
    """One static choice. `value` is for the asking program alone: it is dropped and never shown."""

    id: OptionId
    label: Annotated[str, Field(min_length=1, max_length=300)]
    description: Annotated[str, Field(max_length=2000)] | None = None
    value: Any = None


class Contract(Exact):
    """What is registered. `schemaId` names the shape for those who draw it; a version never changes."""

    name: ContractName
    description: Words
    schema_id: SchemaId
    schema_version: SchemaVersion
    request_schema: JsonSchema
    response_schema: JsonSchema
    timeout_ms: Ttl | None = None


class ContractRecord(Contract):
    """A contract as it is listed. `source` tells the operator's from those that programs registered."""

    source: Literal["configuration", "api"]
    registered_at: Timestamp | None = None


class ContractList(Exact):
    """The contracts of a tenant, by name and version."""

    contracts: list[ContractRecord]


class ContractUse(Exact):
    """What a run may ask under: `configurable.extensions["sayso.contracts"]`.

    `required`: the run can't be completed without having asked; `optional`: it may. `maxRequests` counts
    the contract requests of the whole run.
    """

    mode: Literal["required", "optional"] = "required"
    contracts: Annotated[list[ContractName], Field(min_length=1, max_length=100)]
    max_requests: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 1


class ParentRun(Exact):
    """What a child run was called from: `configurable.extensions["sayso.parent"]`."""

    run_id: Annotated[str, Field(max_length=300)]
    call_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None


class AskForInput(Exact):
    """Body of `POST /host/sayso/runs/{runId}/inputs`.

    Either `contract` with a `request` (and a `schemaVersion`, else the newest), or a question of one of the
    other kinds. `options` are static choices; without them `schemaId` names the picker that has them.
    `session` puts the question on the stream of that kortyx session.
    """

    model_config = ConfigDict(protected_namespaces=())

    node_id: NodeId
    key: Annotated[str, Field(min_length=1, max_length=256)]
    contract: ContractName | None = None
    request: Any = None
    kind: InputKind | None = None
    multiple: Annotated[bool, Field(strict=True)] | None = None
    question: Words | None = None
    options: Annotated[list[Option], Field(max_length=1000)] | None = None
    schema_id: SchemaId | None = None
    schema_version: SchemaVersion | None = None
    meta: dict[str, Any] | None = None
    timeout_ms: Ttl | None = None
    notify: Notify | None = None
    self_approval: bool | None = None
    session: Annotated[str, Field(min_length=1, max_length=256)] | None = None

    @model_validator(mode="after")
    def _one_way_to_ask(self) -> AskForInput:
        if self.contract is not None:
            if self.kind not in (None, "custom") or self.options is not None or self.multiple:
                raise ValueError("a contract asks for itself: leave kind, options and multiple out")
            if "request" not in self.model_fields_set:
                raise ValueError("a contract needs its request")
        elif self.kind == "custom" or "request" in self.model_fields_set:
            raise ValueError("a request needs the contract that it is made under")
        return self


class OfferedOption(Exact):
    """A choice as it is shown."""

    id: Text
    label: Text
    description: str | None = None


class InputRequest(Exact):
    """`payload` of a request for input, as it is kept and shown. Never an option's value."""

    model_config = ConfigDict(protected_namespaces=())

    kind: InputKind
    multiple: bool
    question: str
    options: list[OfferedOption]
    contract: ContractName | None = None
    request: Any = None
    schema_id: SchemaId | None = None
    schema_version: SchemaVersion | None = None
    meta: dict[str, Any] | None = None
