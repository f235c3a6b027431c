"""What the gateway's answers mean. Pure; used by both clients alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sayso.errors import Cancelled, Expired, SaysoError

_GRANTS: Final = frozenset({"accept", "edit-accept"})
_CLOSED: Final = frozenset({"resolved", "cancelled", "expired"})


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of an approval.

    `action` is "accept", "reject", "refine", "edit-accept" or "timeout"; only the first and the
    fourth are `approved`. `by` is the principal who decided, "" when nobody did. `value` is what
    was approved (the artifact, or the edited one), or for "refine" what should change; None
    otherwise. `feedback` is what the person added in words. `raw` is the stored resume value.
    """

    approved: bool
    action: str
    by: str = ""
    value: Any = None
    feedback: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """So `if run.approve(…):` means what it says, and never only that somebody answered."""
        return self.approved


@dataclass(frozen=True, slots=True)
class Interrupt:
    """An interrupt as the gateway shows it."""

    id: str
    status: str
    value: Any = None

    @property
    def closed(self) -> bool:
        """Whether nothing more can come of it."""
        return self.status in _CLOSED


def read_interrupt(body: Any) -> Interrupt:
    """The interrupt in an answer's body. Raises `SaysoError` when there is none."""
    if isinstance(body, dict):
        found, status = body.get("interruptId"), body.get("status")
        if isinstance(found, str) and (status == "open" or status in _CLOSED):
            return Interrupt(found, str(status), body.get("resumeValue"))
    raise unexpected("an interrupt")


def read_run(body: Any) -> str:
    """The run's id in an answer's body. Raises `SaysoError` when there is none."""
    if isinstance(body, dict) and isinstance(body.get("runId"), str):
        return str(body["runId"])
    raise unexpected("a run")


def read_value(interrupt: Interrupt) -> Any:
    """The stored answer. Raises `Expired` or `Cancelled` when there is none."""
    if interrupt.status == "resolved":
        return interrupt.value
    raise Expired(interrupt.id) if interrupt.status == "expired" else Cancelled(interrupt.id)


def read_decision(interrupt: Interrupt, artifact: Any) -> Decision:
    """The decision of an approval. A deadline that passed is one: not approved, "timeout".

    Raises `Cancelled`, and `SaysoError` for a value that no approval has: what can't be read is
    never taken for consent.
    """
    if interrupt.status == "expired":
        return Decision(False, "timeout")
    value = read_value(interrupt)
    if not isinstance(value, dict) or not isinstance(value.get("action"), str):
        raise unexpected("an approval's answer")
    action = value["action"]
    refine = value.get("refineFeedback")
    feedback = value.get("feedback") or (refine.get("text") if isinstance(refine, dict) else "")
    outcome = {
        "accept": artifact,
        "edit-accept": value.get("editedArtifactData"),
        "refine": refine,
    }.get(action)
    by = value.get("decidedBy")
    return Decision(
        action in _GRANTS,
        action,
        by if isinstance(by, str) else "",
        outcome,
        feedback if isinstance(feedback, str) else "",
        value,
    )


def read_answers(interrupt: Interrupt) -> dict[str, Any]:
    """The answers of a clarification by question id, from each of the three shapes they come in."""
    value = read_value(interrupt)
    answers = value.get("answers", value) if isinstance(value, dict) else value
    if isinstance(answers, dict):
        return dict(answers)
    if isinstance(answers, list) and all(isinstance(a, dict) and "id" in a for a in answers):
        return {str(answer["id"]): answer.get("answer") for answer in answers}
    raise unexpected("the answers to questions")


def read_event(interrupt: Interrupt) -> Any:
    """The payload of an external event, out of the older `{eventPayload}` wrapper where it has
    one."""
    value = read_value(interrupt)
    if isinstance(value, dict) and value.keys() == {"eventPayload"}:
        return value["eventPayload"]
    return value


def read_reply(interrupt: Interrupt) -> str:
    """What a person said in a turn: the words themselves, or the JSON text of anything else."""
    value = read_value(interrupt)
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        value = value["content"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_error(status: int, body: Any) -> SaysoError:
    """The error of an answer that isn't 2xx."""
    if isinstance(body, dict) and isinstance(body.get("error"), str):
        details = body.get("details")
        return SaysoError(
            body["error"],
            str(body.get("message", "")),
            details if isinstance(details, dict) else None,
            status=status,
        )
    return SaysoError(
        "unexpected_answer",
        f"HTTP {status} without an error body; does SAYSO_URL point at a Sayso gateway?",
        status=status,
    )


def unexpected(what: str) -> SaysoError:
    """The error for a 2xx answer that isn't what it should be."""
    return SaysoError(
        "unexpected_answer",
        f"the gateway's answer is not {what}; does its version match this client's?",
    )
