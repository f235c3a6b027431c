"""Interrupt -> Card: what people see of an interrupt now, the same in every channel. Pure.

Here words are chosen (labels, outcomes, progress); how they are drawn is each channel's own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from adapters.forms import form_from_questions, form_from_schema
from adapters.views import Action, Card, Fact, Field, Form, Thread
from host.decisions.approval import tally
from host.decisions.state import Interrupt

_ACTIONS = {
    "accept": Action("accept", "Approve", "primary"),
    "reject": Action("reject", "Reject", "danger"),
    "refine": Action("refine", "Ask for changes", needs="refinement"),
    "edit-accept": Action("edit-accept", "Edit and approve", needs="edit"),
    "ask": Action("ask", "Ask a question", needs="question"),
}
_ORDER = ("accept", "edit-accept", "refine", "ask", "reject")
_ANSWER = Action("answer", "Answer", "primary", needs="answers")
_MOST_FACTS = 5
_ENDED = {
    "accept": "Approved",
    "reject": "Rejected",
    "refine": "Sent back for changes",
    "edit-accept": "Approved with changes",
}


def card_of(interrupt: Interrupt, names: dict[str, str] | None = None, link: str = "") -> Card:
    """The card of an interrupt. `names` maps principal ids to what people are called."""
    data = interrupt.data
    title, body = _heading(interrupt)
    outcome = interrupt.outcome
    still_open = interrupt.status == "open"
    return Card(
        interrupt_id=interrupt.interrupt_id,
        kind=interrupt.kind,
        state=interrupt.status,
        version=interrupt.version,
        title=title,
        body=body,
        facts=_facts(interrupt, names or {}),
        evidence=_evidence(data),
        actions=_actions(interrupt) if still_open else (),
        form=_form(interrupt, title) if still_open else None,
        edit_form=_edit_form(interrupt) if still_open else None,
        progress=_progress(interrupt) if still_open else "",
        deadline=_moment(interrupt.deadline),
        at_deadline=_at_deadline(interrupt) if still_open else "",
        outcome=_outcome(interrupt),
        decided_by=outcome.name if outcome else "",
        decided_at=_moment(outcome.at) if outcome else None,
        reason=_reason(interrupt),
        link=link,
        reference=interrupt.interrupt_id[-8:],
    )


def thread_of(interrupt: Interrupt, title: str = "") -> Thread | None:
    """The conversation that an interrupt is a turn of, or None."""
    if not interrupt.kind.startswith("conversation."):
        return None
    data = interrupt.data
    return Thread(
        conversation_id=data["conversationId"],
        title=title or data.get("title") or "Conversation",
        prompt=data.get("prompt") or data.get("initialPrompt") or "",
        closed=(data.get("reason") or "closed") if interrupt.kind.endswith("close") else "",
    )


def form_for(card: Card, action: str) -> Form | None:
    """What has to be asked before `action` counts: answers, a reason, a refinement, an edit, a question.

    None when nothing has to be asked.
    """
    known = next((a for a in card.actions if a.id == action), None)
    if known is None or known.needs == "nothing":
        return None
    if known.needs == "answers":
        return card.form
    if known.needs == "reason":
        return Form("Reject", (Field("f0", ("feedback",), "Why?", "longtext"),), submit="Reject")
    if known.needs == "question":
        field = Field("f0", ("question",), "Your question", "longtext", required=True)
        return Form("Ask a question", (field,), submit="Ask")
    return _refinement() if known.needs == "refinement" else card.edit_form


def _refinement() -> Form:
    return Form(
        "Ask for changes",
        (
            Field(
                "f0",
                ("refineFeedback", "text"),
                "What should change?",
                "longtext",
                required=True,
                max_length=3000,
            ),
        ),
        submit="Send back",
    )


def _shape_of(value: Any) -> dict[str, Any]:
    """A schema that an artifact fits, so that it can be edited field by field."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer"}
    if isinstance(value, float):
        return {"type": "number"}
    if isinstance(value, str):
        long = len(value) > 150 or "\n" in value
        return {"type": "string", "maxLength": 3000} if long else {"type": "string"}
    if isinstance(value, dict) and value:
        return {
            "type": "object",
            "properties": {str(k): _shape_of(v) for k, v in value.items()},
            "required": [str(k) for k in value],
        }
    return {"title": "JSON"}


def _heading(interrupt: Interrupt) -> tuple[str, str]:
    data, kind = interrupt.data, interrupt.kind
    if kind == "approval":
        return data["title"], data.get("description") or ""
    if kind == "clarification":
        questions = data["questions"]
        if len(questions) == 1:
            return questions[0]["question"], ""
        return f"{len(questions)} questions", "\n".join(f"• {q['question']}" for q in questions)
    if kind == "external-event":
        return f"Waiting for {data['eventType'] or 'an event'}", ""
    if kind == "low-confidence":
        return (
            f"Please confirm what {data['agentId']} decided",
            f"Its confidence was {data['observed']:g}; this run asks for {data['threshold']:g}.",
        )
    if kind == "custom":
        return f"Input needed: {data['customKind']}", ""
    if kind == "conversation.exchange":
        return data["prompt"].splitlines()[0][:200], data["prompt"]
    return data.get("title") or "Conversation", data.get("initialPrompt") or ""


