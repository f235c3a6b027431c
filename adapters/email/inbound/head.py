"""The header block of a mail or a part, read on the raw bytes. Pure.

Python's `email` package raises on real headers and takes seconds for made ones, so nothing here goes
through it. A value stays bytes until somebody asks for words; addresses and ids are read before any
encoded word is decoded, since a decoded display name may hold what looks like another address.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

from adapters.email.address import canonical
from adapters.email.inbound.bounds import MAX_FIELD, MAX_FIELDS, MAX_HEAD, Unreadable
from adapters.email.inbound.charsets import decode

_NAME: Final = re.compile(rb"([\x21-\x39\x3b-\x7e]{1,100})[ \t]*:(.*)", re.DOTALL)
_END: Final = re.compile(rb"\r?\n\r?\n")
_WORD: Final = re.compile(
    rb"=\?([A-Za-z0-9_.-]{1,40})(?:\*[A-Za-z-]{0,20})?\?([BbQq])\?([^?\s]{0,400})\?="
)
_ID: Final = re.compile(rb"<([\x21-\x3b\x3d\x3f-\x7e]{1,250})>")
_HEX: Final = re.compile(rb"=([0-9A-Fa-f]{2})")
_MOST_WORDS: Final = 60
_MOST_IDS: Final = 100


@dataclass(frozen=True, slots=True)
class Head:
    """Fields in their order, names in lower case, values unfolded. `damaged`: a line was no field."""

    fields: tuple[tuple[str, bytes], ...]
    damaged: bool = False

    def all(self, name: str) -> list[bytes]:
        """Every value of a field."""
        return [value for each, value in self.fields if each == name]

    def first(self, name: str) -> bytes:
        """The first value, b"" when there is none."""
        return next((value for each, value in self.fields if each == name), b"")

    def words(self, name: str) -> str:
        """The first value for people: encoded words decoded, one line."""
        return words(self.first(name))

    def ids(self, name: str) -> list[str]:
        """The message ids in all fields of this name, with their brackets."""
        found = [f"<{m[1].decode()}>" for value in self.all(name) for m in _ID.finditer(value)]
        return found[:_MOST_IDS]


def split(raw: bytes) -> tuple[Head, bytes]:
    """The head and the body of a mail or a part. Raises `Unreadable` beyond the bounds."""
    if raw[:2] == b"\r\n" or raw[:1] == b"\n":
        return Head(()), raw[raw.index(b"\n") + 1 :]
    end = _END.search(raw, 0, MAX_HEAD + 4)
    if end is None and len(raw) > MAX_HEAD:
        raise Unreadable(f"its header has more than {MAX_HEAD} bytes")
    block, body = (raw, b"") if end is None else (raw[: end.start()], raw[end.end() :])
    return _read(block), body


def _read(block: bytes) -> Head:
    found: list[list[bytes]] = []
    damaged = b"\0" in block
    for number, line in enumerate(block.split(b"\n")):
        line = line.removesuffix(b"\r")
        if line[:1] in (b" ", b"\t") and found:
            found[-1].append(line)
        elif number == 0 and line.startswith(b"From "):
            continue  # a mailbox file's own first line
        else:
            found.append([line])
        if len(found) > MAX_FIELDS:
            raise Unreadable(f"it has more than {MAX_FIELDS} header fields")
    fields = []
    for lines in found:
        field = _NAME.fullmatch(b"".join(lines))
        if field is None or b"\r" in field[2]:
            damaged = True
            continue
        if len(field[2]) > MAX_FIELD and field[1].lower() not in _LONG:
            raise Unreadable(f"a header field has more than {MAX_FIELD} bytes")
        fields.append((field[1].decode().lower(), field[2].strip()))
    return Head(tuple(fields), damaged)


_LONG: Final = frozenset(
    {b"arc-seal", b"arc-message-signature", b"x-microsoft-antispam-message-info"}
)
"""What large providers write at length. Never read here."""


def words(value: bytes) -> str:
    """A header value for people. Never raises; at most a bounded number of words is decoded."""
    parts: list[str] = []
    at = 0
    for match in islice(_WORD.finditer(value), _MOST_WORDS):
        between = value[at : match.start()]
        if between.strip() or not parts:
            parts.append(decode(between, "utf-8"))
        parts.append(_word(match[1], match[2], match[3]))
        at = match.end()
    parts.append(decode(value[at:], "utf-8"))
    return " ".join("".join(parts).split())


def _word(charset: bytes, kind: bytes, text: bytes) -> str:
    if kind in b"Bb":
        try:
            data = base64.b64decode(text + b"=" * (-len(text) % 4))
        except (binascii.Error, ValueError):
            data = b""
    else:
        data = _HEX.sub(lambda m: bytes((int(m[1], 16),)), text.replace(b"_", b" "))
    return decode(data, charset.decode())


def sender(head: Head) -> str:
    """The one address of the one From field, canonical. Raises `ValueError` that says what is wrong.

    Only `addr`, `<addr>` and `name <addr>` are understood, read on the raw bytes. A name may hold no
    `@`, bracket or comma outside of quotes: such mails exist to look like somebody else's.
    """
    values = head.all("from")
    if len(values) != 1:
        raise ValueError(f"it has {len(values)} From fields, not one")
    value = values[0].decode("ascii", "replace").strip()
    bare = _unquoted(value)
    if "," in bare or ";" in bare or bare.count("<") > 1 or bare.count(">") > 1:
        raise ValueError("its From field holds more than one address")
    if "<" in bare:
        name, _, rest = bare.partition("<")
        address, closed, after = rest.partition(">")
        if not closed or after.strip() or "@" in name:
            raise ValueError("its From field is not one name and one address")
    else:
        address = bare
    try:
        return canonical(address.strip())
    except ValueError:
        raise ValueError("its From field holds no plain address") from None


def _unquoted(value: str) -> str:
    """The value without its quoted strings and comments. Unbalanced ones raise `ValueError`."""
    out: list[str] = []
    quoted, depth, skip = False, 0, False
    for char in value:
        if skip:
            skip = False
        elif char == "\\" and (quoted or depth):
            skip = True
        elif char == '"' and not depth:
            quoted = not quoted
        elif quoted:
            continue
        elif char == "(":
            depth += 1
        elif char == ")" and depth:
            depth -= 1
        elif not depth:
            out.append(char)
    if quoted or depth:
        raise ValueError("its From field has a quote or bracket that never ends")
    return "".join(out)
