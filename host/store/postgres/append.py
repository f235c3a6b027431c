"""Commits as the arrays that `sayso_append` (functions.sql) takes: one family of columns after the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from host.decisions.state import Interrupt
from host.store import codec
from host.store.records import Commit

Row = tuple[Any, ...]

_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("text", "bigint", "bigint", "bigint", "bytea", "bigint", "bytea"),  # runs and log
    ("int", "text", "text", "text", "text", "text", "bigint", "bigint", "bytea", "bytea"),  # new
    ("int", "text", "text", "bigint", "bytea", "boolean"),  # changed interrupts
    ("int", "text", "text", "boolean"),  # waits
    ("int", "text", "text", "text", "text"),  # messages
    ("int", "text", "text", "bytea", "boolean"),  # conversations
    ("int", "bigint", "text"),  # events that subscriptions may want
    ("int", "text"),  # tags
    ("int", "text", "text", "int", "bytea"),  # replies
)
_TYPES = [kind for family in _FAMILIES for kind in family]
STATEMENT = (
    "SELECT sayso_append("
    + ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(_TYPES, start=1))
    + ")"
)


def names(commit: Commit) -> Iterable[Hashable]:
    """What a commit claims for itself: two that share one of these must not be in one statement."""
    yield commit.run.run_id
    if commit.reply is not None:
        yield "reply", commit.reply.scope
    for conversation in commit.conversations:
        yield "conversation", conversation.tenant, conversation.conversation_id


def columns(commits: list[Commit]) -> list[list[Any]]:
    """The statement's arguments, for commits that are sorted by run id and share no name."""
    families: tuple[list[Row], ...] = tuple([] for _ in _FAMILIES)
    for n, commit in enumerate(commits, start=1):
        rows = (
            [_run(commit)],
            *_interrupts(commit),
            [(m.interrupt_id, m.channel, m.address, m.thread) for m in commit.messages],
            _conversations(commit),
            *_published(commit),
            _reply(commit),
        )
        for family, found in zip(families, rows, strict=True):
            family += found if family is families[0] else [(n, *row) for row in found]
    return [
        column
        for family, kinds in zip(families, _FAMILIES, strict=True)
        for column in _transposed(family, len(kinds))
    ]


def _run(commit: Commit) -> Row:
    run = commit.run
    head, events = codec.dump_run(run), codec.dump_events(commit.events)
    return run.run_id, commit.expected, run.version, run.wake_at, head, commit.at, events


def _interrupts(commit: Commit) -> tuple[list[Row], list[Row], list[Row]]:
    """Those that begin in this commit, those that it changes, and the waits of both."""
    opened = {e.record["opens"] for e in commit.events if e.record and "opens" in e.record}
    new: list[Row] = []
    old: list[Row] = []
    for interrupt in commit.interrupts:
        if interrupt.interrupt_id in opened:
            new.append(_new(interrupt))
        else:
            old.append(_changed(interrupt))
    waits = [
        (i.match_key, i.interrupt_id, i.status == "open")
        for i in commit.interrupts
        if i.match_key is not None
    ]
    return new, old, waits


def _new(interrupt: Interrupt) -> Row:
    return (
        interrupt.interrupt_id,
        interrupt.node_id,
        interrupt.key,
        interrupt.kind,
        interrupt.status,
        interrupt.version,
        interrupt.deadline,
        codec.dump_progress(interrupt),
        codec.dump_asked(interrupt),
    )


def _changed(interrupt: Interrupt) -> Row:
    return (
        interrupt.interrupt_id,
        interrupt.status,
        interrupt.version,
        codec.dump_progress(interrupt),
        bool(interrupt.notify),
    )


def _conversations(commit: Commit) -> list[Row]:
    if not commit.conversations:
        return []
    opened = {e.payload["conversationId"] for e in commit.events if e.type == "conversation.opened"}
    return [
        (c.tenant, c.conversation_id, codec.dump_conversation(c), c.conversation_id in opened)
        for c in commit.conversations
    ]


def _published(commit: Commit) -> tuple[list[Row], list[Row]]:
    """What `host.store.webhooks.owed` looks at: the events, none of a replay's, and the run's tags."""
    if commit.run.replay_of is not None:
        return [], []
    events = [(commit.expected + place, event.type) for place, event in enumerate(commit.events)]
    return events, [(tag,) for tag in commit.run.tags]


def _reply(commit: Commit) -> list[Row]:
    reply = commit.reply
    return [] if reply is None else [(reply.scope, reply.digest, reply.status, reply.body)]


def _transposed(rows: list[Row], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]