def _facts(interrupt: Interrupt, names: dict[str, str]) -> tuple[Fact, ...]:
    data = interrupt.data
    facts = []
    if interrupt.requested_by:
        facts.append(Fact("Asked by", names.get(interrupt.requested_by, interrupt.requested_by)))
    if interrupt.kind == "approval":
        facts.append(Fact("Subject", f"{data['artifactType']} {data['artifactId']}"))
        approvers = [
            *(names.get(p, p) for p in data.get("approversList") or ()),
            *(data.get("approverGroupRefs") or ()),
            *(data.get("approverRoleRefs") or ()),
        ]
        if approvers:
            facts.append(Fact("Who may decide", ", ".join(approvers[:8])))
        facts += _flat(data.get("artifactData")) or []
    if interrupt.kind == "external-event":
        facts += [Fact(k, str(v)) for k, v in list(data["correlation"].items())[:6]]
    return tuple(facts)


def _flat(artifact: Any) -> list[Fact] | None:
    """A small flat artifact reads better as labelled values than as JSON; None for any other."""
    if not isinstance(artifact, dict) or not 0 < len(artifact) <= _MOST_FACTS:
        return None
    if any(isinstance(v, dict | list) or len(str(v)) > 200 for v in artifact.values()):
        return None
    return [Fact(_label(name), _plain(value)) for name, value in artifact.items()]


def _label(name: str) -> str:
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in str(name)).replace("_", " ")
    return words.strip()[:1].upper() + words.strip()[1:60]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else str(value)


def _evidence(data: dict[str, Any]) -> str:
    if _flat(data.get("artifactData")):
        return ""
    for name in ("artifactData", "payload", "decision"):
        if data.get(name) is not None:
            value = data[name]
            if isinstance(value, str):
                return value
            return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return ""


def _actions(interrupt: Interrupt) -> tuple[Action, ...]:
    if interrupt.kind == "approval":
        offered = interrupt.data["actions"]
        return tuple(_ACTIONS[a] for a in _ORDER if a in offered)
    if interrupt.kind in ("clarification", "custom", "low-confidence", "conversation.exchange"):
        return (_ANSWER,)
    return ()


def _form(interrupt: Interrupt, title: str) -> Form | None:
    data = interrupt.data
    if interrupt.kind == "clarification":
        return form_from_questions(data["questions"], title=title)
    if interrupt.kind == "conversation.exchange":
        schema = data.get("outcomeSchema") or interrupt.payload.get("resumeSchema")
        if schema:
            return form_from_schema(schema, title="Reply")
        return Form("Reply", (Field("f0", (), "Your reply", "longtext", required=True),))
    if interrupt.kind in ("custom", "low-confidence"):
        schema = interrupt.payload.get("resumeSchema") or _shape_of(data.get("decision"))
        return form_from_schema(schema, title="Answer", value=data.get("decision"))
    return None


def _edit_form(interrupt: Interrupt) -> Form | None:
    if interrupt.kind != "approval" or "edit-accept" not in interrupt.data["actions"]:
        return None
    artifact = interrupt.data.get("artifactData")
    return form_from_schema(
        _shape_of(artifact),
        title="Edit and approve",
        submit="Approve edited",
        base=("editedArtifactData",),
        value=artifact,
    )


def _progress(interrupt: Interrupt) -> str:
    if interrupt.kind != "approval":
        return ""
    counted = tally(interrupt.data, {v.principal: v.action for v in interrupt.votes})
    if counted.required == 1 and not interrupt.votes:
        return ""
    by = ", ".join(v.name for v in interrupt.votes if v.action in ("accept", "edit-accept"))
    text = f"{counted.approvals} of {counted.required} approvals" + (f": {by}" if by else "")
    return text + (f", {counted.rejects} rejected" if counted.rejects else "")


def _at_deadline(interrupt: Interrupt) -> str:
    if interrupt.deadline is None:
        return ""
    if interrupt.kind == "approval":
        return "If nobody decides by then, it counts as rejected."
    return "If nobody answers by then, the run goes on without an answer."


def _outcome(interrupt: Interrupt) -> str:
    outcome = interrupt.outcome
    if outcome is None:
        return ""
    by = f" by {outcome.name}" if outcome.name else ""
    if interrupt.status == "cancelled":
        return f"Cancelled{by}"
    if interrupt.status == "expired":
        rejected = "; it counts as rejected" if interrupt.kind == "approval" else ""
        return f"Expired: nobody answered in time{rejected}"
    if interrupt.kind == "external-event":
        return "Received"
    if outcome.decision == "overridden":
        return f"Approved{by} as an override"
    return _ENDED.get(outcome.action, "Answered") + by


def _reason(interrupt: Interrupt) -> str:
    outcome = interrupt.outcome
    if outcome is None:
        return ""
    if interrupt.status == "cancelled":
        return outcome.reason
    value = outcome.value if isinstance(outcome.value, dict) else {}
    refine = value.get("refineFeedback")
    text = refine.get("text") if isinstance(refine, dict) else value.get("feedback")
    return text if isinstance(text, str) and interrupt.kind == "approval" else ""


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
