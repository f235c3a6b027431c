"""What waits for somebody -> the Home tab, the list in a modal, the answer of `/sayso inbox`. Pure.

A Home tab has at most 100 blocks and a message 50; an item takes three. So a page has 18 items in the
Home tab and in a modal, and 10 in a message.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from adapters.inbox import Listing
from adapters.languages.catalogue import Words
from adapters.slack import blocks as b
from adapters.slack.entries import LIST, PAGES, REVIEW
from adapters.slack.modal import LINK_ACTION
from adapters.slack.render import Message
from adapters.views import Card

ON_A_PAGE: Final = 18
IN_A_MESSAGE: Final = 10
_TITLE: Final = 300


def home(listing: Listing, decided: Sequence[Card], words: Words, page: int = 0) -> b.Block:
    """The whole Home tab of one person."""
    found = _list(listing, words, page, ON_A_PAGE)
    if decided:
        if found[-1]["type"] != "divider":
            found.append({"type": "divider"})
        found.append(b.header(words("inbox.decided")))
        found += [_decided(card) for card in decided[:10]]
    found.append(b.context(b.plain(words("inbox.help"))))
    return {"type": "home", "blocks": found}


def modal(listing: Listing, words: Words, page: int = 0) -> b.Block:
    """The list as a modal."""
    return {
        "type": "modal",
        "callback_id": LIST,
        "title": b.plain(words("inbox.title"), 24),
        "close": b.plain(words("slack.close"), 24),
        "private_metadata": json.dumps({"page": page}),
        "blocks": _list(listing, words, page, ON_A_PAGE),
    }


def message(listing: Listing, words: Words) -> Message:
    """The list as a message that one person sees."""
    heading = _heading(listing, words)
    found = [b.header(heading)]
    for card in listing.cards[:IN_A_MESSAGE]:
        found += _item(card, words)
    if len(listing.cards) > IN_A_MESSAGE:
        found.append(b.context(b.plain(words("inbox.more_in_home"))))
    lines = [heading, *(card.title for card in listing.cards[:IN_A_MESSAGE])]
    return Message(b.spoken("\n".join(lines), 3000), found)


def details(card: Card, words: Words) -> Message:
    """One request as a message that one person sees, with the way to answer it."""
    found = about(card, words)
    if card.state == "open":
        found.append({"type": "actions", "elements": [_review(card, words)]})
    return Message(b.spoken(card.title, 3000), found)


def about(card: Card, words: Words) -> list[b.Block]:
    """A request in full, above the form that answers it: at most eight blocks."""
    found: list[b.Block] = [{"type": "section", "text": _title(card)}]
    if card.body.strip() and card.body.strip() != card.title.strip():
        found.append(b.section(card.body, 2000))
    if card.outcome:
        found.append(b.section(card.outcome, 600))
    found += b.pairs([(fact.label, fact.value) for fact in card.facts[:10]])
    if b.clean(card.evidence).strip():
        found.append(b.fenced(card.evidence, 1500))
    if card.discussion:
        lines = "\n".join(f"{said.label}: {said.value}" for said in card.discussion)
        found.append(b.section(lines, 1500))
    found.append(b.context(*_small_print(card, words)))
    return found


def _list(listing: Listing, words: Words, page: int, on_a_page: int) -> list[b.Block]:
    pages = max(1, -(-len(listing.cards) // on_a_page))
    page = min(max(page, 0), pages - 1)
    shown = listing.cards[page * on_a_page : (page + 1) * on_a_page]
    found = [b.header(_heading(listing, words))]
    if not shown:
        found.append(b.section(words("inbox.nothing")))
    for card in shown:
        found += _item(card, words)
    if pages > 1:
        found += _pager(words, page, pages)
    return found


def _heading(listing: Listing, words: Words) -> str:
    count = f"{len(listing.cards)}{'+' if listing.more else ''}"
    return words("inbox.waiting", count=count)


def _pager(words: Words, page: int, pages: int) -> list[b.Block]:
    buttons = []
    if page > 0:
        buttons.append(b.button(words("inbox.before"), PAGES[0], value=str(page - 1)))
    if page < pages - 1:
        buttons.append(b.button(words("inbox.next"), PAGES[1], value=str(page + 1)))
    place = b.context(b.plain(words("inbox.page", page=page + 1, pages=pages)))
    return [place, {"type": "actions", "elements": buttons}]


def _item(card: Card, words: Words) -> list[b.Block]:
    row: b.Block = {"type": "section", "text": _title(card), "accessory": _review(card, words)}
    asked = card.facts[0] if card.facts else None
    who = [b.plain(f"{asked.label}: {asked.value}", 200)] if asked is not None else []
    return [row, b.context(*who, *_small_print(card, words)), {"type": "divider"}]


def _title(card: Card) -> b.Block:
    title = " ".join(b.clean(card.title).split())
    return b.mrkdwn(f"*{b.unformatted(b.cut(title, _TITLE)) or '–'}*")


def _review(card: Card, words: Words) -> b.Block:
    value = json.dumps({"i": card.interrupt_id, "v": card.version}, separators=(",", ":"))
    found = b.button(words("inbox.review"), REVIEW, value=value, style="primary")
    label = f"{words('inbox.review')}: {card.title}"
    found["accessibility_label"] = b.cut(b.clean(label), b.BUTTON_TEXT)
    return found


def _small_print(card: Card, words: Words) -> list[b.Block]:
    found: list[b.Block] = []
    if card.progress and card.state == "open":
        found.append(b.plain(card.progress, 300))
    if card.deadline is not None and card.state == "open":
        found.append(b.mrkdwn(words("slack.open_until", moment=b.moment(card.deadline))))
    found.append(b.plain(card.reference or card.interrupt_id[-8:], 100))
    return found


def _decided(card: Card) -> b.Block:
    parts = [b.plain(f"{card.title}: {card.outcome or card.state}", 300)]
    if card.decided_at is not None:
        parts.append(b.mrkdwn(b.moment(card.decided_at)))
    return b.context(*parts)


def with_link(blocks: list[b.Block], label: str, link: str) -> list[b.Block]:
    """The blocks and below them the way to a request's page."""
    if not link or len(link) > 3000:
        return blocks
    button = b.button(label, LINK_ACTION, url=link)
    return [*blocks, {"type": "actions", "elements": [button]}]
