"""decide: how a session begins, in the commit of its first input."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from host.decisions.request import start_run
from host.decisions.session import WORKFLOW
from host.decisions.session_moves import Moves
from host.decisions.state import Run


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a session starts with when its first input comes. `owner` is `{id, metadata?}`, `thread` the
    place (`channel:address`) where it gets a thread, or ""."""

    agent_id: str
    owner: dict[str, Any]
    ancestry: tuple[str, ...] = ()
    parent_call: str = ""
    thread: str = ""


def new_run(run_id: str, tenant: str, begin: Beginning, now: int) -> Run:
    """The run of a session that is about to begin."""
    # A run's subject is never personal data, and whoever owns a session may be named by an address.
    name = hashlib.sha256(str(begin.owner.get("id", "")).encode()).hexdigest()[:24]
    subject = {
        "issuer": "urn:sayso:session",
        "subjectId": name,
        "tenant": tenant,
        "lane": "api-key",
        "kind": "user",
    }
    owner = {"tenant": tenant, "subject": subject}
    return Run(run_id=run_id, workflow_id=WORKFLOW, created_at=now, owner=owner)


def begun(moves: Moves, session_id: str, begin: Beginning, several: bool) -> None:
    """The session is there, and its worker is told so first."""
    moves.extend(start_run(moves.state.run, None))
    moves.add(
        "session-started",
        sessionId=session_id,
        agentId=begin.agent_id,
        owner=begin.owner,
        several=several,
        ancestry=list(begin.ancestry) or None,
        parentCall=begin.parent_call or None,
        thread=begin.thread or None,
    )
    moves.queue({"type": "session.start"}, None)
