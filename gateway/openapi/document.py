"""The OpenAPI 3.1 document, made from the wire models and the tables of operations."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from gateway.openapi import hooks, inputs, keys, own, protocol, webhooks
from gateway.openapi.operation import Answer, Operation
from gateway.openapi.parameters import HEADERS, PARAMETERS, PATH
from schemas.errors import STATUS, ErrorEnvelope
from schemas.export import WireSchema, components
from schemas.payloads import InterruptPayload
from schemas.versions import ProtocolVersion

OPERATIONS: Final[tuple[Operation, ...]] = (
    *protocol.OPERATIONS,
    *webhooks.OPERATIONS,
    *own.OPERATIONS,
    *inputs.OPERATIONS,
    *keys.OPERATIONS,
    *hooks.OPERATIONS,
)
_SCHEMAS: Final = "#/components/schemas/{model}"
_JSON: Final = "application/json"
_REASONS: Final = {
    400: "The request is wrong.",
    401: "Not authenticated.",
    403: "Not allowed.",
    404: "There is no such thing.",
    406: "The protocol version is not served.",
    409: "Not in this state.",
    410: "Its time is over.",
    413: "Too large.",
    415: "Not JSON.",
    422: "Not possible here.",
    429: "Too many.",
    500: "Something went wrong here.",
    503: "Try again in a moment.",
}


def document(version: str, protocol_version: ProtocolVersion) -> dict[str, Any]:
    """The document. `version` is that of the program."""
    schemas = _schemas()
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for operation in OPERATIONS:
        paths[operation.path][operation.method] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sayso",
            "version": version,
            "summary": "Carries a run's question to whoever can answer it.",
            "description": f"Interrupt protocol version {protocol_version}, and Sayso's own "
            "operations under /host/sayso.",
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": "protocol"}, {"name": "sayso"}],
        "paths": dict(paths),
        "components": {
            "schemas": schemas,
            "parameters": PARAMETERS | {_component(name): p for name, p in PATH.items()},
            "headers": HEADERS,
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    names = [_component(n) for n in re.findall(r"\{(\w+)\}", operation.path)]
    names += operation.parameters
    names += ["IdempotencyKey"] if operation.idempotent else []
    names += [] if operation.own else ["Version"]
    found: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": ["sayso" if operation.own else "protocol"],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in names],
        "security": [{"apiKey": [operation.scope]}] if operation.scope else [],
        "responses": _answers(operation) | _errors(operation),
    }
    if operation.body is not None:
        required = bool(schemas[operation.body.__name__].get("required"))
        content = {_JSON: {"schema": _ref(operation.body)}}
        found["requestBody"] = {"required": required, "content": content}
    return found


def _answers(operation: Operation) -> dict[str, Any]:
    found = {}
    for answer in operation.answers:
        response: dict[str, Any] = {"description": answer.description}
        headers = _headers(operation, answer.headers)
        if headers:
            response["headers"] = headers
        content = _content(answer)
        if content:
            response["content"] = content
        found[str(answer.status)] = response
    return found


def _content(answer: Answer) -> dict[str, Any]:
    if answer.media != _JSON:
        return {answer.media: {}}
    if answer.model is None:
        return {}
    schema = {"type": "object"} if answer.model == "Anything" else _ref(answer.model)
    return {_JSON: {"schema": schema}}


def _errors(operation: Operation) -> dict[str, Any]:
    """One response a status, with the codes that it may have."""
    codes: dict[int, list[str]] = defaultdict(list)
    for code in operation.codes():
        codes[STATUS[code]].append(code)
    found = {}
    for status, named in sorted(codes.items()):
        extra: tuple[str, ...] = ("Retry-After",) if status in (409, 429, 503) else ()
        if status == 401 and "unauthenticated" in named:
            extra = ("WWW-Authenticate",)
        schema = {**_ref(ErrorEnvelope), "properties": {"error": {"enum": named}}}
        response = {"description": _REASONS[status], "content": {_JSON: {"schema": schema}}}
        headers = _headers(operation, extra)
        found[str(status)] = {**response, **({"headers": headers} if headers else {})}
    return found


def _headers(operation: Operation, names: tuple[str, ...]) -> dict[str, Any]:
    every = (*names, *(() if operation.own else ("OpenWOP-Version",)))
    return {name: {"$ref": f"#/components/headers/{name}"} for name in every}


def _schemas() -> dict[str, Any]:
    models: dict[str, type[BaseModel]] = {"ErrorEnvelope": ErrorEnvelope}
    for operation in OPERATIONS:
        for model in (operation.body, *(answer.model for answer in operation.answers)):
            if isinstance(model, type):
                models[model.__name__] = model
    found = components(list(models.values()), _SCHEMAS)
    payload = TypeAdapter(InterruptPayload).json_schema(
        ref_template=_SCHEMAS, schema_generator=WireSchema
    )
    found |= payload.pop("$defs")
    found["InterruptPayload"] = payload
    for asking in ("RequestInterrupt", "AskBody"):
        properties = found[asking]["properties"]
        properties["payload"] = {"$ref": _SCHEMAS.format(model="InterruptPayload")}
    # The protocol lets it be missing in an evaluation, which is not served here.
    found["CreateRun"]["required"] = ["workflowId"]
    return found


def _ref(model: type[BaseModel] | str) -> dict[str, Any]:
    name = model if isinstance(model, str) else model.__name__
    return {"$ref": _SCHEMAS.format(model=name)}


def _component(name: str) -> str:
    return name[0].upper() + name[1:]
