"""A mail -> its tree of parts, within bounds. Pure.

Multiparts are walked with a stack of our own, so no nesting reaches Python's; a message that is attached
to a message is an attachment and is never looked into. Bodies are decoded only when they are asked for.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_to_bytes

from adapters.email.inbound.bounds import MAX_DEPTH, MAX_PARTS, MAX_TEXT, Budget, Unreadable
from adapters.email.inbound.charsets import decode
from adapters.email.inbound.head import Head, split

_ATOM: Final = r"[^\s\x00-\x20()<>@,;:\\\"/\[\]?=]{1,100}"
_TYPE: Final = re.compile(rf"\s*({_ATOM}/{_ATOM})")
_PARAMETER: Final = re.compile(
    rf";\s*({_ATOM})\s*=\s*(?:\"((?:[^\"\\]|\\.){{0,1000}})\"|([^\s;\"]{{0,1000}}))"
)
_MOST_CANDIDATES: Final = 10_000  # places where a boundary could be, in one multipart
_MOST_PARAMETERS: Final = 40
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64: Final = bytes(range(256)).translate(None, _BASE64)


@dataclass(slots=True)
class Part:
    """One node. `children` for a multipart, `body` (still encoded) for a leaf."""

    head: Head
    type: str
    parameters: dict[str, str]
    body: bytes = b""
    children: list[Part] = field(default_factory=list)

    @property
    def is_attachment(self) -> bool:
        """Whether it was attached, and not written."""
        disposition, parameters = parameters_of(self.head.first("content-disposition"))
        named = "name" in self.parameters or "filename" in parameters
        return disposition == "attachment" or (named and disposition != "inline")

    def content(self, limit: int = MAX_TEXT) -> bytes:
        """The body without its transfer encoding, at most `limit` bytes of it."""
        coding = self.head.first("content-transfer-encoding").decode("ascii", "replace")
        coding = coding.strip().lower()
        if coding == "base64":
            return _base64(self.body[: limit * 2])[:limit]
        if coding == "quoted-printable":
            return binascii.a2b_qp(self.body[: limit * 3])[:limit]
        return self.body[:limit]

    def text(self) -> str:
        """The content as text, `\\n` line ends."""
        return decode(self.content(), self.parameters.get("charset", ""))


def parse(raw: bytes, budget: Budget) -> Part:
    """The tree of a mail. Raises `Unreadable` beyond the bounds."""
    root, body = _part(raw, "text/plain")
    waiting = [(root, body, 1)]
    count = 1
    while waiting:
        part, body, depth = waiting.pop()
        budget.check()
        boundary = part.parameters.get("boundary", "")
        if not part.type.startswith("multipart/") or not boundary or len(boundary) > 200:
            part.body = body
            continue
        if depth > MAX_DEPTH:
            raise Unreadable(f"its parts are nested more than {MAX_DEPTH} deep")
        default = "message/rfc822" if part.type == "multipart/digest" else "text/plain"
        for piece in _pieces(body, boundary.encode("latin-1", "replace"), budget):
            count += 1
            if count > MAX_PARTS:
                raise Unreadable(f"it has more than {MAX_PARTS} parts")
            child, inner = _part(piece, default)
            part.children.append(child)
            waiting.append((child, inner, depth + 1))
    return root


def leaves(part: Part) -> list[Part]:
    """All parts that are no multiparts, in their order."""
    found, waiting = [], [part]
    while waiting:
        here = waiting.pop()
        if here.children:
            waiting.extend(reversed(here.children))
        else:
            found.append(here)
    return found


def parameters_of(value: bytes) -> tuple[str, dict[str, str]]:
    """`text/plain; charset="x"` -> (`text/plain`, {`charset`: `x`}), lower-case names.

    RFC 2231's pieces (`name*0*=`) are joined. Whatever can't be read is left out.
    """
    text = value.decode("latin-1")
    kind, _, _ = text.partition(";")
    plain: dict[str, str] = {}
    pieces: dict[str, dict[int, bytes]] = {}
    for number, match in enumerate(_PARAMETER.finditer(text)):
        if number >= _MOST_PARAMETERS:
            break
        name = match[1].lower()
        said = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
        base, star, index = name.partition("*")
        if not star:
            plain.setdefault(name, said)
            continue
        data = unquote_to_bytes(said) if name.endswith("*") else said.encode("latin-1")
        place = index.rstrip("*")
        if place in ("", "0") and name.endswith("*") and data.count(b"'") >= 2:
            data = data.split(b"'", 2)[2]
        if place == "" or (place.isdecimal() and len(place) < 3):
            pieces.setdefault(base, {}).setdefault(int(place or 0), data)
    for base, found in pieces.items():
        joined = b"".join(found[at] for at in sorted(found))
        plain.setdefault(base, joined.decode("latin-1"))
    return kind.strip().lower(), plain


def _part(raw: bytes, default: str) -> tuple[Part, bytes]:
    head, body = split(raw)
    kind, parameters = parameters_of(head.first("content-type"))
    if not _TYPE.fullmatch(kind):
        kind = default
    return Part(head, kind, parameters), body


def _pieces(body: bytes, boundary: bytes, budget: Budget) -> list[bytes]:
    """What stands between the delimiter lines (RFC 2046 5.1.1). Preamble and epilogue are dropped."""
    mark = b"--" + boundary
    found: list[bytes] = []
    start, at, tries = -1, 0, 0
    while True:
        here = body.find(mark, at)
        tries += 1
        if tries > _MOST_CANDIDATES:
            raise Unreadable("its boundary stands everywhere in it")
        if tries % 256 == 0:
            budget.check()
        if here < 0:
            break
        at = here + len(mark)
        if here > 0 and body[here - 1 : here] != b"\n":
            continue
        line_end = body.find(b"\n", at, at + 200)
        line = body[at : len(body) if line_end < 0 else line_end].strip(b" \t\r")
        if line not in (b"", b"--"):
            continue
        if start >= 0:
            found.append(body[start:here].removesuffix(b"\n").removesuffix(b"\r"))
        if line == b"--" or line_end < 0:
            return found
        if len(found) > MAX_PARTS:
            raise Unreadable(f"it has more than {MAX_PARTS} parts")
        start = at = line_end + 1
    if start >= 0:  # the last delimiter is missing: mails are cut off
        found.append(body[start:])
    return found


def _base64(body: bytes) -> bytes:
    clean = body.translate(None, _NOT_BASE64)
    return base64.b64decode(clean[: len(clean) // 4 * 4] + _rest(clean))


def _rest(clean: bytes) -> bytes:
    rest = clean[len(clean) // 4 * 4 :]
    return b"" if len(rest) < 2 else rest + b"=" * (4 - len(rest))
