"""What a mail offers to those who would rather reply than open a page. Pure.

It promises no more than receiving keeps (`inbound.meaning`): one word or code where a vote, or the
decision that an agent proposes, needs nothing else; numbered lines where each answer fits on one; and
otherwise a comment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from adapters.email.codes import short_codes
from adapters.email.inbound.meaning import questions
from adapters.languages.catalogue import Words, words_of
from adapters.views import Card

Policy = Literal["off", "comment", "decide"]

NOTHING_ELSE: Final = ("nothing", "reason")


@dataclass(frozen=True, slots=True)
class Offer:
    """The sentence, and the choices below it, one a line."""

    sentence: str
    lines: tuple[str, ...] = ()


def offer_of(card: Card, handle: str, policy: Policy) -> Offer | None:
    """What a reply to the mail with this reply handle can do; None when replies aren't read.

    `policy` is the gateway's; a request may ask for less.
    """
    if "off" in (policy, card.replies):
        return None
    if policy == "off" or not handle or card.state != "open":
        return None
    words = words_of(card.reader.locale)
    comment = Offer(words("mail.reply_comment"))
    if "comment" in (policy, card.replies):
        return comment
    if card.kind == "approval":
        lines = _votes(card, handle, words)
        return Offer(words("mail.reply_decide"), lines) if lines else comment
    if card.kind == "low-confidence" and card.proposal is not None:
        return Offer(words("mail.reply_decide"), (_ratify(handle, words),))
    asked = questions(card.form) if card.form is not None else None
    if card.kind == "clarification" and asked is not None:
        return Offer(words("mail.reply_numbers" if len(asked) > 1 else "mail.reply_text"))
    if card.kind == "conversation.exchange" and card.form is not None:
        whole = len(card.form.fields) == 1 and len(card.form.fields[0].path) < 2
        return Offer(words("mail.reply_text")) if whole and not card.form.web_only else comment
    return comment


def _votes(card: Card, handle: str, words: Words) -> tuple[str, ...]:
    offered = {a.id: a for a in card.actions if not a.confirm and a.needs in NOTHING_ELSE}
    return tuple(
        words(
            "mail.reply_code",
            code=code,
            word=words.all_of(f"reply.{decision}")[0],
            label=" ".join(offered[decision].label.split())[:80],
        )
        for code, decision in short_codes(handle).items()
        if decision in offered
    )


def _ratify(handle: str, words: Words) -> str:
    (code,) = (code for code, decision in short_codes(handle).items() if decision == "accept")
    word = words.all_of("reply.accept")[0]
    return words("mail.reply_code", code=code, word=word, label=words("mail.reply_ratify"))
