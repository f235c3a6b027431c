"""What a reply means for the interrupt that it answers: an answer, a comment, or nothing. Pure.

An approval takes one word; a decision that an agent was not sure of, the word that approves it as it is; a
clarification takes numbered answers; a conversation takes any text. Whatever a line of text can't carry (an
edit, a custom request's JSON, an approval that asks for one more look) is answered on the page. What is no
answer is a comment, and never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from adapters.email.inbound.commands import numbered
from adapters.email.inbound.reading import Reading
from adapters.email.inbound.words import decision_of, folded
from adapters.forms import read_values
from adapters.languages.catalogue import words_of
from adapters.views import Card, Field, Form

if TYPE_CHECKING:
    from adapters.email.inbound.reading import Reading

Policy = Literal["off", "comment", "decide"]

MAX_COMMENT: Final = 3000
"""Characters of a comment: what fits into any channel that shows it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """It answers. `value` as `adapters.channel.Response` takes it."""

    action: Literal["accept", "reject", "answer"]
    value: Any


@dataclass(frozen=True, slots=True)
class Comment:
    """It decides nothing. `why` says, for an operator, why it doesn't."""

    text: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Wrong:
    """It means to answer, and what it says doesn't fit: a sentence for each question."""

    problems: dict[str, str] = field(default_factory=dict)


Meaning = Answer | Comment | Wrong


def meaning_of(reading: Reading, card: Card, form: Form | None, policy: Policy) -> Meaning:
    """`form` is what the card asks for an answer, None when it asks nothing in words."""
    comment = Comment(reading.text[:MAX_COMMENT], reading.doubt)
    if policy != "decide":
        return Comment(comment.text, "replies may only comment here")
    if card.kind == "approval":
        return _vote(reading, card, comment)
    if card.kind == "low-confidence" and card.proposal is not None:
        return _ratified(reading, card, comment)
    if form is None or not reading.text.strip():
        return comment
    if card.kind == "clarification":
        return _answers(reading.text, card, form) or Comment(comment.text, _PAGE)
    if card.kind == "conversation.exchange" and len(form.fields) == 1:
        return _turn(reading.text, card, form)
    return Comment(comment.text, _PAGE)


_PAGE: Final = "this kind of question is answered on its page"
_LINES: Final = frozenset(
    ("text", "longtext", "choice", "boolean", "integer", "number", "date", "time", "datetime")
) | {"email", "url", "list"}


def _vote(reading: Reading, card: Card, comment: Comment) -> Answer | Comment:
    command = reading.command
    if command is None:
        return comment
    offered = next((a for a in card.actions if a.id == command.decision), None)
    if offered is None:
        return Comment(comment.text, f"this request offers no {command.decision}")
    if offered.confirm or offered.needs not in ("nothing", "reason"):
        return Comment(comment.text, "this choice has to be confirmed on the page")
    value = {"feedback": command.rest[:MAX_COMMENT]} if command.rest else {}
    return Answer(command.decision, value)


def _ratified(reading: Reading, card: Card, comment: Comment) -> Answer | Comment:
    """Yes to what is proposed. There is no plain no: whoever wants another decision has to say which;
    and no room for a reason, so a yes with more below it may be a yes to something else."""
    command = reading.command
    if command is None:
        return comment
    if command.decision != "accept" or command.rest:
        return Comment(comment.text, "another decision than the proposed one is made on the page")
    return Answer("answer", card.proposal)


def questions(form: Form) -> list[Field] | None:
    """The questions of a clarification in the order of their numbers; None when a line of text can't
    answer one of them."""
    if form.web_only:
        return None
    asked = [each for each in form.fields if each.kind != "constant"]
    simple = all(len(each.path) == 2 and each.kind in _LINES for each in asked)
    return asked if asked and simple and len(asked) == len(form.fields) else None


def _answers(text: str, card: Card, form: Form) -> Answer | Wrong | None:
    asked = questions(form)
    if asked is None:
        return None
    found = numbered(text, len(asked))
    if not found and len(asked) == 1:
        found = {1: text}
    if not found:
        return None
    locale = card.reader.locale
    raw = {
        each.id: raw_answer(each, found[number], locale)
        for number, each in enumerate(asked, start=1)
        if number in found
    }
    value, problems = read_values(form, raw, words_of(locale))
    if problems:
        labels = {each.id: f"{n}. {each.label}" for n, each in enumerate(asked, start=1)}
        return Wrong({labels.get(name, ""): sentence for name, sentence in problems.items()})
    return Answer("answer", value)


def _turn(text: str, card: Card, form: Form) -> Answer | Comment | Wrong:
    (asked,) = form.fields
    if asked.kind not in _LINES or len(asked.path) > 1 or form.web_only:
        return Comment(text[:MAX_COMMENT], _PAGE)
    raw = {asked.id: raw_answer(asked, text, card.reader.locale)}
    value, problems = read_values(form, raw, words_of(card.reader.locale))
    return (
        Wrong({asked.label: " ".join(problems.values())}) if problems else Answer("answer", value)
    )


def raw_answer(asked: Field, text: str, locale: str) -> str:
    """What somebody wrote, as a form's field takes it: an option by its words, yes and no in their
    language. What can't be told stays as it is, and is refused with a sentence."""
    text = text.strip()
    if asked.kind == "longtext":
        return text
    line = text.split("\n")[0].strip() if asked.kind != "list" else text
    if asked.kind == "choice":
        return _option(asked, line)
    if asked.kind == "boolean":
        decision = decision_of(folded(line), locale)
        return {"accept": "true", "reject": "false"}.get(decision or "", line)
    if asked.kind == "text" and "\n" in text:
        return " ".join(text.split())
    return line


def _option(asked: Field, line: str) -> str:
    said = folded(line)
    options: Sequence[tuple[str, str]] = [
        (folded(str(one.label)), folded(str(one.value))) for one in asked.choices
    ]
    found = [number for number, names in enumerate(options) if said in names]
    return str(found[0]) if len(found) == 1 else "?"
