"""The answers to a sent form: errors beside the fields, a sentence in its place. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.languages.catalogue import Words
from adapters.slack import blocks as b
from adapters.slack import modal
from adapters.slack.acks import Ack
from adapters.slack.receive import Submitted
from adapters.views import Form


def problems(form: Form, sent: Submitted, words: Words, found: Mapping[str, str]) -> Ack:
    """Each sentence beside its field."""
    placed = modal.errors(form, found)
    if placed:
        return Ack(body={"response_action": "errors", "errors": placed})
    return refused(sent, words, " ".join(found.values()))


def again(sent: Submitted, words: Words, sentence: str) -> Ack:
    """The form stays as it is, with the sentence at its first input."""
    for block in sent.blocks:
        if block.get("type") == "input" and block.get("block_id"):
            errors = {str(block["block_id"]): b.cut(sentence, 300)}
            return Ack(body={"response_action": "errors", "errors": errors})
    return refused(sent, words, sentence)


def refused(sent: Submitted, words: Words, sentence: str) -> Ack:
    """The form becomes the sentence, with what was typed to copy from."""
    return notice(sent.binding, words, sentence, kept=modal.typed(sent.blocks, sent.state))


def notice(binding: modal.Binding, words: Words, sentence: str, kept: str = "") -> Ack:
    """The form becomes the sentence."""
    title = words("slack.not_recorded")
    view = modal.notice_view(title, sentence, binding, kept=kept, words=words)
    return Ack(body={"response_action": "update", "view": view})


def telling(
    words: Words, title: str, sentence: str, binding: modal.Binding, link: str = ""
) -> dict[str, Any]:
    """A view that only tells."""
    return modal.notice_view(words(title), sentence, binding, link=link, words=words)
