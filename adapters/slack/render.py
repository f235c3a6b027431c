"""View -> Slack message. Pure: the same card always gives the same blocks.

A card is always drawn whole from its own state, never from the blocks of a message that came back:
Slack returns those escaped, and they grow with each round.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final

from adapters.languages.catalogue import Words, words_of
from adapters.slack import blocks as b
from adapters.slack import choices, markdown
from adapters.slack.modal import LINK_ACTION, unfit
from adapters.views import Action, Card, Fact, Thread

ACTION_PREFIX: Final = "sayso."

# Slack refuses a message whose texts sum to more than about 13,200 characters. With these, the worst
# card (every text as long as it gets, six buttons that ask for confirmation) stays below.
TITLE: Final = 600
OUTCOME: Final = 600
BODY: Final = 2900
EVIDENCE: Final = 1500
FACTS: Final = 10
DISCUSSION: Final = 800
TURN: Final = 8000
TEXT: Final = 3500  # chat.update refuses a top-level text above 4,000

_MARK: Final = {"open": "", "resolved": "✔ ", "cancelled": "🚫 ", "expired": "⌛ "}


@dataclass(frozen=True, slots=True)
class Message:
    """What chat.postMessage and chat.update take. Always both: text alone would delete the
    blocks.
    """

    text: str
    blocks: list[b.Block]


def card(view: Card, link: str = "", *, below: bool = True) -> Message:
    """The message of one interrupt in its present state. `link` is its web page, or empty; without
    `below` nothing is said of replies in a thread below it, for it stands in one itself."""
    words = words_of(view.reader.locale)
    found = [b.header(view.title)]
    if b.cost(view.title) > b.HEADER_TEXT:
        found.append(b.section(view.title, TITLE))
    if view.state == "open":
        found += _question(view)
    else:
        found += _outcome(view, words)
    found += b.pairs([(fact.label, fact.value) for fact in view.facts[:FACTS]])
    if view.state == "open":
        found += _evidence(view.evidence, words)
    found += _discussion(view)
    found.append(b.context(*_small_print(view, words, below)))
    found += _actions(view, link, words)
    return Message(_text(view, words), found)


def minimal(view: Card, link: str = "") -> Message:
    """For the card that Slack refused: the title, why so little, and the way to the web page."""
    words = words_of(view.reader.locale)
    where = words("slack.open_there") if link else words("slack.no_web")
    found = [b.header(view.title), b.section(f"{words('slack.not_shown')} {where}")]
    found.append(b.context(*_small_print(view, words)))
    if link:
        found.append(_link_row(words("slack.open"), link))
    return Message(_text(view, words), found)


def root(view: Card, thread: Thread, link: str = "") -> Message:
    """The first message of a conversation's thread."""
    words = words_of(view.reader.locale)
    found = [b.header(thread.title or view.title)]
    if view.body and not thread.prompt and not thread.intro:
        found.append(markdown.block(view.body))
    found.append(b.context(b.plain(thread.intro or words("slack.conversation_root"))))
    if link and not thread.prompt and not thread.intro:
        found.append(_link_row(words("slack.open_on_web"), link))
    title = words("slack.conversation", title=thread.title or view.title)
    return Message(_join([title]), found)


