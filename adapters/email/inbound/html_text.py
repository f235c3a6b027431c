"""HTML of a reply -> text, with what it quotes marked by `> `. Pure.

libxml2 does the parsing (C, iterative, bounded in depth); nothing is fetched, and the tree is walked by
events, so no nesting reaches Python's stack. What a client hides, or puts in for itself, is left out.
"""

from __future__ import annotations

import re
from typing import Any, Final

from lxml import etree

from adapters.email.inbound.bounds import MAX_TEXT, Budget

_SKIP: Final = frozenset((
    "head", "style", "script", "title", "template", "noscript", "object", "embed", "svg",
    "math", "select", "textarea", "button",
))  # fmt: skip
_BLOCK: Final = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "div", "dl", "dt",
    "fieldset", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li",
    "main", "nav", "ol", "p", "pre", "section", "table", "tbody", "td", "th", "thead",
    "tr", "ul",
))  # fmt: skip
_SPACED: Final = frozenset((
    "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul",
))  # fmt: skip
_HIDDEN: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em)?\s*(?:;|$)"
    r"|mso-hide\s*:\s*all|max-height\s*:\s*0",
    re.IGNORECASE,
)
_QUOTES: Final = frozenset({"gmail_attr", "moz-cite-prefix", "moz-email-headers-table"})
_DROPPED: Final = frozenset({"gmail_signature", "moz-signature", "gmail_chip"})
_MOST_QUOTES: Final = 20
_MOST_NODES: Final = 60_000
_SPACE: Final = re.compile(r"[ \t\n\r\f]+")


def text_of(html: str, budget: Budget) -> str:
    """The text. Never raises for what the HTML is; `Unreadable` when the time is over."""
    data = html.encode("utf-8", "replace")[:MAX_TEXT]
    parser = etree.HTMLParser(
        encoding="utf-8",
        recover=True,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
        default_doctype=False,
    )
    try:
        parser.feed(data)
        root = parser.close()
    except (etree.LxmlError, ValueError):
        return ""
    if root is None:
        return ""
    return _Writer(budget).walk(root)


class _Writer:
    """Lines, and how deep in quotes each of them stands."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lines: list[tuple[int, str]] = []
        self._line = ""
        self._depth = 0
        self._pre = 0

    def walk(self, root: Any) -> str:
        """The whole tree by start and end events."""
        skipping: Any = None
        quoting: list[Any] = []
        for count, (event, node) in enumerate(etree.iterwalk(root, events=("start", "end"))):
            if count % 512 == 0:
                self._budget.check()
            if count > _MOST_NODES:
                break
            tag = node.tag if isinstance(node.tag, str) else ""
            if event == "start":
                if skipping is not None:
                    continue
                if _is_left_out(node, tag):
                    skipping = node
                    continue
                if _is_quote(node, tag):
                    self._break()
                    quoting.append(node)
                    self._depth = min(len(quoting), _MOST_QUOTES)
                self._open(tag)
                self._write(node.text)
            else:
                if skipping is not None:
                    if node is not skipping:
                        continue
                    skipping = None
                else:
                    self._close(tag)
                    if quoting and quoting[-1] is node:
                        self._break()
                        quoting.pop()
                        self._depth = min(len(quoting), _MOST_QUOTES)
                self._write(node.tail)
        self._break()
        return "\n".join(">" * depth + " " + line if depth else line for depth, line in self._lines)

    def _open(self, tag: str) -> None:
        if tag == "br":
            self._break(keep=True)
        elif tag in _BLOCK:
            self._break()
            if tag in _SPACED:
                self._gap()
            if tag == "li":
                self._line = "- "
            elif tag == "hr":
                self._lines.append((self._depth, "________________________________"))
        if tag == "pre":
            self._pre += 1

    def _close(self, tag: str) -> None:
        if tag == "pre":
            self._pre -= 1
        if tag in _BLOCK:
            self._break()
            if tag in _SPACED:
                self._gap()

    def _write(self, text: str | None) -> None:
        if not text:
            return
        if self._pre:
            first, *more = text.split("\n")
            self._line += first
            for line in more:
                self._break(keep=True)
                self._line = line
            return
        flat = _SPACE.sub(" ", text)
        self._line += flat.lstrip(" ") if not self._line or self._line.endswith(" ") else flat

    def _break(self, *, keep: bool = False) -> None:
        """End the line. An empty one is written only where the writer broke it (`<br>`)."""
        line = self._line.rstrip()
        if line or keep:
            self._lines.append((self._depth, line))
        self._line = ""

    def _gap(self) -> None:
        if self._lines and self._lines[-1][1]:
            self._lines.append((self._depth, ""))


def _is_left_out(node: Any, tag: str) -> bool:
    if tag in _SKIP or node.get("hidden") is not None:
        return True
    classes = set((node.get("class") or "").split())
    if classes & _DROPPED or node.get("id") in ("Signature", "ms-outlook-mobile-signature"):
        return True
    return bool(_HIDDEN.search((node.get("style") or "")[:1000]))


def _is_quote(node: Any, tag: str) -> bool:
    if tag == "blockquote":
        return True
    classes = {each.removeprefix("x_") for each in (node.get("class") or "").split()}
    return bool(classes & _QUOTES)
