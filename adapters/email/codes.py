"""The short codes of one mail: `A47` approves, `R47` rejects, whatever language is spoken. Pure.

The question mail prints them, and a reply whose first line is one of them decides. They are safe in a
quoted line, since that one holds both; and they are no secret: the sender is what has to be proven.
"""

from __future__ import annotations

import hashlib
from typing import Literal


def short_codes(handle: str) -> dict[str, Literal["accept", "reject"]]:
    """Code -> what it decides, in the order in which they are offered. `handle` is the reply handle of
    the mail, so the codes of two mails mostly differ."""
    number = int.from_bytes(hashlib.sha256(f"code\0{handle}".encode()).digest()[:4], "big")
    digits = 10 + number % 90
    return {f"A{digits}": "accept", f"R{digits}": "reject"}
