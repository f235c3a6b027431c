"""One plain mail address: what is taken as one, and its one spelling."""

from __future__ import annotations

import re
from typing import Final

MAX_ADDRESS: Final = 254
"""RFC 5321 4.5.3.1.3: a path has 256 octets, two of them angle brackets."""

MAX_LOCAL: Final = 64
"""RFC 5321 4.5.3.1.1."""

_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PLAIN: Final = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@({_LABEL}(?:\.{_LABEL})*)")


def canonical(address: str) -> str:
    """The address with its domain in lower case. The part before the @ belongs to its server alone.

    Raises `ValueError` for a display name, a list, a quoted or a non-ASCII address, and a control
    character: what goes into a header or an SMTP command has no room for interpretation.
    """
    if len(address) > MAX_ADDRESS:
        raise ValueError(f"a mail address has at most {MAX_ADDRESS} characters")
    found = _PLAIN.fullmatch(address)
    if found is None or len(found[1]) > MAX_LOCAL:
        raise ValueError(
            f"{address!r} is not one plain mail address: write ada@example.com, without a name, "
            "quotes or spaces; an international domain in its xn-- form"
        )
    return f"{found[1]}@{found[2].lower()}"
