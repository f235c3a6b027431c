"""Workflow definitions from files: one JSON document each, registered at start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson
from pydantic import ValidationError

from host import contracts as schema_checks
from host.checks import check_schemas
from host.decisions.contracts import payload_of
from schemas.contracts import DEFAULT_TTL_MS, AskForInput, Contract
from schemas.errors import Refusal
from schemas.payloads import check_payload, problems
from schemas.workflows import Node, Workflow

_SIZE = 1 << 20


def load(
    folder: Path | None, contracts: Iterable[Contract] = (), ttl_ms: int = DEFAULT_TTL_MS
) -> list[Workflow]:
    """The workflows of a folder's `*.json`; a node may ask under one of `contracts`.

    Raises `ValueError` that names the file and the mistake.
    """
    if folder is None:
        return []
    if not folder.is_dir():
        raise ValueError(f"workflows: there is no folder {folder}")
    known = {one.name: one for one in contracts}
    found = [_read(path, known, ttl_ms) for path in sorted(folder.glob("*.json"))]
    seen: dict[str, int] = {}
    for workflow in found:
        seen[workflow.workflow_id] = seen.get(workflow.workflow_id, 0) + 1
    twice = [name for name, times in seen.items() if times > 1]
    if twice:
        raise ValueError(f"workflows: {twice[0]!r} is defined twice in {folder}")
    return found


def parse(raw: object, where: str) -> Workflow:
    """A definition, with every suspend node's payload and schemas checked. Raises `ValueError`."""
    try:
        workflow = Workflow.model_validate(raw)
    except ValidationError as error:
        first = problems(error)[0]
        path = ".".join(str(p) for p in first["path"])
        raise ValueError(f"{where}: {path}: {first['message']}") from None
    for node in workflow.nodes:
        _check_node(node, where)
    return workflow


def _read(path: Path, contracts: Mapping[str, Contract], ttl_ms: int) -> Workflow:
    if path.stat().st_size > _SIZE:
        raise ValueError(f"{path}: larger than {_SIZE} bytes")
    try:
        raw = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    return parse(with_inputs(raw, str(path), contracts, ttl_ms), str(path))


def with_inputs(raw: object, where: str, contracts: Mapping[str, Contract], ttl_ms: int) -> object:
    """A definition whose `core.interrupt` nodes with an `input` ask for it: the interrupt is made from it,
    and from its contract, here. Raises `ValueError`."""
    nodes = raw.get("nodes") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(nodes, list):
        return raw
    return {**raw, "nodes": [_with_input(node, where, contracts, ttl_ms) for node in nodes]}


def _with_input(node: object, where: str, contracts: Mapping[str, Contract], ttl_ms: int) -> object:
    config = node.get("config") if isinstance(node, dict) else None
    if not isinstance(node, dict) or not isinstance(config, dict) or "input" not in config:
        return node
    here = f"{where}: node {node.get('id')}"
    given = config["input"] if isinstance(config["input"], dict) else {}
    try:
        ask = AskForInput.model_validate({**given, "nodeId": node.get("id"), "key": "any"})
        contract = contracts.get(ask.contract) if ask.contract else None
        if ask.contract and contract is None:
            raise ValueError(f"{here}: there is no [contracts.{ask.contract}]")
        payload = payload_of(ask, contract, schema_checks.validate, ttl_ms)
    except ValidationError as error:
        first = problems(error)[0]
        path = ".".join(str(p) for p in first["path"])
        raise ValueError(f"{here}: input.{path}: {first['message']}") from None
    except Refusal as refusal:
        raise ValueError(f"{here}: {refusal.message}") from None
    asked = {name: payload[name] for name in ("kind", "data", "resumeSchema", "timeoutMs")}
    others = {name: value for name, value in config.items() if name != "input"}
    return {**node, "config": {**others, **asked}}


def _check_node(node: Node, where: str) -> None:
    config = node.config
    payloads: dict[str, tuple[str, object]] = {
        "core.clarificationGate": ("clarification", {"questions": config.get("questions")}),
        "core.interrupt": (str(config.get("kind")), config.get("data")),
    }
    if node.type not in payloads:
        return
    kind, data = payloads[node.type]
    try:
        check_schemas(check_payload({"kind": kind, "key": "check", "data": data}))
    except Refusal as refusal:
        raise ValueError(f"{where}: node {node.id}: {refusal.message}") from None


def ids(workflows: Iterable[Workflow]) -> tuple[str, ...]:
    """Their ids, sorted."""
    return tuple(sorted(w.workflow_id for w in workflows))
