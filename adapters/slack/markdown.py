"""Untrusted Markdown -> the text of a `markdown` block. Pure.

Slack formats such a block and still reads its own `<…>` tokens in it: a person or a channel could be
pinged and a link could lie about where it leads. So `&`, `<` and `>` are escaped (what was an entity is not
read again), the words that ping a channel get another `@`, and a link with a text of its own is taken
apart, so that its address stands beside it and shows itself. Emphasis, lists and code stay what they are.
"""

from __future__ import annotations

import re
from typing import Final

from adapters.slack import blocks as b

LIMIT: Final = 8000
"""Characters as Slack counts them, of the 12,000 that all such blocks of a message may have: the texts of
all blocks together may not be much more than that either."""

_NAMED: Final = re.compile(r"^([ \t>]*\[[^\]\n]*\]):", re.MULTILINE)


def block(text: str, limit: int = LIMIT) -> b.Block:
    """The block. Its text is never empty."""
    return {"type": "markdown", "text": safe(text, limit) or "–"}


def safe(text: str, limit: int = LIMIT) -> str:
    """The text, cleaned, taken apart and escaped, within `limit` after that."""
    shown = b.PING.sub(b.AT, b.clean(b.ahead(text, limit))).strip()
    while "](" in shown or "][" in shown:
        shown = shown.replace("](", "] (").replace("][", "] [")
    shown = _NAMED.sub(r"\1 :", shown)
    return b.escape(b.cut(shown, limit))
