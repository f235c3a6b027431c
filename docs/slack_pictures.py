"""Every card, modal and list of Slack as a document to draw: what `adapters/slack` makes of the examples.

`pictures.py` draws them, `slack-cards.md` shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

import blockkit
import scenario
import session_scenario as sessions
import slack_scenario as examples

from adapters.cards import form_for
from adapters.forms import read_values
from adapters.inbox import Listing
from adapters.languages.catalogue import ENGLISH, words_of
from adapters.reminders import Reminder
from adapters.slack import changes, listing, modal, reminding, render, review
from adapters.slack.modal import Binding
from adapters.slack.render import Message
from adapters.views import Card, Form

Picture = tuple[str, str]
"""A name and an HTML document."""

_ZONE = ZoneInfo("Europe/Berlin")
READER = blockkit.Reader(
    scenario.ASKED.astimezone(_ZONE), {"U0ADA": "Ada Lindqvist", "U0GRACE": "Grace Okafor"}
)


def pictures() -> Iterator[Picture]:
    """All of them."""
    endings = examples.endings()
    yield _channel("slack-outcomes", endings[:3])
    yield _channel("slack-outcomes-2", endings[3:])
    yield _channel("slack-short-questions", examples.short_questions())
    others = examples.others()
    yield _channel("slack-events", others[:2])
    yield _channel("slack-kinds", others[2:])
    yield _channel("slack-long-arguments", [examples.long()])
    yield _channel("slack-german", [examples.approval().card("de")])
    yield "slack-confirm", _confirmation()
    link = "https://sayso.example.com/a/3vT9"
    yield "slack-minimal", blockkit.page(_message(render.minimal(examples.long(), link)))
    yield "slack-conversation", _conversation()
    yield "slack-session", _session()
    yield "slack-reminder", _reminder()
    yield from _modals()
    yield from _lists()


def _modals() -> Iterator[Picture]:
    card = examples.approval().card()
    for action in ("reject", "refine", "ask"):
        yield _modal(f"slack-modal-{action}", [_form(card, action)])
    edit = _form(card, "edit-accept")
    yield _modal("slack-modal-edit", [edit, _changed(card)])
    over = examples.approval().expires().card()
    closed = modal.notice_view("Already closed", over.outcome, _binding(over, "accept"))
    kept = modal.notice_view(
        ENGLISH("slack.not_recorded"), "This request is already answered by Grace Okafor.",
        _binding(over, "refine"), kept="What should change?: Less the transport, 180.00 €.",
    )  # fmt: skip
    web = modal.notice_view(
        ENGLISH("slack.open_form"),
        ENGLISH("slack.on_the_web", reason="It has 74 fields, more than fit in a dialog."),
        _binding(card, "answer"),
        link="https://sayso.example.com/a/3vT9",
    )
    yield _modal("slack-modal-notices", [closed, kept, web])
    yield _modal("slack-modal-loading", [modal.loading_view(_binding(card, "answer"))])


def _lists() -> Iterator[Picture]:
    waiting, decided = Listing(tuple(examples.waiting())), examples.decided()
    home = listing.home(waiting, decided, ENGLISH)
    empty = listing.home(Listing(), (), ENGLISH)
    yield "slack-home", blockkit.page(blockkit.home(home, READER))
    yield "slack-home-empty", blockkit.page(blockkit.home(empty, READER))
    yield _modal("slack-my-approvals", [listing.modal(waiting, ENGLISH)])
    card = waiting.cards[0]
    yield _modal("slack-review", [review.view(card, _binding(card, review.ACTION), ENGLISH)])
    text = "Do we still have the spindle in stock?"
    yield _modal("slack-ask-about", [review.ask_view(waiting.cards[:2], text, ENGLISH)])
    shown = [_message(listing.message(waiting, ENGLISH)), _message(listing.details(card, ENGLISH))]
    help_text = _message(
        Message("", [{"type": "section", "text": _plain(ENGLISH("inbox.help_command"))}])
    )
    notes = (
        blockkit.note("/sayso"),
        blockkit.note("/sayso show 8X9T3B6"),
        blockkit.note("/sayso help"),
    )
    body = "".join(part for pair in zip(notes, [*shown, help_text], strict=True) for part in pair)
    yield "slack-command", blockkit.page(body)


def _channel(name: str, cards: Sequence[Card]) -> Picture:
    return name, blockkit.page("".join(_message(render.card(card, card.link)) for card in cards))


def _message(message: Message) -> str:
    return blockkit.message(message.blocks, READER, scenario.ASKED)


def _plain(text: str) -> dict[str, str]:
    return {"type": "plain_text", "text": text}


def _confirmation() -> str:
    """A request of high risk, and what is asked when its first button is pressed."""
    message = render.card(examples.approval().card())
    buttons = [e for one in message.blocks if one["type"] == "actions" for e in one["elements"]]
    [dialog] = [button["confirm"] for button in buttons if "confirm" in button]
    return blockkit.page(_message(message) + blockkit.confirmation(dialog, READER))


def _conversation() -> str:
    first, asked, second, again = examples.conversation()
    replies = [
        _message(render.turn(first, asked)),
        blockkit.reply("Ada Lindqvist", "The one of Wednesday, and be kind.", "2:05 PM"),
        _message(render.turn(second, again)),
    ]
    root = _message(render.root(first, asked))
    return blockkit.page(root + blockkit.thread(replies))


def _session() -> str:
    """A session's thread: what waits, a message that has to wait, and an edit that branches."""
    thread, said, card, moved, answer = sessions.thread()
    refused = render.parked(ENGLISH("session.parked"), [(card.title, "https://x")], ENGLISH)
    replies = [
        blockkit.reply("Ada Lindqvist", "Write to the customer of order 4711.", "2:04 PM"),
        _message(render.turn(said, thread)),
        _message(render.card(card, below=False)),
        blockkit.reply("Ada Lindqvist", "And tell her when it ships.", "2:05 PM"),
        _message(refused),
        blockkit.note("Ada Lindqvist edits her first message"),
        _message(render.turn(moved, thread)),
        _message(render.turn(answer, thread)),
    ]
    return blockkit.page(_message(render.root(said, thread)) + blockkit.thread(replies))


