"""View -> Slack message. Pure: the same card always gives the same blocks.

A card is always drawn whole from its own state, never from the blocks of a message that came back:
Slack returns those escaped, and they grow with each round.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from adapters.slack import blocks as b
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
TEXT: Final = 3500  # chat.update refuses a top-level text above 4,000

_MARK: Final = {"open": "", "resolved": "✔ ", "cancelled": "🚫 ", "expired": "⌛ "}


@dataclass(frozen=True, slots=True)
class Message:
    """What chat.postMessage and chat.update take. Always both: text alone would delete the
    blocks.
    """

    text: str
    blocks: list[b.Block]


def card(view: Card, link: str = "") -> Message:
    """The message of one interrupt in its present state. `link` is its web page, or empty."""
    found = [b.header(view.title)]
    if b.cost(view.title) > b.HEADER_TEXT:
        found.append(b.section(view.title, TITLE))
    if view.state == "open":
        found += _question(view)
    else:
        found += _outcome(view)
    found += b.pairs([(fact.label, fact.value) for fact in view.facts[:FACTS]])
    if view.state == "open":
        found += _evidence(view.evidence)
    found.append(b.context(*_small_print(view)))
    found += _actions(view, link)
    return Message(_text(view), found)


def minimal(view: Card, link: str = "") -> Message:
    """For the card that Slack refused: the title, why so little, and the way to the web page."""
    where = "Open it on the web." if link else "Ask whoever runs Sayso for its web page."
    found = [b.header(view.title), b.section(f"Slack could not show this request. {where}")]
    found.append(b.context(*_small_print(view)))
    if link:
        found.append(_link_row("Open", link))
    return Message(_text(view), found)


def root(view: Card, thread: Thread, link: str = "") -> Message:
    """The first message of a conversation's thread."""
    found = [b.header(thread.title or view.title)]
    if view.body and not thread.prompt:
        found.append(b.section(view.body, BODY))
    found.append(b.context(b.plain("A conversation: each question is asked in this thread.")))
    if link and not thread.prompt:
        found.append(_link_row("Open on the web", link))
    return Message(_join([f"Conversation: {thread.title or view.title}"]), found)


def turn(view: Card, thread: Thread, link: str = "") -> Message:
    """One turn inside a conversation's thread: the question, or how it ended, or the closing."""
    if thread.closed and not thread.prompt:
        sentence = f"This conversation is closed: {thread.closed}"
        return Message(_join([sentence]), [b.section(sentence)])
    prompt = thread.prompt or view.body or view.title
    found = b.paragraphs(prompt, 3 if view.state == "open" else 2)
    if view.state != "open":
        found += _outcome(view)
        return Message(_join([prompt, view.outcome]), found)
    hint = "Reply in this thread to answer." if view.kind == "conversation.exchange" else ""
    small = [b.plain(hint)] if hint else []
    small += _deadline(view)
    if small:
        found.append(b.context(*small))
    found += _actions(view, link)
    return Message(_join([prompt, hint]), found)


def _question(view: Card) -> list[b.Block]:
    return [b.section(view.body, BODY)] if view.body.strip() else []


def _outcome(view: Card) -> list[b.Block]:
    outcome = view.outcome or view.state.capitalize()
    found = [b.section(_MARK[view.state] + outcome, OUTCOME)]
    small: list[b.Block] = []
    if view.decided_by and view.decided_by not in outcome:
        small.append(b.plain(f"Decided by {view.decided_by}", 200))
    if view.decided_at is not None:
        small.append(b.mrkdwn(f"Decided {_date(view.decided_at)}"))
    if small:
        found.append(b.context(*small))
    if view.reason.strip():
        found.append(b.section(f"Reason: {view.reason}", BODY))
    return found


def _evidence(evidence: str) -> list[b.Block]:
    shown = b.clean(evidence).strip("\n")
    if not shown:
        return []
    found = [b.fenced(shown, EVIDENCE)]
    if b.cost(shown) > EVIDENCE:
        found.append(
            b.context(b.plain(f"Cut: {len(shown):,} characters in all, see the web page."))
        )
    return found


def _small_print(view: Card) -> list[b.Block]:
    found: list[b.Block] = []
    if view.progress and view.state == "open":
        found.append(b.plain(view.progress, 300))
    found += _deadline(view)
    found.append(b.plain(f"Reference {view.reference or view.interrupt_id[-8:]}", 100))
    return found


def _deadline(view: Card) -> list[b.Block]:
    if view.deadline is None or view.state != "open":
        return []
    found = [b.mrkdwn(f"Open until {_date(view.deadline)}")]
    if view.at_deadline:
        found.append(b.plain(view.at_deadline, 300))
    return found


def _date(moment: datetime) -> str:
    """A moment in the reader's own zone; in UTC for a client that can't do that."""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    fallback = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} {{time}}|{fallback}>"


def _actions(view: Card, link: str) -> list[b.Block]:
    """The buttons of an open card, and the link to its page in every state."""
    found: list[b.Block] = []
    web_only = ""
    if view.state == "open":
        web_only = unfit(view.form) if view.form is not None else ""
        for action in view.actions:
            if not (web_only and link and action.needs == "answers"):
                found.append(_button(view, action))
    rows: list[b.Block] = []
    if link:
        label = "Open the form" if web_only else "Open on the web"
        found.append(b.button(label, LINK_ACTION, url=link, style="primary" if web_only else ""))
    if web_only and link:
        rows.append(b.context(b.plain(f"{web_only} Please answer it on the web.", 400)))
    if found:
        # A new block_id for each version: Slack wants one for each iteration of a message.
        rows.append({"type": "actions", "block_id": f"sayso.v{view.version}", "elements": found})
    return rows


def _button(view: Card, action: Action) -> b.Block:
    style = "" if action.style == "plain" else action.style
    value = json.dumps(
        {"i": view.interrupt_id, "v": view.version, "n": action.needs}, separators=(",", ":")
    )
    found = b.button(action.label, ACTION_PREFIX + action.id, value=value, style=style)
    found["accessibility_label"] = b.cut(b.clean(f"{action.label}: {view.title}"), b.BUTTON_TEXT)
    if action.confirm:
        found["confirm"] = b.confirmation(
            f"{action.label}?", action.confirm, action.label, "Back", danger=style == "danger"
        )
    return found


def _link_row(label: str, link: str) -> b.Block:
    return {"type": "actions", "elements": [b.button(label, LINK_ACTION, url=link)]}


def _text(view: Card) -> str:
    """All that a screen reader and a notification get: title, state or question, facts,
    deadline.
    """
    parts = [view.title]
    if view.state != "open":
        parts += [view.outcome or view.state.capitalize(), view.reason and f"Reason: {view.reason}"]
    else:
        parts += [view.body and b.cut(view.body, 1500), view.progress]
        parts += [_fact(fact) for fact in view.facts[:6]]
        if view.deadline is not None:
            parts.append(f"Open until {view.deadline.astimezone(UTC):%Y-%m-%d %H:%M} UTC")
    return _join(parts)


def _fact(fact: Fact) -> str:
    return f"{b.cut(fact.label, 100)}: {b.cut(fact.value, 200)}"


def _join(parts: list[Any]) -> str:
    lines = [b.clean(str(part)).strip() for part in parts if part]
    joined = b.cut("\n".join(line for line in lines if line), TEXT)
    return b.escape(joined) or "–"
