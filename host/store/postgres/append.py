"""Commits as the arrays that `sayso_append` (schema.sql) takes: one family of columns after the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from host.decisions.state import Interrupt
from host.store import codec
from host.store.port import Commit

_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("text", "bigint", "bigint", "bytea", "bigint", "bytea"),  # runs and log
    ("int", "text", "text", "text", "text", "text", "bigint", "bigint", "bytea", "bytea"),  # new
    ("int", "text", "text", "bigint", "bytea", "boolean"),  # changed interrupts
    ("int", "text", "text", "boolean"),  # waits
    ("int", "text", "text", "text", "text"),  # messages
    ("int", "text", "text", "bytea", "boolean"),  # conversations
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
    if commit.conversation is not None:
        yield "conversation", commit.conversation.tenant, commit.conversation.conversation_id


def columns(commits: list[Commit]) -> list[list[Any]]:
    """The statement's arguments, for commits that are sorted by run id and share no name."""
    rows: tuple[list[tuple[Any, ...]], ...] = tuple([] for _ in _FAMILIES)
    runs, new, old, waits, messages, conversations, replies = rows
    for n, commit in enumerate(commits, start=1):
        run = commit.run
        head, events = codec.dump_run(run), codec.dump_events(commit.events)
        runs.append((run.run_id, commit.expected, run.version, head, commit.at, events))
        asked = _asked_here(commit)
        for interrupt in commit.interrupts:
            if interrupt.interrupt_id in asked:
                new.append((n, *_new(interrupt)))
            else:
                old.append((n, *_changed(interrupt)))
            if interrupt.match_key is not None:
                is_open = interrupt.status == "open"
                waits.append((n, interrupt.match_key, interrupt.interrupt_id, is_open))
        messages += [(n, m.interrupt_id, m.channel, m.address, m.thread) for m in commit.messages]
        if commit.conversation is not None:
            talk = commit.conversation
            opened = any(e.type == "conversation.opened" for e in commit.events)
            body = codec.dump_conversation(talk)
            conversations.append((n, talk.tenant, talk.conversation_id, body, opened))
        if commit.reply is not None:
            kept = commit.reply
            replies.append((n, kept.scope, kept.digest, kept.status, kept.body))
    return [
        column
        for family, found in zip(_FAMILIES, rows, strict=True)
        for column in _transposed(found, len(family))
    ]


def _asked_here(commit: Commit) -> set[str]:
    return {
        interrupt.interrupt_id
        for interrupt in commit.interrupts
        if interrupt.version == 1
        or any(
            e.type == "interrupt.requested"
            and (e.record or {}).get("interruptId") == interrupt.interrupt_id
            for e in commit.events
        )
    }


def _new(interrupt: Interrupt) -> tuple[Any, ...]:
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


def _changed(interrupt: Interrupt) -> tuple[Any, ...]:
    return (
        interrupt.interrupt_id,
        interrupt.status,
        interrupt.version,
        codec.dump_progress(interrupt),
        bool(interrupt.notify),
    )


def _transposed(rows: list[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]
