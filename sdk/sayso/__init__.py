"""Ask a person, wait for an event, and get one durable answer.

    from sayso import Sayso

    with Sayso() as sayso, sayso.run(key="refund-4711") as run:
        if run.approve("Refund 120 EUR to Ada", notify="slack:#finance"):
            refund()

Durability. A question is named by its run (`key`) and its own key, which is derived from what is
asked unless given. A program that crashes while it waits is simply run again: it asks the same
questions under the same names, the gateway asks nobody twice, and answers that were given in the
meantime are there at once. Waiting goes on over restarts of the gateway.

A run key names the same run for 24 hours after its first use (the life of an idempotency key);
later a new run begins, and its questions are asked again. The key is kept in the run's metadata as
`key`.

`AsyncSayso` is the same for asyncio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from sayso.aio import AsyncSayso
from sayso.aio_run import AsyncConversation, AsyncRun
from sayso.answers import Decision
from sayso.client import Sayso
from sayso.errors import Cancelled, Expired, SaysoError, StillOpen, Unreachable
from sayso.options import Action, Asking
from sayso.run import Conversation, Run

__all__ = [
    "AsyncConversation",
    "AsyncRun",
    "AsyncSayso",
    "Cancelled",
    "Conversation",
    "Decision",
    "Expired",
    "Run",
    "Sayso",
    "SaysoError",
    "StillOpen",
    "Unreachable",
    "approve",
]


def approve(
    title: str,
    *,
    run_key: str | None = None,
    description: str | None = None,
    artifact: Any = None,
    approvers: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    roles: Sequence[str] | None = None,
    required: int = 1,
    actions: Sequence[Action] = ("accept", "reject"),
    wait: float | None = None,
    **asking: Unpack[Asking],
) -> Decision:
    """Ask for one approval, in a run of its own, and wait for the decision.

    With a `run_key` the program can be run again and gets the stored answer; without one the
    question is withdrawn when the program fails. Everything else as in `Run.approve`, which takes
    more.
    """
    with Sayso() as client, client.run(run_key) as run:
        return run.approve(
            title,
            description=description,
            artifact=artifact,
            approvers=approvers,
            groups=groups,
            roles=roles,
            required=required,
            actions=actions,
            wait=wait,
            **asking,
        )
