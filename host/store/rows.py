"""Rows to records, and what a listing asks for, where both stores have the same columns: written once, so
that the two can't come to differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from host.audit import Entry
from host.store.documents import Document
from host.store.port import Message, MessageStatus
from host.store.shelf import Wanted
from host.store.webhooks import Subscription


def message_key(message: Message) -> tuple[str, str, str]:
    """What names a message's row."""
    return message.interrupt_id, message.channel, message.address


def load_message(row: Any) -> Message:
    """From (interrupt_id, channel, address, thread, wanted, shown, ref, attempts, fence)."""
    return Message(
        interrupt_id=row[0],
        channel=row[1],
        address=row[2],
        thread=row[3],
        wanted=row[4],
        shown=row[5],
        ref=orjson.loads(row[6]) if row[6] else None,
        attempts=row[7],
        fence=row[8],
    )


MESSAGE_STATUS: Final = "channel, address, due_at, wanted, shown, attempts, error, ref"
"""The columns that `load_message_status` reads, in its order."""


def load_message_status(row: Any) -> MessageStatus:
    """A message is due, or shows what it should, or has been given up."""
    return MessageStatus(
        channel=row[0],
        address=row[1],
        state="due" if row[2] is not None else "shown" if row[4] >= row[3] else "dead",
        wanted=row[3],
        shown=row[4],
        attempts=row[5],
        error=row[6],
        ref=orjson.loads(row[7]) if row[7] else None,
    )


SUBSCRIPTION: Final = (
    "webhook_id, url, events, tags, algorithms, secret, secret_made, previous_secret, previous_until, "
    "created_at, failing_since, disabled"
)
"""The columns that `load_subscription` reads, in its order."""


def load_subscription(row: Any, texts: Callable[[Any], Sequence[str]] = tuple) -> Subscription:
    """`texts` reads a column with several: an array of the database, or JSON."""
    return Subscription(
        webhook_id=row[0],
        url=row[1],
        events=tuple(texts(row[2])),
        tags=tuple(texts(row[3])),
        algorithms=tuple(texts(row[4])),
        secret=row[5],
        secret_made=bool(row[6]),
        previous_secret=row[7],
        previous_until=row[8],
        created_at=row[9],
        failing_since=row[10],
        disabled=row[11],
    )


DOCUMENT: Final = "key, value, version, expires_at"


def load_document(row: Any) -> Document:
    """From the columns `DOCUMENT`."""
    return Document(row[0], orjson.loads(row[1]), row[2], row[3])


def load_entry(row: Any) -> Entry:
    """An entry of the audit trail, from its one column."""
    return Entry(**orjson.loads(row[0]))


def shelf_conditions(wanted: Wanted, standing: str, mark: str, args: list[Any]) -> list[str]:
    """What a listing of the shelf asks of `standing` (an expression) and the columns, to be joined by AND.

    `args` are the arguments so far, which it adds to; the n-th is written `mark` and n.
    """

    def argument(value: Any) -> str:
        args.append(value)
        return f"{mark}{len(args)}"

    where: list[str] = []
    if wanted.source:
        where.append(f"source = {argument(wanted.source)}")
    if wanted.standing == "duplicate":
        where.append("duplicates > 0")
    elif wanted.standing:
        where.append(f"{standing} = {argument(wanted.standing)}")
        if wanted.standing != "applied":
            where.append("state <> 'applied'")  # for the index
    if wanted.before is not None:
        last = ", ".join(argument(value) for value in wanted.before)
        where.append(f"(received_at, source, event_id) < ({last})")
    return where
