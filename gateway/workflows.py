"""Workflow definitions from files: one JSON document each, registered at start."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson
from pydantic import ValidationError

from host.host import check_schemas
from schemas.errors import Refusal
from schemas.payloads import check_payload, problems
from schemas.workflows import Node, Workflow

_SIZE = 1 << 20


def load(folder: Path | None) -> list[Workflow]:
    """The workflows of a folder's `*.json`. Raises `ValueError` that names the file and the mistake."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise ValueError(f"workflows: there is no folder {folder}")
    found = [_read(path) for path in sorted(folder.glob("*.json"))]
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


def _read(path: Path) -> Workflow:
    if path.stat().st_size > _SIZE:
        raise ValueError(f"{path}: larger than {_SIZE} bytes")
    try:
        raw = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    return parse(raw, str(path))


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
