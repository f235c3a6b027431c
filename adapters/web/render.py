"""Pages -> HTML. Pure: what never changes is read with the module, and a template with its first page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Final

from adapters.texts import visible
from adapters.web import login, press
from adapters.web.fields import Control
from adapters.web.pages import CardPage, Problem
from adapters.web.receive import CONFIRMED

if TYPE_CHECKING:
    import jinja2


def adjacent_groups(controls: Iterable[Control]) -> list[tuple[str, list[Control]]]:
    """Controls under the headings that they share, in the order of the form."""
    return [(name, list(members)) for name, members in groupby(controls, lambda one: one.group)]


_CSS: Final = (files("adapters.web.templates") / "page.css").read_text("utf-8")
SEARCH: Final = (files("adapters.web.templates") / "search.js").read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _policy(*scripts: str, connect: str = "") -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(_CSS)}",
            f"script-src {' '.join(map(_hash, scripts))}",
            *([f"connect-src {connect}"] if connect else []),
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
    )


CONTENT_SECURITY_POLICY: Final = _policy(press.SCRIPT)
"""Nothing is loaded, nothing runs but the one script that marks a press, nobody frames the page,
and its forms go home."""

SEARCH_POLICY: Final = _policy(press.SCRIPT, SEARCH, connect="'self'")
"""That of a page with a picker: a second script of ours runs, which asks us for choices."""

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
}
"""On every answer of this channel; a page with a picker has its own policy."""


def headers_of(page: CardPage) -> dict[str, str]:
    """The headers of a card's page."""
    return HEADERS | ({"Content-Security-Policy": SEARCH_POLICY} if page.searches else {})


@cache
def _environment() -> jinja2.Environment:
    """Imported and made for the first page: a gateway that has shown none doesn't need it."""
    import jinja2
    from markupsafe import Markup

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("adapters.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
        auto_reload=False,
    )
    made.filters["groupby_adjacent"] = adjacent_groups
    made.globals |= {
        # The texts of our own style sheet and scripts, no one else's; the policies allow exactly these bytes.
        "css": Markup(_CSS),  # noqa: S704
        "script": Markup(press.SCRIPT),  # noqa: S704
        "search": Markup(SEARCH),  # noqa: S704
        "confirmed": CONFIRMED,
        "press": press,
        "login": login,
    }
    return made


def card_html(page: CardPage, nonce: str) -> str:
    """The page of a card. `nonce` goes into each form; "" on a page that has none."""
    return _environment().get_template("card.html").render(page=page, nonce=nonce, words=page.words)


def problem_html(problem: Problem) -> str:
    """A page without a card."""
    return _environment().get_template("problem.html").render(page=problem, words=problem.words)
