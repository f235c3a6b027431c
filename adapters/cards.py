"""Interrupt -> Card: what people see of an interrupt now, the same in every channel. Pure.

Here words are chosen (labels, outcomes, progress); how they are drawn is each channel's own.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from adapters.card_forms import answer_form, edit_form, form_for, refine_form
from adapters.input_cards import input_heading, shown_data
from adapters.languages.catalogue import Words, words_of
from adapters.views import Action, Card, Fact, Reader, Thread
from host.decisions.approval import tally
from host.decisions.state import SOMEBODY, Interrupt

__all__ = ["card_of", "form_for", "is_high_risk", "thread_of"]

_ACTIONS = {
    "accept": Action("accept", "", "primary"),
    "reject": Action("reject", "", "danger", needs="reason"),
    "refine": Action("refine", "", needs="refinement"),
    "edit-accept": Action("edit-accept", "", needs="edit"),
    "ask": Action("ask", "", needs="question"),
    "answer": Action("answer", "", "primary", needs="answers"),
}
_ORDER = ("accept", "edit-accept", "refine", "ask", "reject")
_MOST_FACTS = 5
_MOST_QUESTIONS = 5
_HIGH_RISK = frozenset({"high", "critical"})
_ENDED = ("accept", "reject", "refine", "edit-accept")
_ANYBODY = Reader()
_LISTS = ("approversList", "approverGroupRefs", "approverRoleRefs")


def card_of(
    interrupt: Interrupt,
    names: dict[str, str] | None = None,
    link: str = "",
    reader: Reader = _ANYBODY,
) -> Card:
    """The card of an interrupt. `names` maps principal ids to what people are called; `reader` is
    whose language its own words are in. What the request says is shown as it was written."""
    data, words = interrupt.data, words_of(reader.locale)
    title, body = _heading(interrupt, words)
    outcome = interrupt.outcome
    still_open = interrupt.status == "open"
    return Card(
        interrupt_id=interrupt.interrupt_id,
        kind=interrupt.kind,
        state=interrupt.status,
        version=interrupt.version,
        title=title,
        body=body,
        facts=_facts(interrupt, names or {}, words),
        evidence=_evidence(shown_data(interrupt)),
        actions=_actions(interrupt, words) if still_open else (),
        form=answer_form(interrupt, title, words) if still_open else None,
        edit_form=edit_form(interrupt, words) if still_open else None,
        refine_form=refine_form(interrupt, words) if still_open else None,
        asked=len(interrupt.questions),
        discussion=tuple(
            Fact(_called(q.name, words), q.text) for q in interrupt.questions[-_MOST_QUESTIONS:]
        ),
        progress=_progress(interrupt, words) if still_open else "",
        deadline=_moment(interrupt.deadline),
        at_deadline=_at_deadline(interrupt, words) if still_open else "",
        outcome=_outcome(interrupt, words),
        decided_by=_called(outcome.name, words) if outcome else "",
        decided_at=_moment(outcome.at) if outcome else None,
        reason=_reason(interrupt),
        link=link,
        reference=interrupt.interrupt_id[-8:],
        reader=reader,
        replies=interrupt.replies,
        listed=any(data.get(name) for name in _LISTS),
        proposal=_proposal(interrupt) if still_open else None,
    )


def thread_of(interrupt: Interrupt, title: str = "", reader: Reader = _ANYBODY) -> Thread | None:
    """The conversation that an interrupt is a turn of, or None."""
    if not interrupt.kind.startswith("conversation."):
        return None
    data = interrupt.data
    return Thread(
        conversation_id=data["conversationId"],
        title=title or data.get("title") or words_of(reader.locale)("card.conversation"),
        prompt=data.get("prompt") or data.get("initialPrompt") or "",
        closed=(data.get("reason") or "closed") if interrupt.kind.endswith("close") else "",
    )


def _heading(interrupt: Interrupt, words: Words) -> tuple[str, str]:
    data, kind = interrupt.data, interrupt.kind
    if kind == "approval":
        return data["title"], data.get("description") or ""
    if kind == "clarification":
        questions = data["questions"]
        if len(questions) == 1:
            return questions[0]["question"], ""
        title = words.count("card.questions", len(questions))
        return title, "\n".join(f"• {q['question']}" for q in questions)
    if kind == "external-event":
        event = data["eventType"] or words("card.an_event")
        return words("card.waiting", event=event), ""
    if kind == "low-confidence":
        return (
            words("card.confirm_decision", agent=data["agentId"]),
            words(
                "card.confidence",
                observed=words.number(data["observed"]),
                threshold=words.number(data["threshold"]),
            ),
        )
    if kind == "custom":
        return input_heading(interrupt) or (words("card.custom", kind=data["customKind"]), "")
    if kind == "conversation.exchange":
        return data["prompt"].splitlines()[0][:200], data["prompt"]
    return data.get("title") or words("card.conversation"), data.get("initialPrompt") or ""


def _facts(interrupt: Interrupt, names: dict[str, str], words: Words) -> tuple[Fact, ...]:
    data = interrupt.data
    facts = []
    if interrupt.requested_by:
        by = names.get(interrupt.requested_by, interrupt.requested_by)
        facts.append(Fact(words("card.asked_by"), by))
    if interrupt.kind == "approval":
        # What the client calls it where a program gave it no name says nothing.
        if data["artifactType"] not in ("none", "json") or data["artifactId"] != interrupt.node_id:
            subject = f"{data['artifactType']} {data['artifactId']}"
            facts.append(Fact(words("card.subject"), subject))
        approvers = [
            *(names.get(p, p) for p in data.get("approversList") or ()),
            *(data.get("approverGroupRefs") or ()),
            *(data.get("approverRoleRefs") or ()),
        ]
        if approvers:
            facts.append(Fact(words("card.who"), words.join(approvers[:8])))
        facts += _flat(data.get("artifactData"), words) or []
    if interrupt.kind == "low-confidence":
        facts.append(Fact(words("card.observed"), words.number(data["observed"])))
        facts.append(Fact(words("card.threshold"), words.number(data["threshold"])))
        facts += _flat(data.get("decision"), words) or []
    if interrupt.kind == "custom":
        facts += _flat(shown_data(interrupt).get("payload"), words) or []
    if interrupt.kind == "external-event":
        facts += [Fact(k, str(v)) for k, v in list(data["correlation"].items())[:6]]
    return tuple(facts)


def _flat(artifact: Any, words: Words) -> list[Fact] | None:
    """A small flat artifact reads better as labelled values than as JSON; None for any other."""
    if not _is_flat(artifact):
        return None
    return [Fact(_label(name), _plain(value, words)) for name, value in artifact.items()]


def _is_flat(artifact: Any) -> bool:
    if not isinstance(artifact, dict) or not 0 < len(artifact) <= _MOST_FACTS:
        return False
    return not any(isinstance(v, dict | list) or len(str(v)) > 200 for v in artifact.values())


def _label(name: str) -> str:
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in str(name)).replace("_", " ")
    return words.strip()[:1].upper() + words.strip()[1:60]


def _plain(value: Any, words: Words) -> str:
    if isinstance(value, bool):
        return words("card.yes" if value else "card.no")
    return "–" if value is None else str(value)


def _evidence(data: dict[str, Any]) -> str:
    for name in ("artifactData", "payload", "decision"):
        if data.get(name) is not None:
            value = data[name]
            if _is_flat(value):
                return ""
            if isinstance(value, str):
                return value
            return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return ""


def _actions(interrupt: Interrupt, words: Words) -> tuple[Action, ...]:
    if interrupt.kind == "approval":
        offered = interrupt.data["actions"]
        chosen = tuple(_action(a, words) for a in _ORDER if a in offered)
        risky = is_high_risk(interrupt)
        return tuple(_confirmed(a, words) for a in chosen) if risky else chosen
    if interrupt.kind in ("clarification", "custom", "low-confidence", "conversation.exchange"):
        return (_action("answer", words),)
    return ()


def _action(name: str, words: Words) -> Action:
    return replace(_ACTIONS[name], label=words(f"action.{name}"))


def _proposal(interrupt: Interrupt) -> Any:
    """The decision that an agent was not sure of: what it resumes with when a person ratifies it. With a
    `resumeSchema` it asks for something of its own instead, and what is risky is looked at in full."""
    if interrupt.kind != "low-confidence" or interrupt.payload.get("resumeSchema") is not None:
        return None
    decision = interrupt.data.get("decision")
    return None if _says_risky(decision) else decision


def is_high_risk(interrupt: Interrupt) -> bool:
    """Whether the request says that it is: its artifact has a `risk` of `high` or `critical`."""
    return _says_risky(interrupt.data.get("artifactData"))


def _says_risky(value: Any) -> bool:
    risk = value.get("risk") if isinstance(value, dict) else None
    return isinstance(risk, str) and risk.lower() in _HIGH_RISK


def _confirmed(action: Action, words: Words) -> Action:
    """Approving asks once more; what opens a form has been asked by it."""
    if action.id != "accept":
        return action
    return replace(action, confirm=words("card.high_risk"))


def _progress(interrupt: Interrupt, words: Words) -> str:
    if interrupt.kind != "approval":
        return ""
    counted = tally(interrupt.data, {v.principal: v.action for v in interrupt.votes})
    if counted.required == 1 and not interrupt.votes:
        return ""
    granted = (v.name for v in interrupt.votes if v.action in ("accept", "edit-accept"))
    names = words.join(_called(name, words) for name in granted)
    text = words.count(
        "card.approvals", counted.required, count=counted.approvals, required=counted.required
    )
    if names:
        text = words("card.approvals_by", approvals=text, names=names)
    if counted.rejects:
        text = words.join((text, words.count("card.rejects", counted.rejects)))
    return text


def _at_deadline(interrupt: Interrupt, words: Words) -> str:
    if interrupt.deadline is None:
        return ""
    if interrupt.kind == "approval":
        return words("card.deadline_rejects")
    return words("card.deadline_goes_on")


def _outcome(interrupt: Interrupt, words: Words) -> str:
    outcome = interrupt.outcome
    if outcome is None:
        return ""
    if interrupt.status == "expired":
        rejected = interrupt.kind == "approval"
        return words("outcome.expired_rejected" if rejected else "outcome.expired")
    if interrupt.status == "cancelled":
        how = "cancelled"
    elif interrupt.kind == "external-event":
        return words("outcome.received")
    elif outcome.decision == "overridden":
        how = "overridden"
    else:
        how = outcome.action if outcome.action in _ENDED else "answer"
    if outcome.name:
        return words(f"outcome.{how}_by", name=_called(outcome.name, words))
    return words(f"outcome.{how}")


def _called(name: str, words: Words) -> str:
    """A person's name as it is; whoever held a link for nobody in particular in the reader's language."""
    return words("card.somebody") if name == SOMEBODY else name


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
