"""Writes the wire models as JSON Schema documents: `python -m schemas.export`.

The documents are committed, packaged and checked: a test says that they are current. `$id`s are URNs,
so nothing has to be fetched to use them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from schemas.contracts import AskForInput, Contract, ContractList, InputRequest
from schemas.discovery import Discovery
from schemas.errors import ErrorEnvelope
from schemas.events import RunEventDoc, registry
from schemas.payloads import InterruptPayload
from schemas.records import InterruptDetail, InterruptPage, InterruptRecord, MintedToken
from schemas.resume import ResolveBody
from schemas.runs import CreateRun
from schemas.snapshots import CreatedRun, EventPage, NodeResolved, RunSnapshot
from schemas.versions import VERSIONS, ProtocolVersion

FOLDER: Final = Path(__file__).parent / "json"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_MODELS: Final[dict[str, type[BaseModel]]] = {
    "ask-for-input": AskForInput,
    "contract": Contract,
    "contract-list": ContractList,
    "create-run": CreateRun,
    "created-run": CreatedRun,
    "discovery": Discovery,
    "error-envelope": ErrorEnvelope,
    "event-page": EventPage,
    "input-request": InputRequest,
    "interrupt-detail": InterruptDetail,
    "interrupt-page": InterruptPage,
    "interrupt-record": InterruptRecord,
    "minted-token": MintedToken,
    "node-resolved": NodeResolved,
    "resolve-body": ResolveBody,
    "run-event": RunEventDoc,
    "run-snapshot": RunSnapshot,
}


class WireSchema(GenerateJsonSchema):
    """JSON Schema as the wire means it: an optional member is left out, never null; no made-up titles."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        found = super().default_schema(schema)
        if found.get("default", ...) is None:
            del found["default"]
        return found

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def components(
    models: list[type[BaseModel]], template: str = "#/$defs/{model}"
) -> dict[str, JsonSchemaValue]:
    """The schemas of `models` and of all that they refer to, by name."""
    pairs: list[tuple[type[BaseModel], Any]] = [(model, "validation") for model in models]
    _, found = models_json_schema(pairs, ref_template=template, schema_generator=WireSchema)
    named: dict[str, JsonSchemaValue] = found["$defs"]
    return named


def documents() -> dict[str, JsonSchemaValue]:
    """Every document by file name."""
    found = {
        name: model.model_json_schema(schema_generator=WireSchema)
        for name, model in _MODELS.items()
    }
    found["interrupt-payload"] = TypeAdapter(InterruptPayload).json_schema(
        schema_generator=WireSchema
    )
    for version in VERSIONS:
        found[f"run-events-{version}"] = _events(version)
    return {
        f"{name}.schema.json": {"$schema": _DIALECT, "$id": f"urn:sayso:schema:{name}", **schema}
        for name, schema in found.items()
    }


def _events(version: ProtocolVersion) -> JsonSchemaValue:
    """The envelope, with the payload that belongs to each type."""
    adapters = registry(version)
    refs, defined = TypeAdapter.json_schemas(
        [(name, "validation", adapter) for name, adapter in adapters.items()],
        schema_generator=WireSchema,
    )
    envelope = RunEventDoc.model_json_schema(schema_generator=WireSchema)
    return {
        **envelope,
        "description": f"Every event that a host at version {version} emits.",
        "properties": {**envelope["properties"], "type": {"enum": sorted(adapters)}},
        "allOf": [
            {
                "if": {"properties": {"type": {"const": name}}},
                "then": {"properties": {"payload": refs[(name, "validation")]}},
            }
            for name in sorted(adapters)
        ],
        "$defs": defined["$defs"],
    }


def render(document: JsonSchemaValue) -> str:
    """A document as the text of its file."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write them all, and drop those that are no longer made."""
    made = documents()
    for name, document in made.items():
        (FOLDER / name).write_text(render(document), "utf-8")
    for path in FOLDER.glob("*.schema.json"):
        if path.name not in made:
            path.unlink()


if __name__ == "__main__":
    main()