def _reminder() -> str:
    card = examples.quorum()
    message = reminding.message(Reminder(card, ("T1/U0ADA",)))
    replies = [
        _message(Message("", [{"type": "section", "text": _plain(_asks(card))}])),
        _message(message),
    ]
    return blockkit.page(_message(render.card(card)) + blockkit.thread(replies))


def _asks(card: Card) -> str:
    said = card.discussion[-1]
    return words_of("en")("thread.asks", name=said.label, question=said.value)


def _modal(name: str, views: Sequence[blockkit.Block]) -> Picture:
    return name, blockkit.page("".join(blockkit.modal(view, READER) for view in views))


def _binding(card: Card, action: str) -> Binding:
    return Binding(card.interrupt_id, action, card.version)


def _wanted(card: Card, action: str) -> Form:
    form = form_for(card, action)
    assert form is not None
    return form


def _form(card: Card, action: str) -> blockkit.Block:
    return modal.form_view(_wanted(card, action), _binding(card, action))


def _changed(card: Card) -> blockkit.Block:
    """After the amount was changed."""
    form = _wanted(card, "edit-accept")
    fields = tuple(
        replace(field, default="3820.00") if field.path[-1] == "amount" else field
        for field in form.fields
    )
    typed = replace(form, fields=fields)
    raw = {field.id: str(field.default) for field in typed.fields}
    answer, problems = read_values(form, raw)
    assert not problems
    view = changes.step(form, card, answer, _binding(card, "edit-accept"))
    assert view is not None
    return view
