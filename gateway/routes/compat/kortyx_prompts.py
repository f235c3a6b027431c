"""Our pauses as kortyx shows them, and kortyx' answers as our pauses take them. Pure.

A request for input has their kinds already. An approval is a choice of its actions, a single question a text
or a choice, a turn of a conversation a text; what has another shape is `custom`, answered by a `value`.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from gateway.routes.compat.kortyx_errors import invalid_response
from gateway.routes.compat.kortyx_resume import Given
from host.decisions.contracts import input_request
from host.decisions.state import Interrupt, iso

_NAMES: Final = uuid.UUID("6f0e7c6e-2f7d-5f0a-9d43-6b1c3d9c7a11")
_LABELS: Final = {"accept": "Approve", "refine": "Ask for changes", "reject": "Reject"}


def request_id_of(interrupt_id: str) -> str:
    """The public name of a question: the same for as long as it exists."""
    return f"human-{uuid.uuid5(_NAMES, interrupt_id)}"


def checkpoint_id_of(run_id: str, seq: int) -> str:
    """The name of a checkpoint."""
    return f"cp-{uuid.uuid5(_NAMES, f'{run_id}#{seq}')}"


def prompt_of(interrupt: Interrupt) -> dict[str, Any] | None:
    """What is asked: `{kind, multiple, question, options, …}`. None for a pause that no person answers."""
    asked = input_request(interrupt.payload)
    if asked is not None:
        return {**asked, "id": interrupt.key}
    found = _OTHER.get(interrupt.kind, lambda _: None)(interrupt)
    return {**found, "id": interrupt.key} if found is not None else None


def _prompt(kind: str, question: str, options: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    found = {"kind": kind, "multiple": False, "question": question, "options": options}
    return {**found, **more}


def _approval(interrupt: Interrupt) -> dict[str, Any]:
    data = interrupt.data
    options = [{"id": a, "label": _LABELS[a]} for a in _LABELS if a in data["actions"]]
    about = data.get("description")
    question = f"{data['title']}\n\n{about}" if about else data["title"]
    names = ("artifactId", "artifactType", "artifactData")
    meta = {name: data[name] for name in names if data.get(name) is not None}
    return _prompt("choice", question, options, schemaId="sayso.approval", meta=meta)


def _clarification(interrupt: Interrupt) -> dict[str, Any]:
    questions = interrupt.data["questions"]
    if len(questions) == 1:
        schema = questions[0].get("schema") or {"type": "string"}
        text = questions[0]["question"]
        if schema.get("type") == "string":
            ids = schema.get("enum")
            if ids is None:
                return _prompt("text", text, [])
            if isinstance(ids, list) and all(isinstance(one, str) for one in ids):
                return _prompt("choice", text, [{"id": one, "label": one} for one in ids])
    text = questions[0]["question"] if len(questions) == 1 else f"{len(questions)} questions"
    return _custom("clarification", text, {"questions": questions})


def _turn(interrupt: Interrupt) -> dict[str, Any]:
    data = interrupt.data
    if data.get("outcomeSchema") is None:
        return _prompt("text", data["prompt"], [])
    return _custom("conversation", data["prompt"], {"prompt": data["prompt"]})


def _low_confidence(interrupt: Interrupt) -> dict[str, Any]:
    data = interrupt.data
    return _custom("low-confidence", f"Please confirm what {data['agentId']} decided.", data)


def _other(interrupt: Interrupt) -> dict[str, Any]:
    data = interrupt.data
    return _custom(data["customKind"], f"Input needed: {data['customKind']}", data.get("payload"))


def _custom(name: str, question: str, request: Any) -> dict[str, Any]:
    return _prompt("custom", question, [], schemaId=f"sayso.{name}", request=request)


_OTHER: Final = {
    "approval": _approval,
    "clarification": _clarification,
    "conversation.exchange": _turn,
    "low-confidence": _low_confidence,
    "custom": _other,
}


def chunk_of(interrupt: Interrupt, workflow: str, token: str, path: tuple[Any, ...]) -> Any:
    """The `interrupt` chunk. `path` holds the calls that lead to a child's question.

    `expiresAt` is ours: their chunk has none, and a client had to guess it from the time of arrival (D3).
    """
    asked = prompt_of(interrupt)
    assert asked is not None
    if path:
        call = {"workflowCall": path[-1], "workflowCallPath": list(path)}
        asked = {**asked, "meta": {**(asked.get("meta") or {}), **call}}
    found: dict[str, Any] = {
        "type": "interrupt",
        "requestId": request_id_of(interrupt.interrupt_id),
        "resumeToken": token,
        "workflow": workflow,
        "node": interrupt.node_id,
        "id": interrupt.key,
        "runId": interrupt.run_id,
    }
    for name in ("schemaId", "schemaVersion"):
        if name in asked:
            found[name] = asked[name]
    if interrupt.deadline is not None:
        found["expiresAt"] = iso(interrupt.deadline)
    return {**found, "input": asked}


def answer_of(interrupt: Interrupt, given: Given, content: str = "") -> Any:
    """The resume value that an answer means. Raises `KortyxRefused` (INVALID_RESPONSE) for one of another
    form than what was asked; whether a value fits its schema, the host says."""
    asked = prompt_of(interrupt)
    kind = asked["kind"] if asked is not None else ""
    if asked is None:
        raise invalid_response("Nobody answers this pause: it waits for an event.")
    wanted = {"text": "text", "choice": "select", "multi-choice": "select", "custom": "value"}[kind]
    if given.type != wanted:
        raise invalid_response(f"A question of kind {kind} is answered by type {wanted!r}.")
    if wanted == "value":
        return given.value
    said: Any = given.text if wanted == "text" else _picked(asked, given.ids)
    return _as_ours(interrupt, said, content)


def _picked(asked: dict[str, Any], ids: tuple[str, ...]) -> Any:
    if not ids:
        raise invalid_response("Nothing was chosen.")
    if len(set(ids)) != len(ids):
        raise invalid_response("An option was chosen twice.")
    if asked["kind"] == "choice" and len(ids) != 1:
        raise invalid_response("Choose one option.")
    known = {option["id"] for option in asked["options"]}
    if known and not known.issuperset(ids):
        raise invalid_response("One of the choices is not among the options.")
    return list(ids) if asked["kind"] == "multi-choice" else ids[0]


def _as_ours(interrupt: Interrupt, said: Any, content: str) -> Any:
    if interrupt.kind == "approval":
        if said == "refine":
            text = content if content.strip() and content != "refine" else "Please revise it."
            return {"action": "refine", "refineFeedback": {"scope": "whole", "text": text}}
        return {"action": said}
    if interrupt.kind == "clarification":
        return {"answers": {interrupt.data["questions"][0]["id"]: said}}
    return said


def given_of(interrupt: Interrupt, selected: tuple[str, ...], value: Any, has_value: bool) -> Given:
    """What chat metadata means for this question: its `value` counts only where one is asked for."""
    asked = prompt_of(interrupt)
    kind = asked["kind"] if asked is not None else ""
    if kind == "custom":
        return Given("value", value=value) if has_value else Given("select", ids=selected)
    if kind == "text":
        if not selected or not selected[0]:
            raise invalid_response("The answer is empty.")
        return Given("text", text=selected[0])
    return Given("select", ids=selected)
