"""Answers that are not votes: clarification, conversation turn, external event, custom, low confidence.

Resume values have no schema of their own in the protocol; what is checked here is `resumeSchema`, the
questions' schemas, `outcomeSchema`, and the accepted spellings of a clarification (OpenWOP: resume values).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from host.decisions.state import Interrupt
from schemas.errors import Refusal

Check = Callable[[dict[str, Any], Any], list[dict[str, Any]]]
"""(schema, value) -> `[{path, message}]`, empty when the value is right."""


def check_value(interrupt: Interrupt, value: Any, check: Check) -> None:
    """Raise `Refusal` (`validation_error`, with `details.errors`) unless the value may resolve."""
    schema = interrupt.payload.get("resumeSchema")
    if schema is not None:
        _raise(check(schema, value), "The answer does not fit resumeSchema")
    if interrupt.kind == "clarification":
        _raise(_clarification(interrupt, value, check), "The answers do not fit the questions")
    outcome_schema = interrupt.data.get("outcomeSchema")
    if interrupt.kind == "conversation.exchange" and outcome_schema is not None:
        _raise(check(outcome_schema, value), "The reply does not fit outcomeSchema")


def answers_of(value: Any) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """The answers by question id, and the path that they stand at, of all three accepted spellings:
    `{answers: {id: answer}}`, `{answers: [{id, answer}]}` and `{id: answer}`."""
    if not isinstance(value, dict):
        return None
    answers = value.get("answers")
    if isinstance(answers, dict):
        return answers, ("answers",)
    if isinstance(answers, list):
        pairs = [a for a in answers if isinstance(a, dict) and isinstance(a.get("id"), str)]
        if len(pairs) != len(answers):
            return None
        return {a["id"]: a.get("answer") for a in pairs}, ("answers",)
    return value, ()


def _clarification(interrupt: Interrupt, value: Any, check: Check) -> list[dict[str, Any]]:
    found = answers_of(value)
    if found is None:
        return [{"path": [], "message": 'must be {"answers": {<question id>: <answer>}}'}]
    answers, base = found
    errors: list[dict[str, Any]] = []
    for question in interrupt.data["questions"]:
        path = [*base, question["id"]]
        if question["id"] not in answers:
            errors.append({"path": path, "message": "is not answered"})
            continue
        schema = question.get("schema")
        if schema is not None:
            wrong = check(schema, answers[question["id"]])
            errors += [{"path": [*path, *e["path"]], "message": e["message"]} for e in wrong]
    return errors


def correlates(interrupt: Interrupt, value: Any) -> bool:
    """Whether a value repeats every member of the wait's correlation (host policy of v1 hosts; the
    event may stand in `eventPayload` or be the value itself)."""
    if not isinstance(value, dict):
        return False
    event = value.get("eventPayload", value)
    wanted: dict[str, Any] = interrupt.data["correlation"]
    return isinstance(event, dict) and all(
        name in event and event[name] == wanted[name] for name in wanted
    )


def _raise(errors: list[dict[str, Any]], what: str) -> None:
    if not errors:
        return
    first = errors[0]
    where = ".".join(str(p) for p in first["path"])
    at = f" at {where}" if where else ""
    raise Refusal("validation_error", f"{what}{at}: {first['message']}.", errors=errors)
