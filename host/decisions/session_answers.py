"""decide: what a worker answered -> moves. And what a resume sets going.

An answer is carried out in this order: ends of tool calls (recorded whatever is parked), `interrupt.resolve`,
then its messages, its state and its other actions, interrupts last, and ends of model calls at the very end,
so that a call that the same answer's interrupt voids stays voided. When the leaf that it lands on has been
parked since the question was put, messages and actions wait with the decision until the resume.
"""

from __future__ import annotations

import contextlib
from typing import Any

from host.decisions.session import Decision, Session, on_path, parking
from host.decisions.session_actions import carry_out, end, park
from host.decisions.session_moves import Moves
from host.decisions.session_resume import resume
from host.decisions.state import Principal
from schemas.errors import Refusal

Action = dict[str, Any]


def takes_answer(session: Session, decision_id: str) -> Decision | None:
    """The decision that an answer is for; None when it is over (a late or a second answer)."""
    decision = session.decision(decision_id)
    if decision is None or decision.answer is not None or decision.attempts == 0:
        return None
    return decision


def check_answer(session: Session, decision: Decision, response: dict[str, Any]) -> dict[str, Any]:
    """The answer with every call named. Raises `Refusal` (`validation_error`) when one can't be."""
    actions = [_resolved(session, decision, a) for a in response.get("actions") or ()]
    return {**response, "actions": actions}


def _resolved(session: Session, decision: Decision, action: Action) -> Action:
    """An end of a call without an id is of the call that was asked about, else of the only one open."""
    kind, _, verb = action["type"].partition(".")
    if kind not in ("tool", "llm") or verb not in ("result", "error") or action.get("id"):
        return action
    if decision.trigger["type"] == f"{kind}.execute":
        return {**action, "id": decision.trigger["id"]}
    open_ones = [
        c.id
        for c in session.calls
        if c.kind == f"{kind}_call"
        and c.handler == "worker"
        and on_path(session, c.anchor, decision.anchor)
    ]
    if len(open_ones) != 1:
        raise Refusal(
            "validation_error",
            f"{action['type']} names no id, and {len(open_ones)} calls are open: name the one.",
        )
    return {**action, "id": open_ones[0]}


def answered(moves: Moves, decision: Decision, response: dict[str, Any]) -> None:
    """Carry out a worker's answer, or as much of it as may be now."""
    actions: list[Action] = response["actions"]
    for action in actions:
        if action["type"] in ("tool.result", "tool.error"):
            end(moves, action)
    left = [a for a in actions if a["type"] not in ("tool.result", "tool.error")]
    left = [a for a in left if not _clears(moves, a)]
    rest = {**response, "actions": left}
    leaf = decision.anchor
    if parking(moves.session, leaf) and (response.get("messages") or left):
        rest = _pauses_now(moves, leaf, rest)
        if _more(rest):
            moves.add("decision-answered", decisionId=decision.id, rest=rest)
            return
    moves.add("decision-completed", decisionId=decision.id)
    carry_out(moves, decision, rest)


def _more(rest: dict[str, Any]) -> bool:
    return any(rest.get(name) is not None for name in ("state", "agent")) or bool(
        rest.get("messages") or rest["actions"]
    )


def _pauses_now(moves: Moves, leaf: str | None, rest: dict[str, Any]) -> dict[str, Any]:
    """On a leaf that is parked another question may be asked at once, if no message comes before it."""
    if rest.get("messages"):
        return rest
    for action in rest["actions"]:
        if action["type"] == "interrupt":
            park(moves, leaf, action)
    others = [a for a in rest["actions"] if a["type"] != "interrupt"]
    return {**rest, "actions": others}


def _clears(moves: Moves, action: Action) -> bool:
    """`interrupt.resolve`, with the rights of a machine. One that may not be (a higher origin, approvers
    that the worker is none of, a payload that doesn't fit) is dropped alone, and the rest stands."""
    if action["type"] != "interrupt.resolve":
        return False
    run = moves.state.run
    name = moves.session.agent_id
    agent = Principal(name, run.tenant, name, kind="workload", names=frozenset({name}))
    with contextlib.suppress(Refusal):
        resume(moves, action["interrupt_id"], "machine", agent, action.get("payload"))
    return True
