"""What a commit wants to have shown: messages of new interrupts, and posts in a session's thread."""

from __future__ import annotations

from collections.abc import Iterable

from host.decisions.session_thread import thread_name
from host.decisions.state import Interrupt, NewEvent, State
from host.store.records import NewMessage


def new_messages(
    new: Iterable[Interrupt], events: Iterable[NewEvent], after: State
) -> tuple[NewMessage, ...]:
    """The messages of the interrupts `new`, and what `events` tell the thread of the session."""
    place = after.session.thread if after.session is not None else ""
    found = [message for interrupt in new for message in _of(interrupt, place)]
    if place:
        channel, _, address = place.partition(":")
        thread = thread_name(after.run.run_id)
        for event in events:
            if event.type == "sayso.thread-told" and event.payload["kind"] in ("message", "branch"):
                found.append(NewMessage(event.payload["id"], channel, address, thread))
    return tuple(found)


def _of(interrupt: Interrupt, place: str) -> list[NewMessage]:
    """One an address, in its conversation's thread; at the session's place, in the session's."""
    conversation = interrupt.data.get("conversationId", "")
    found = []
    for text in interrupt.notify:
        channel, _, address = text.partition(":")
        thread = thread_name(interrupt.run_id) if text == place else conversation
        found.append(NewMessage(interrupt.interrupt_id, channel, address, thread))
    return found
