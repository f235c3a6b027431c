"""decide: which question goes to the worker next, what it says, and what a failed delivery does. Pure."""

from __future__ import annotations

import json
from typing import Any

from host.decisions.session import Call, Decision, Session, deliverable, next_decision, on_path
from host.decisions.session_inputs import end_call
from host.decisions.session_moves import Moves

_LONGEST_WAIT_MS = 60_000


def dispatch(moves: Moves, lease_ms: int) -> Decision | None:
    """Take the slot for the next decision, or take over one whose lease has run out.

    None when there is nothing to deliver now: the slot is taken, all is held, or its time has not come.
    """
    now, session = moves.rules.now, moves.session
    live = session.live
    if live is not None:
        if live.until is not None and now < live.until:
            return None
        if live.attempts >= moves.rules.most_attempts:
            failed(moves, live, "The worker did not answer.", retryable=False)
            return dispatch(moves, lease_ms)
        if not deliverable(session, live):  # parked or left since: it waits, or goes, as any other
            late = "The worker did not answer in time."
            moves.add("decision-errored", decisionId=live.id, error=late, notBefore=now)
            moves.sweep()
            return dispatch(moves, lease_ms)
        chosen, leaf = live, live.anchor
    else:
        ready = next_decision(session)
        if ready is None or ready.not_before > now:
            return None
        chosen, leaf = ready, session.head
    moves.add(
        "decision-dispatched",
        decisionId=chosen.id,
        attempt=chosen.attempts + 1,
        until=now + lease_ms,
        anchor=leaf,
    )
    return moves.session.decision(chosen.id)


def failed(moves: Moves, decision: Decision, message: str, *, retryable: bool = True) -> None:
    """A delivery failed: again after a while, and after the last attempt its call or its turn fails."""
    if retryable and decision.attempts < moves.rules.most_attempts:
        wait = min(500 * 2**decision.attempts, _LONGEST_WAIT_MS)
        moves.add(
            "decision-errored",
            decisionId=decision.id,
            error=message,
            notBefore=moves.rules.now + wait,
        )
        return
    moves.add("decision-dropped", decisionId=decision.id, reason=message)
    call = moves.session.call(decision.trigger.get("id", ""))
    if call is not None and decision.trigger["type"] in ("tool.execute", "llm.execute"):
        end_call(moves, call, {"error": message})
        return
    if decision.turn is not None and decision.turn == moves.session.turn:
        moves.end_turn("failed")
        moves.start_waiting()


def trigger_of(session: Session, decision: Decision) -> dict[str, Any]:
    """The trigger as the worker reads it, but for a resume's payload (that is the wire's)."""
    trigger = decision.trigger
    kind = trigger["type"]
    if kind == "client.messages":
        before = session.messages
        return {
            "type": kind,
            "messages": [*before, *trigger["new"]],
            "new_from": len(before),
            "client": trigger.get("client") or {},
        }
    call = session.call(trigger.get("id", ""))
    if kind == "tool.execute" and call is not None:
        return {**trigger, **call.data, "input": tool_input(call), "attempt": call.attempt}
    if kind == "llm.execute" and call is not None:
        request = _model_request(session, call)
        stream = bool(call.data["request"].get("stream"))
        return {**trigger, "request": request, "stream": stream, "attempt": call.attempt}
    return trigger


def tool_input(call: Call) -> dict[str, Any]:
    """How a tool's arguments read: `valid` with their value, or `malformed` when they are no object."""
    try:
        value = json.loads(call.data["arguments"])
    except ValueError as error:
        return {"status": "malformed", "error": f"not JSON: {error}"}
    if not isinstance(value, dict):
        return {"status": "malformed", "error": "not a JSON object"}
    return {"status": "valid", "value": value}


def _model_request(session: Session, call: Call) -> dict[str, Any]:
    """The request with what it leaves out, from the agent's config and the conversation."""
    given = {n: v for n, v in call.data["request"].items() if n not in ("stream", "handler")}
    agent = session.agent or {}
    if not given.get("messages"):
        system = agent.get("system")
        first = [{"role": "system", "content": system}] if system else []
        given["messages"] = [*first, *session.messages]
    given.setdefault("model", agent.get("model", ""))
    if "tools" not in given and agent.get("tools"):
        shown = ("name", "description", "input", "output")
        given["tools"] = [{n: t[n] for n in shown if n in t} for t in agent["tools"]]
    return given


def proposed(session: Session, decision: Decision) -> dict[str, Any]:
    """What the worker may send back unchanged: the usual way on."""
    trigger = decision.trigger
    match trigger["type"]:
        case "client.messages":
            answer: dict[str, Any] = {
                "messages": trigger["new"],
                "actions": [{"type": "llm.call"}],
            }
            tools = (trigger.get("client") or {}).get("tools")
            if tools:
                agent = session.agent or {"model": ""}
                mine = [{**tool, "handler": "client"} for tool in tools]
                answer["agent"] = {**agent, "tools": [*(agent.get("tools") or ()), *mine]}
            return answer
        case "tool.finished" | "sub_agent.finished":
            return {"messages": [_tool_message(trigger)], "actions": _call_model(session, decision)}
        case "llm.finished":
            return _after_model(trigger)
        case "interrupt.resumed":
            return {"actions": _call_model(session, decision)}
        case "tool.execute":
            call = session.call(trigger["id"])
            read = tool_input(call) if call is not None else {}
            if read.get("status") == "malformed":
                error = f"The arguments are {read['error']}."
                return {"actions": [{"type": "tool.error", "error": error}]}
    return {}


def _call_model(session: Session, decision: Decision) -> list[dict[str, Any]]:
    """Ask the model again, once every tool of this branch has ended."""
    kinds = ("tool.finished", "sub_agent.finished")
    open_ones = any(
        c.kind != "llm_call" and on_path(session, c.anchor, session.head) for c in session.calls
    )
    more = any(
        d.id != decision.id
        and d.until is None
        and d.trigger["type"] in kinds
        and on_path(session, d.anchor, session.head)
        for d in session.decisions
    )
    return [] if open_ones or more else [{"type": "llm.call"}]


def _tool_message(trigger: dict[str, Any]) -> dict[str, Any]:
    content = text_of(trigger["result"]) if "result" in trigger else trigger.get("error", "")
    return {
        "id": f"tool_{trigger['id']}",
        "role": "tool",
        "tool_call_id": trigger["id"],
        "content": content,
    }


def text_of(result: Any) -> str:
    """A tool's result as a model reads it: its text parts, else JSON."""
    if isinstance(result, str):
        return result
    parts = result.get("content") if isinstance(result, dict) else None
    if isinstance(parts, list) and parts and all(isinstance(p, dict) for p in parts):
        texts = [p["text"] for p in parts if p.get("type") == "text" and "text" in p]
        if len(texts) == len(parts):
            return "\n".join(texts)
    return json.dumps(result)


def _after_model(trigger: dict[str, Any]) -> dict[str, Any]:
    message = trigger.get("message")
    if message is None:
        return {"actions": [{"type": "done", "data": {"error": trigger.get("error", "")}}]}
    calls = [
        {"type": "tool.call", "id": c["id"], **c["function"]}
        for c in message.get("tool_calls") or ()
    ]
    return {"messages": [message], "actions": calls or [{"type": "done"}]}
