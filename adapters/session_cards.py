"""What people see of a session: the posts of its thread, and which branch a question of it parks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adapters.languages.catalogue import Words, words_of
from adapters.views import Card, Fact, Reader, Thread
from host.decisions.session import Session, Told, on_path, path
from host.decisions.session_thread import thread_name
from host.decisions.session_thread import words_of as text_of

_NAME = 80
_QUOTE = 200


def thread_of_session(session: Session, run_id: str, reader: Reader) -> Thread:
    """The thread itself. Each of its posts adds what it says (`prompt`)."""
    words = words_of(reader.locale)
    agent = session.agent_id[:_NAME]
    return Thread(
        conversation_id=thread_name(run_id),
        title=f"{agent}: {session.session_id[:_NAME]}",
        intro=words("session.root", agent=agent),
    )


def post_of(session: Session, told: Told, titles: Mapping[str, str], reader: Reader) -> Card:
    """One post of the thread, as a card that asks nothing: `body` is what it says, in Markdown.

    `titles` are the titles of the interrupts that the post names, by their ids.
    """
    words = words_of(reader.locale)
    if told.kind == "branch":
        body = "\n\n".join(_moved(session, told, titles, words))
    else:
        body = _said(session, told, words)
    return Card(
        interrupt_id=told.id,
        kind="session.post",
        state="open",
        version=1,
        title=session.agent_id[:_NAME],
        body=body,
        reader=reader,
    )


def placed(card: Card, session: Session, interrupt_id: str) -> Card:
    """An open question with the message that it was raised after, and that its branch was left if it was.
    Which conversation it parks stands in its text."""
    pause = next((p for p in session.pauses if p.host_id == interrupt_id), None)
    if pause is None or card.state != "open":
        return card
    words = words_of(card.reader.locale)
    after = _last(session, path(session, pause.anchor))
    found = [Fact(words("session.after"), after)] if after else []
    if not on_path(session, pause.anchor, session.head):
        found.append(Fact(words("session.branch"), words("session.abandoned")))
    return replace(card, facts=(*card.facts, *found))


def _said(session: Session, told: Told, words: Words) -> str:
    """A message: the agent's as it is, what a user wrote elsewhere with their name before it."""
    message = session.nodes[told.message or ""].message
    text = text_of(message)
    if message["role"] == "assistant":
        return text
    name = str(message.get("name") or session.owner.get("id", ""))[:_NAME]
    return words("session.says", name=name, text=text)


def _moved(session: Session, told: Told, titles: Mapping[str, str], words: Words) -> Iterable[str]:
    after = _last(session, path(session, told.head))
    yield words("session.elsewhere", text=after) if after else words("session.beginning")
    for name in told.waits:
        yield words("session.waits", title=titles.get(name, ""))
    for name in told.left:
        yield words("session.left", title=titles.get(name, ""))


def _last(session: Session, names: list[str]) -> str:
    """The last of these messages that says something, on one line, cut."""
    for name in reversed(names):
        message = session.nodes[name].message
        text = " ".join(text_of(message).split())
        if text and message["role"] in ("user", "assistant"):
            return text if len(text) <= _QUOTE else f"{text[: _QUOTE - 1]}…"
    return ""
