"""What a session's interrupt asks people, and what their answer says to its worker. Pure.

The payload of an interrupt is a prompt by convention: `message`, `responseSchema`, `metadata.options`.
Without options or a schema it is an approval; options and schemas become one question. An answer that people
gave in a channel comes back as `{status, payload, responder}`, with `approved` beside for workers that read
it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from host import contracts
from host.decisions.answers import answers_of
from host.decisions.session import Pause, Session, path
from host.decisions.session_resume import ANSWER
from schemas.errors import Refusal

_TITLE: Final = 200
_NAME: Final = 80
_QUOTE: Final = 160
_CONVENTION: Final = ("message", "responseSchema", "expiresAt", "metadata", "toolCallId")
_MOST_OPTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent by the operator's word: its worker, and who is asked. `notify` holds `channel:address`;
    `thread` is one, where its sessions have their threads, or ""."""

    url: str
    secret: str = field(default="", repr=False)
    notify: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    thread: str = ""


def asks(agents: Mapping[str, Agent]) -> Any:
    """How the interrupts of these agents are put to people (`session_moves.AskOf`)."""

    def ask(session: Session, pause: Pause) -> tuple[dict[str, Any], tuple[str, ...]]:
        agent = agents.get(session.agent_id, Agent(""))
        places = dict.fromkeys((*agent.notify, *([session.thread] if session.thread else ())))
        # What the system raised is nobody's to answer in a channel.
        notify = tuple(places) if pause.origin != "system" else ()
        return question_of(session, pause, agent), notify

    return ask


def question_of(session: Session, pause: Pause, agent: Agent) -> dict[str, Any]:
    """The interrupt payload that people see: the question, and which branch waits for it."""
    prompt = pause.payload if isinstance(pause.payload, dict) else {}
    message = message_of(session.agent_id, pause)
    waits = waiting_branch(session, pause)
    listed = bool(agent.approvers or agent.groups)
    labels = [label for label, _ in options_of(pause.payload)]
    schema = _schema_of(prompt)
    if not listed and (schema is not None or (labels and not _is_approval(pause.payload))):
        answer = schema if schema is not None else {"enum": labels}
        asked = {"id": ANSWER, "question": f"{message}\n\n{waits}", "schema": answer}
        return {"kind": "clarification", "key": "", "data": {"questions": [asked]}}
    first, _, more = message.partition("\n")
    data: dict[str, Any] = {
        "artifactId": pause.interrupt_id,
        "artifactType": pause.reason[:100],
        "title": first[:_TITLE] or message[:_TITLE],
        "actions": ["accept", "reject"],
    }
    whole = f"{message}\n\n" if more or len(first) > _TITLE else ""
    data["description"] = whole + waits
    extra = {name: v for name, v in prompt.items() if name not in _CONVENTION}
    metadata = prompt.get("metadata")
    if isinstance(metadata, dict):
        extra |= {n: v for n, v in metadata.items() if n not in ("options", "type")}
    if extra or (pause.payload is not None and not isinstance(pause.payload, dict)):
        data["artifactData"] = extra or pause.payload
    if agent.approvers:
        data["approversList"] = list(agent.approvers)
    if agent.groups:
        data["approverGroupRefs"] = list(agent.groups)
    return {"kind": "approval", "key": "", "data": data}


def message_of(agent_id: str, pause: Pause) -> str:
    """The question in words; never empty."""
    said = pause.payload.get("message") if isinstance(pause.payload, dict) else None
    if isinstance(said, str) and said.strip():
        return said.strip()
    return f"{agent_id} is paused: {pause.reason}"


def waiting_branch(session: Session, pause: Pause) -> str:
    """What waits, in words: the branch that ends with what the user said last, or the whole session."""
    name = session.session_id[:_NAME]
    said = [
        session.nodes[n].message.get("content")
        for n in path(session, pause.anchor)
        if session.nodes[n].message["role"] == "user"
    ]
    if pause.anchor is None:
        return f"The whole conversation {name} waits for this."
    if not said or not isinstance(said[-1], str):
        return f"A branch of the conversation {name} waits for this."
    text = " ".join(said[-1].split())
    shown = text if len(text) <= _QUOTE else f"{text[: _QUOTE - 1]}…"
    return f"In the conversation {name}, the branch after “{shown}” waits for this."


def options_of(payload: Any) -> list[tuple[str, Any]]:
    """(label, value) of each option that is one, labels made different where two are the same."""
    metadata = payload.get("metadata") if isinstance(payload, dict) else None
    given = metadata.get("options") if isinstance(metadata, dict) else None
    found: dict[str, Any] = {}
    for option in given[:_MOST_OPTIONS] if isinstance(given, list) else ():
        label = option.get("label") if isinstance(option, dict) else None
        if isinstance(label, str) and label.strip():
            name, number = label.strip(), 2
            while name in found:
                name, number = f"{label.strip()} ({number})", number + 1
            found[name] = option.get("value")
    return list(found.items())


def _is_approval(payload: Any) -> bool:
    """Two options, `{approved: true}` and `{approved: false}`: a yes and a no have buttons of their own."""
    values = [value for _, value in options_of(payload)]
    return sorted(map(str, values)) == sorted(map(str, [{"approved": True}, {"approved": False}]))


def _schema_of(prompt: dict[str, Any]) -> dict[str, Any] | None:
    """The response schema, if it is one that answers can be checked by."""
    schema = prompt.get("responseSchema")
    if not isinstance(schema, dict) or not schema:
        return None
    try:
        contracts.check_schema(schema, where="responseSchema")
    except Refusal:
        return None
    return schema


def resume_payload(answer: dict[str, Any], asked: Any) -> Any:
    """What the worker is told. A raw payload as it was sent; a person's answer by the convention.

    The responder is who was authenticated, never what a payload claims.
    """
    if "raw" in answer:
        return answer["raw"]
    responder = {
        name: value
        for name, value in (
            ("channel", answer.get("via")),
            ("user", answer.get("by")),
            ("label", answer.get("name")),
        )
        if value
    }
    if answer["status"] != "resolved":
        inner: dict[str, Any] = {"expired": True} if answer["status"] == "expired" else {}
        return {"status": "cancelled", "payload": inner, "responder": responder}
    if answer.get("kind") == "approval":
        return _approval(answer, responder)
    value = answer.get("value")
    found = answers_of(value) if answer.get("kind") == "clarification" else None
    said = found[0].get(ANSWER) if found is not None else value
    offered = dict(options_of(asked))
    chosen = offered.get(said, said) if isinstance(said, str) else said
    whole = {"status": "resolved", "payload": chosen, "responder": responder}
    if isinstance(chosen, dict) and isinstance(chosen.get("approved"), bool):
        whole["approved"] = chosen["approved"]
    return whole


def _approval(answer: dict[str, Any], responder: dict[str, Any]) -> dict[str, Any]:
    yes = answer.get("decision") in ("granted", "overridden")
    inner: dict[str, Any] = {"approved": yes}
    value = answer.get("value")
    if isinstance(value, dict) and isinstance(value.get("feedback"), str):
        inner["feedback"] = value["feedback"]
    return {"status": "resolved", "approved": yes, "payload": inner, "responder": responder}
