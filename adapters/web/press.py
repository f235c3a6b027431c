"""Whether a person pressed the button. Pure.

Scanners open every link of a mail, some in a real browser, and a few submit the forms that they
find. So a post counts only with the signs of a press:

- The page's one script marks the form when a *trusted* click arrives at its button, by pointer or
  key. A click that a script makes is not trusted, and `form.submit()` makes none.
- Where no script runs, a box has to be ticked instead, which no one has ticked before.
- `Sec-Fetch-User: ?1` (Fetch Metadata) besides, from browsers that send it: Chromium and Firefox,
  with a navigation that a person's own act began. It is no proof alone: tools that drive a browser
  can run a script as if a person had acted. All of WebKit, so every browser on an iPhone, sends none.

What remains is a tool that moves the browser's own mouse. Nothing on a page can tell that from a
person; what must not hang on a mailbox alone needs a login.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from multidict import CIMultiDictProxy

FIELD: Final = "press"
BY_HAND: Final = "hand"
TICKED: Final = "ticked"

SCRIPT: Final = (
    'addEventListener("click",function(e){'
    'var b=e.isTrusted&&e.target.closest&&e.target.closest("button");'
    f'if(b&&b.form&&b.form.elements.{FIELD})b.form.elements.{FIELD}.value="{BY_HAND}"'
    "},true)"
)
"""Loads nothing and sends nothing; the page's policy allows exactly these bytes."""

SCRIPT_HASH: Final = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()

_TELLS: Final = re.compile(r"\b(?:Headless)?Chrome/|\bFirefox/")


@dataclass(frozen=True, slots=True)
class Signs:
    """What a request says about who sent it. Every header as often as it came."""

    user_agent: str = ""
    fetch_site: Sequence[str] = ()
    fetch_mode: Sequence[str] = ()
    fetch_user: Sequence[str] = ()


def signs_of(headers: CIMultiDictProxy[str]) -> Signs:
    """Those of a request."""
    return Signs(
        headers.get("User-Agent", "")[:500],
        headers.getall("Sec-Fetch-Site", []),
        headers.getall("Sec-Fetch-Mode", []),
        headers.getall("Sec-Fetch-User", []),
    )


def pressed(signs: Signs, mark: str) -> bool:
    """Whether a person did. `mark` is what the form says."""
    if mark not in (BY_HAND, TICKED) or list(signs.fetch_mode) not in ([], ["navigate"]):
        return False
    tells = bool(signs.fetch_site) and _TELLS.search(signs.user_agent) is not None
    return list(signs.fetch_user) == ["?1"] if tells else True
