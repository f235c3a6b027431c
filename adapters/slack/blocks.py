"""Small builders of Block Kit, and the two rules that hold for every text that goes into one.

1. Everything from outside is `clean`ed (bidi overrides and invisible characters are made visible:
   what an approver reads is what is there) and goes into `plain_text`, which Slack never parses. Where
   mrkdwn is needed it is escaped, `verbatim`, and without the characters that format.
2. Slack stores `&`, `<` and `>` as entities and counts those. So lengths are counted after
   escaping, and in UTF-16 units, the longest way that a client may count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

Block = dict[str, Any]

SECTION_TEXT: Final = 3000
HEADER_TEXT: Final = 150
FIELD_TEXT: Final = 2000
BUTTON_TEXT: Final = 75
ELLIPSIS: Final = "…"

_AHEAD: Final = 8  # of a text that is cut at a limit, no more than so many limits are looked at
_KEPT_CONTROLS = {"\n", "\t"}
_JOINERS = {"\u200c", "\u200d"}
# Joiners are wanted inside Persian or Indic words and emoji, and nowhere else: kept after a letter
# without case, a mark or a symbol, and visible inside a word that looks like another one.
_JOINED = {"Lo", "Mn", "Mc", "So", "Sk"}
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # letters without a shape
HIDDEN: Final = "\N{REPLACEMENT CHARACTER}"
AT: Final = "\N{FULLWIDTH COMMERCIAL AT}"
PING: Final = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)
_FORMATTING = str.maketrans({"`": "ˋ", "*": "∗", "_": "＿", "~": "∼"})


def clean(text: str) -> str:
    """`text` with what can't be seen made visible: control and bidi characters, zero-width ones, fillers
    and lone surrogates become a replacement character, a run of them one. Line separators end a line.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    shown: list[str] = []
    for char in text:
        if _visible(char, shown[-1] if shown else ""):
            shown.append(char)
        elif not shown or shown[-1] != HIDDEN:
            shown.append(HIDDEN)
    return "".join(shown)


def _visible(char: str, before: str) -> bool:
    if char in _KEPT_CONTROLS:
        return True
    if char in _JOINERS:
        return bool(before) and unicodedata.category(before) in _JOINED
    return char not in _FILLERS and unicodedata.category(char) not in ("Cc", "Cf", "Cs")


def escape(text: str) -> str:
    """`text` for a mrkdwn object or a top-level text: exactly the three characters Slack names."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unformatted(text: str) -> str:
    """`text` cleaned and escaped, with look-alikes for the characters that mrkdwn would act
    upon.
    """
    return escape(clean(text).translate(_FORMATTING))


def spoken(text: str, limit: int) -> str:
    """`text` as the top-level text of a message or a private note: cleaned, cut, escaped, and without a
    word that could ping a channel. Slack reads such a text for tokens, and links bare addresses."""
    shown = PING.sub(AT, clean(ahead(text, limit)).strip())
    return escape(cut(shown, limit)) or "–"


def _cost(char: str) -> int:
    if char == "&":
        return 5
    if char in "<>":
        return 4
    return 2 if ord(char) > 0xFFFF else 1


def cost(text: str) -> int:
    """The length that Slack counts for `text`, before it's escaped."""
    return sum(map(_cost, text))


def cut(text: str, limit: int) -> str:
    """`text` if its `cost` is within `limit`, else its start and an ellipsis, within `limit`."""
    if len(text) <= limit and cost(text) <= limit:  # each character costs one at the least
        return text
    room, kept = limit - len(ELLIPSIS), 0
    while kept < len(text) and (room := room - _cost(text[kept])) >= 0:
        kept += 1
    return text[:kept].rstrip() + ELLIPSIS


def ahead(text: str, limit: int) -> str:
    """As much of a text as may be shown where `limit` is shown of it; an ellipsis tells of the rest, even
    when all that would be shown is blank."""
    most = limit * _AHEAD
    return text if len(text) <= most else text[:most] + ELLIPSIS


def plain(text: str, limit: int = SECTION_TEXT) -> Block:
    """A plain_text object: cleaned, cut, never empty (Slack refuses an empty text)."""
    shown = cut(clean(ahead(text, limit)).strip(), limit) or "–"
    return {"type": "plain_text", "text": shown, "emoji": False}


def mrkdwn(text: str) -> Block:
    """A mrkdwn object of text that is ours or already `unformatted`; no autolinks, no mentions."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def header(text: str) -> Block:
    """The title of a message or of a part of it."""
    one_line = " ".join(clean(ahead(text, HEADER_TEXT)).split())
    return {"type": "header", "text": plain(one_line, HEADER_TEXT)}


def section(text: str, limit: int = SECTION_TEXT) -> Block:
    """A paragraph of untrusted text."""
    return {"type": "section", "text": plain(text, limit)}


def paragraphs(text: str, most: int) -> list[Block]:
    """A long untrusted text as up to `most` sections; what is beyond them is cut."""
    left = clean(ahead(text, most * SECTION_TEXT)).strip()
    found: list[Block] = []
    while left and len(found) < most - 1 and cost(left) > SECTION_TEXT:
        part = cut(left, SECTION_TEXT).removesuffix(ELLIPSIS)
        break_at = part.rfind("\n", len(part) // 2)
        part = part if break_at < 0 else part[:break_at]
        found.append(section(part))
        left = left[len(part) :].strip()
    return [*found, section(left)] if left or not found else found


def pairs(rows: Sequence[tuple[str, str]]) -> list[Block]:
    """Labels and values side by side, five to a section (Slack allows ten fields)."""
    found: list[Block] = []
    for start in range(0, len(rows), 5):
        fields: list[Block] = []
        for label, value in rows[start : start + 5]:
            fields.append(mrkdwn(f"*{unformatted(cut(clean(label).strip(), 100)) or '–'}*"))
            fields.append(plain(value, 200))
        found.append({"type": "section", "fields": fields})
    return found


def fenced(text: str, limit: int) -> Block:
    """Untrusted text in a code fence. Its backticks become look-alikes: it can't leave the
    fence.
    """
    shown = cut(
        clean(ahead(text, limit)).replace("`", "ˋ").strip("\n"), min(limit, SECTION_TEXT - 16)
    )
    return {"type": "section", "text": mrkdwn(f"```\n{escape(shown) or '–'}\n```")}


def context(*elements: Block) -> Block:
    """Small print; at most ten text objects."""
    return {"type": "context", "elements": list(elements)[:10]}


def moment(at: datetime) -> str:
    """A moment in the reader's own zone, for a mrkdwn object; in UTC for a client that can't do that."""
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    fallback = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{fallback}>"


def button(text: str, action_id: str, *, value: str = "", url: str = "", style: str = "") -> Block:
    """A button. `style` is "primary", "danger" or empty."""
    found: Block = {
        "type": "button",
        "action_id": action_id,
        "text": plain(text, BUTTON_TEXT),
    }
    if value:
        found["value"] = value
    if url:
        found["url"] = url
    if style:
        found["style"] = style
    return found


def confirmation(title: str, text: str, confirm: str, deny: str, *, danger: bool) -> Block:
    """The dialog that Slack shows before a click counts."""
    return {
        "title": plain(title, 100),
        "text": plain(text, 300),
        "confirm": plain(confirm, 30),
        "deny": plain(deny, 30),
        "style": "danger" if danger else "primary",
    }
