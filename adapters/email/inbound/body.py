"""The tree of a mail -> what was written in it. Pure.

Not `get_body`: that one takes a mailing list's footer for the text, or stops at the first picture. Here
all inline text of a level belongs together, attachments never do, and of alternatives both are read, so
that a mail which says one thing in plain text and another in HTML is found out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adapters.email.inbound.bounds import MAX_LINE, MAX_LINES, MAX_TEXT, Budget
from adapters.email.inbound.flowed import unflow
from adapters.email.inbound.html_text import text_of
from adapters.email.inbound.mime import Part, leaves

_SEALED: Final = frozenset(
    {"application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/encrypted"}
)


@dataclass(frozen=True, slots=True)
class Body:
    """`plain` and `html` are the two renditions as lines of text, "" where there is none.

    `problem` says why nothing can be read ("" when something can).
    """

    plain: str = ""
    html: str = ""
    problem: str = ""

    @property
    def text(self) -> str:
        """What a person reads: the plain rendition, unless it is blank."""
        return self.plain if self.plain.strip() else self.html


def body_of(root: Part, budget: Budget) -> Body:
    """What was written. Raises `Unreadable` when the time is over."""
    if root.type in _SEALED:
        return Body(problem="it is encrypted")
    plain, html = _read(root, budget, 0)
    body = Body(_bounded(plain), _bounded(html))
    if not body.text.strip():
        kinds = {leaf.type for leaf in leaves(root)}
        if kinds & {"application/ms-tnef", "application/vnd.ms-tnef"}:
            return Body(problem="its text is inside a winmail.dat: send it as plain text")
        if kinds & _SEALED:
            return Body(problem="it is encrypted")
        return Body(problem="it holds no text")
    return body


def _read(part: Part, budget: Budget, depth: int) -> tuple[str, str]:
    """(plain, html as text) of a part. The depth was bounded when the tree was made."""
    budget.check()
    if not part.type.startswith("multipart/"):
        return _leaf(part, budget)
    if part.type in _SEALED:
        return "", ""
    read = [_read(child, budget, depth + 1) for child in part.children]
    if part.type == "multipart/alternative":
        plain = next((p for p, _ in read if p.strip()), "")
        html = next((h for _, h in read if h.strip()), "")
        return plain, html
    if part.type in ("multipart/related", "multipart/signed"):
        return read[0] if read else ("", "")
    # Mixed and all that nobody knows: one after the other. A level where only some parts have one of
    # the two renditions takes the other one for the rest, so neither is a part of the whole.
    plain = "\n".join(p if p.strip() else h for p, h in read if (p or h).strip())
    html = "\n".join(h if h.strip() else p for p, h in read if (p or h).strip())
    return (plain if any(p.strip() for p, _ in read) else ""), (
        html if any(h.strip() for _, h in read) else ""
    )


def _leaf(part: Part, budget: Budget) -> tuple[str, str]:
    if part.is_attachment:
        return "", ""
    if part.type == "text/html":
        return "", text_of(part.text(), budget)
    if part.type != "text/plain":
        return "", ""
    text = part.text()[:MAX_TEXT]
    if part.parameters.get("format", "").lower() == "flowed":
        text = unflow(text, delsp=part.parameters.get("delsp", "").lower() == "yes")
    return text, ""


def _bounded(text: str) -> str:
    return "\n".join(line[:MAX_LINE] for line in text.split("\n")[:MAX_LINES])
