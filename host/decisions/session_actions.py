"""What an answer does: messages into the tree, work begun, interrupts raised, calls ended, turns closed."""

from __future__ import annotations

import json
from typing import Any

from host.decisions.session import Decision
from host.decisions.session_inputs import end_call
from host.decisions.session_moves import Moves

Action = dict[str, Any]


def carry_out(moves: Moves, decision: Decision, rest: dict[str, Any]) -> None:
    """Messages, state and actions of an answer, on the leaf of its decision.

    Off the head's path its messages are recorded and its interrupts raised; new work is not begun there.
    """
    at_head = decision.anchor == moves.session.head
    leaf = _record(moves, decision.anchor, rest.get("messages") or [], at_head)
    state, agent = rest.get("state"), rest.get("agent")
    if state is not None or agent is not None:
        moves.add("worker-state", state=state, agent=agent)
    actions: list[Action] = rest["actions"]
    if at_head:
        for action in actions:
            _begin(moves, action)
    for action in actions:
        if action["type"] == "interrupt":
            park(moves, leaf, action)
    for action in actions:
        if action["type"] in ("llm.result", "llm.error"):
            end(moves, action)
    for action in actions:
        if action["type"] == "done" and at_head:
            moves.end_turn("completed", action.get("data"))
            moves.add("session-done")
    moves.finish()


def _record(
    moves: Moves, leaf: str | None, messages: list[dict[str, Any]], at_head: bool
) -> str | None:
    """Write messages below `leaf`; one that is on its path already is not written again."""
    for message in messages:
        name = message.get("id")
        if name is not None and name in moves.session.nodes:
            if moves.session.nodes[name].parent == leaf:
                leaf = name
            continue
        name = name or f"msg_{moves.rules.mint()}"
        said = {**message, "id": name}
        moves.add("message-added", message=said, parentId=leaf, head=at_head)
        leaf = name
    return leaf


def park(moves: Moves, leaf: str | None, action: Action) -> None:
    """A worker's interrupt has the level of a frontend, whatever its payload says."""
    moves.park(
        leaf, "frontend", action["reason"], action.get("payload"), action.get("interrupt_id")
    )


def end(moves: Moves, action: Action) -> None:
    """The end of a call. One that is not open any more (it was voided, or ended) is passed over."""
    call = moves.session.call(action["id"])
    attempt = action.get("attempt")
    if call is None or (attempt is not None and attempt != call.attempt):
        return
    names = ("error", "retryable", "code", "detail")
    outcome = {n: action[n] for n in names if action.get(n) is not None}
    if action["type"] == "tool.result":
        outcome["result"] = action.get("result")
    elif action["type"] == "llm.result":
        outcome = model_outcome(call.id, action["response"])
    end_call(moves, call, outcome)


def model_outcome(call_id: str, response: dict[str, Any]) -> dict[str, Any]:
    """What a model's response means: the assistant's message under the call's id, and what it cost."""
    message = {"id": call_id, "role": "assistant"}
    message |= {n: response[n] for n in ("content", "tool_calls") if response.get(n) is not None}
    outcome = {"message": message, "truncated": response.get("finish_reason") == "length"}
    return outcome | {n: response[n] for n in ("usage", "cost") if response.get(n) is not None}


def _begin(moves: Moves, action: Action) -> None:
    kind = action["type"]
    if kind == "llm.call":
        request = {n: v for n, v in action.items() if n not in ("type", "id", "retry")}
        call_id = action.get("id") or f"llm_{moves.rules.mint()}"
        _open(moves, call_id, "llm_call", "worker", {"request": request})
        moves.queue({"type": "llm.execute", "id": call_id}, moves.session.head)
    elif kind == "tool.call":
        _begin_tool(moves, action)
    elif kind == "sub_agent.spawn":
        _spawn(moves, action)
    elif kind == "message.send":
        what = {"session_id": action["session_id"], "message": action["message"]}
        moves.add("errand-asked", id=moves.rules.mint(), kind="send", data=what)


def _begin_tool(moves: Moves, action: Action) -> None:
    name = action["name"]
    call_id = action.get("id") or f"call_{moves.rules.mint()}"
    agent = moves.session.agent or {}
    if any(child.get("id") == name for child in agent.get("sub_agents") or ()):
        message = {"role": "user", "content": _delegated(action.get("arguments"))}
        child = f"{moves.session.session_id}.{moves.rules.mint()}"
        spawn = {"session_id": child, "agent_id": name, "tool_call_id": call_id}
        _spawn(moves, {**spawn, "message": message})
        return
    said = action.get("arguments")
    arguments = said if isinstance(said, str) else json.dumps(said if said is not None else {})
    tools = agent.get("tools") or ()
    handler = next((t.get("handler") for t in tools if t.get("name") == name), None)
    data = {"name": name, "arguments": arguments}
    _open(moves, call_id, "tool_call", "client" if handler == "client" else "worker", data)
    if handler != "client":
        moves.queue({"type": "tool.execute", "id": call_id}, moves.session.head)


def _delegated(arguments: Any) -> str:
    try:
        found = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    message = found.get("message") if isinstance(found, dict) else None
    return message if isinstance(message, str) else json.dumps(found)


def _spawn(moves: Moves, action: Action) -> None:
    names = ("session_id", "agent_id", "tool_call_id", "message")
    data = {n: action[n] for n in names if action.get(n) is not None}
    _open(moves, action["session_id"], "sub_agent", "engine", data)
    moves.add("errand-asked", id=moves.rules.mint(), kind="spawn", data=data)


def _open(moves: Moves, call_id: str, kind: Any, handler: Any, data: dict[str, Any]) -> None:
    session = moves.session
    if session.call(call_id) is None and call_id not in session.ended:
        moves.add(
            "call-opened", id=call_id, kind=kind, handler=handler, anchor=session.head, data=data
        )
