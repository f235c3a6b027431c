"""Pages -> HTML. Pure: templates and the style sheet are read once, when the module is loaded."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from itertools import groupby
from typing import Final

import jinja2
from markupsafe import Markup

from adapters.texts import visible
from adapters.web import login, press
from adapters.web.fields import Control
from adapters.web.pages import CardPage, Problem
from adapters.web.receive import CONFIRMED


def adjacent_groups(controls: Iterable[Control]) -> list[tuple[str, list[Control]]]:
    """Controls under the headings that they share, in the order of the form."""
    return [(name, list(members)) for name, members in groupby(controls, lambda one: one.group)]


_CSS: Final = (files("adapters.web.templates") / "page.css").read_text("utf-8")

_ENVIRONMENT: Final = jinja2.Environment(
    loader=jinja2.PackageLoader("adapters.web", "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=visible,
    auto_reload=False,
)
_ENVIRONMENT.filters["groupby_adjacent"] = adjacent_groups
# The text of our own style sheet, no one else's; the policy below allows exactly these bytes.
_ENVIRONMENT.globals["css"] = Markup(_CSS)  # noqa: S704
_ENVIRONMENT.globals["confirmed"] = CONFIRMED
_ENVIRONMENT.globals["press"] = press
_ENVIRONMENT.globals["login"] = login
_ENVIRONMENT.globals["script"] = Markup(press.SCRIPT)  # noqa: S704 - ours, as the style sheet is

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()}'",
        f"script-src 'sha256-{press.SCRIPT_HASH}'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
"""Nothing is loaded, nothing runs but the one script that marks a press, nobody frames the page,
and its forms go home."""

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
}
"""On every answer of this channel."""


def card_html(page: CardPage, nonce: str) -> str:
    """The page of a card. `nonce` goes into each form; "" on a page that has none."""
    return _ENVIRONMENT.get_template("card.html").render(page=page, nonce=nonce, words=page.words)


def problem_html(problem: Problem) -> str:
    """A page without a card."""
    return _ENVIRONMENT.get_template("problem.html").render(page=problem, words=problem.words)