def turn(view: Card, thread: Thread, link: str = "") -> Message:
    """One turn inside a conversation's thread: the question, or how it ended, or the closing."""
    words = words_of(view.reader.locale)
    if thread.closed and not thread.prompt:
        sentence = words("slack.closed", reason=thread.closed)
        return Message(_join([sentence]), [b.section(sentence)])
    prompt = thread.prompt or view.body or view.title
    found = [markdown.block(prompt, TURN if view.state == "open" else TURN // 2)]
    if view.state != "open":
        found += _outcome(view, words)
        return Message(_join([prompt, view.outcome]), found)
    hint = words("slack.reply_here") if view.kind == "conversation.exchange" else ""
    small = [b.plain(hint)] if hint else []
    small += _deadline(view, words)
    if small:
        found.append(b.context(*small))
    found += _actions(view, link, words)
    return Message(_join([prompt, hint]), found)


def parked(sentence: str, waits: Sequence[tuple[str, str]], words: Words) -> Message:
    """Why something that was said in a session's thread was not passed on: the titles of what has to be
    answered first, each with where its card is, or ""."""
    found, lines = [b.section(sentence)], [sentence]
    for title, link in waits:
        line = words("session.waits_for", title=b.cut(title, TITLE))
        block = b.section(line)
        if link:
            block["accessory"] = b.button(words("slack.open"), LINK_ACTION, url=link)
        found.append(block)
        lines.append(line)
    return Message(_join(lines), found)


def _question(view: Card) -> list[b.Block]:
    return [b.section(view.body, BODY)] if view.body.strip() else []


def _outcome(view: Card, words: Words) -> list[b.Block]:
    outcome = view.outcome or view.state.capitalize()
    found = [b.section(_MARK[view.state] + outcome, OUTCOME)]
    small: list[b.Block] = []
    if view.decided_by and view.decided_by not in outcome:
        small.append(b.plain(words("slack.decided_by", name=view.decided_by), 200))
    if view.decided_at is not None:
        small.append(b.mrkdwn(words("slack.decided", moment=b.moment(view.decided_at))))
    if small:
        found.append(b.context(*small))
    if view.reason.strip():
        found.append(b.section(words("slack.reason", reason=view.reason), BODY))
    return found


def _evidence(evidence: str, words: Words) -> list[b.Block]:
    shown = b.clean(b.ahead(evidence, EVIDENCE)).strip("\n")
    if not shown:
        return []
    found = [b.fenced(shown, EVIDENCE)]
    if len(evidence) > EVIDENCE or b.cost(shown) > EVIDENCE:
        digest = hashlib.sha256(evidence.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        found.append(
            b.context(
                b.plain(words("slack.cut", count=f"{len(evidence):,}"), 200),
                b.plain(words("slack.digest", digest=digest), 100),
            )
        )
    return found


def _discussion(view: Card) -> list[b.Block]:
    """What was asked about it lately. The whole of it stands in the thread."""
    if not view.discussion:
        return []
    lines = (f"{b.cut(said.label, 80)}: {b.cut(said.value, 200)}" for said in view.discussion)
    return [b.section("\n".join(lines), DISCUSSION)]


def _small_print(view: Card, words: Words, below: bool = True) -> list[b.Block]:
    found: list[b.Block] = []
    if view.progress and view.state == "open":
        found.append(b.plain(view.progress, 300))
    found += _deadline(view, words)
    if below and view.state == "open" and choices.spoken(view) is not None:
        found.append(b.plain(words("thread.answer_here"), 100))
    elif below and any(action.id == "ask" for action in view.actions):
        found.append(b.plain(words("thread.ask_here"), 100))
    reference = view.reference or view.interrupt_id[-8:]
    found.append(b.plain(words("slack.reference", reference=reference), 100))
    return found


def _deadline(view: Card, words: Words) -> list[b.Block]:
    if view.deadline is None or view.state != "open":
        return []
    found = [b.mrkdwn(words("slack.open_until", moment=b.moment(view.deadline)))]
    if view.at_deadline:
        found.append(b.plain(view.at_deadline, 300))
    return found


def _actions(view: Card, link: str, words: Words) -> list[b.Block]:
    """The buttons of an open card, and the link to its page in every state."""
    found: list[b.Block] = []
    web_only = ""
    if view.state == "open":
        web_only = unfit(view.form, words) if view.form is not None else ""
        short = choices.quick(view)
        for action in view.actions:
            if action.needs == "answers" and short is not None:
                found += choices.buttons(view, short, words)
            elif not (web_only and link and action.needs == "answers"):
                found.append(_button(view, action, words))
    rows: list[b.Block] = []
    if link:
        label = words("slack.open_form") if web_only else words("slack.open_on_web")
        found.append(b.button(label, LINK_ACTION, url=link, style="primary" if web_only else ""))
    if web_only and link:
        rows.append(b.context(b.plain(words("slack.on_the_web", reason=web_only), 400)))
    if found:
        # A new block_id for each version: Slack wants one for each iteration of a message.
        rows.append({"type": "actions", "block_id": f"sayso.v{view.version}", "elements": found})
    return rows


def _button(view: Card, action: Action, words: Words) -> b.Block:
    style = "" if action.style == "plain" else action.style
    value = json.dumps(
        {"i": view.interrupt_id, "v": view.version, "n": action.needs}, separators=(",", ":")
    )
    found = b.button(action.label, ACTION_PREFIX + action.id, value=value, style=style)
    found["accessibility_label"] = b.cut(b.clean(f"{action.label}: {view.title}"), b.BUTTON_TEXT)
    if action.confirm:
        found["confirm"] = b.confirmation(
            words("slack.sure", action=action.label),
            action.confirm,
            action.label,
            words("slack.back"),
            danger=style == "danger",
        )
    return found


def _link_row(label: str, link: str) -> b.Block:
    return {"type": "actions", "elements": [b.button(label, LINK_ACTION, url=link)]}


def _text(view: Card, words: Words) -> str:
    """All that a screen reader and a notification get: title, state or question, facts,
    deadline.
    """
    parts = [view.title]
    if view.state != "open":
        reason = view.reason and words("slack.reason", reason=view.reason)
        parts += [view.outcome or view.state.capitalize(), reason]
    else:
        parts += [view.body and b.cut(view.body, 1500), view.progress]
        parts += [_fact(fact) for fact in view.facts[:6]]
        if view.deadline is not None:
            moment = f"{view.deadline.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            parts.append(words("slack.open_until", moment=moment))
    return _join(parts)


def _fact(fact: Fact) -> str:
    return f"{b.cut(fact.label, 100)}: {b.cut(fact.value, 200)}"


def _join(parts: list[Any]) -> str:
    lines = [b.clean(str(part)).strip() for part in parts if part]
    return b.spoken("\n".join(line for line in lines if line), TEXT)
