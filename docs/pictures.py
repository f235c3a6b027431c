"""Draws the pictures of the documentation: `make docs`.

What is shown is what the channels really make of one example; only Slack's own drawing of blocks is
imitated (`blockkit.py`). Needs `chromium` on the PATH.
"""

from __future__ import annotations

import html
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import blockkit
import scenario
import slack_pictures
from playwright.sync_api import Browser, sync_playwright

from adapters.cards import form_for
from adapters.channel import Delivery
from adapters.email.render import question
from adapters.slack import modal
from adapters.slack.render import card as slack_card
from adapters.views import Card, Form
from adapters.web.pages import card_page
from adapters.web.render import card_html

PICTURES = Path(__file__).parent / "pictures"
HOME = "https://sayso.example.com"
LINK = f"{HOME}/a/3vT9"
LARGEST = 150_000  # bytes of one picture
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-lcd-text",
    "--font-render-hinting=none",
]
_ZONE = ZoneInfo("Europe/Berlin")
_MAIL = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; font: 14px/1.5 "Liberation Sans", Arial, sans-serif; color: #202124; background: #fff; }
header { padding: 18px 24px 12px; border-bottom: 1px solid #e3e5e8; }
h1 { font-size: 20px; font-weight: 400; margin: 0 0 8px; }
p { margin: 0; color: #5f6368; } b { color: #202124; }
</style><div class="shot"><header><h1>{subject}</h1>
<p><b>Sayso</b> &lt;sayso@example.com&gt;<br>to {to}</p></header>
{body}</div>"""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: a document, the element that is shown, how wide the window is, and how many
    pixels of the picture one of its own is."""

    name: str
    document: str
    element: str
    width: int
    dark: bool = False
    scale: float = 2


def shots() -> Iterator[Shot]:
    """All pictures of the documentation."""
    asked, decided = scenario.refund(), scenario.refunded()
    yield _slack("slack-approval", asked, scenario.ASKED)
    yield _slack("slack-outcome", decided, scenario.DECIDED)
    yield _modal(scenario.questions())
    page = _answer_page(replace(asked, link=LINK))
    yield Shot("answer-page", page, "body", 720, scale=1.5)
    yield Shot("answer-page-dark", page, "body", 720, dark=True, scale=1.5)
    yield _mail(asked)
    for name, document in slack_pictures.pictures():
        yield Shot(name, document, ".shot", 620, scale=1.2)


def draw(browser: Browser, shot: Shot) -> Path:
    """Write one PNG. Raises `ValueError` when it is too large to be in a repository."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": 400},
        device_scale_factor=shot.scale,
        color_scheme="dark" if shot.dark else "light",
    )
    tab = context.new_page()
    tab.set_content(shot.document)
    path = PICTURES / f"{shot.name}.png"
    tab.locator(shot.element).first.screenshot(path=path)
    context.close()
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes; {LARGEST:,} at most")
    return path


def _slack(name: str, card: Card, now: datetime) -> Shot:
    reader = blockkit.Reader(now.astimezone(_ZONE))
    body = blockkit.message(slack_card(card).blocks, reader, scenario.ASKED)
    return Shot(name, blockkit.page(body), ".shot", 620)


def _modal(card: Card) -> Shot:
    form = form_for(card, "answer")
    assert form is not None
    view = modal.form_view(form, modal.Binding(card.interrupt_id, "answer", card.version))
    reader = blockkit.Reader(scenario.ASKED.astimezone(_ZONE))
    return Shot("slack-modal", blockkit.page(blockkit.modal(view, reader)), ".shot", 620)


def _answer_page(card: Card) -> str:
    forms: dict[str, Form | None] = {one.id: form_for(card, one.id) for one in card.actions}
    page = card_page(card, reader=scenario.NAMES["ada"], forms=forms)
    return card_html(page, "nonce")


def _mail(card: Card) -> Shot:
    mail = question(Delivery(scenario.ADDRESS, card, link=LINK), HOME)
    document = _MAIL
    for name, text in (
        ("subject", html.escape(mail.subject)),
        ("to", html.escape(scenario.ADDRESS)),
        (
            "body",
            f'<iframe srcdoc="{html.escape(mail.html)}" '
            'style="display: block; border: 0; width: 100%" scrolling="no" '
            "onload=\"this.style.height = this.contentDocument.body.scrollHeight + 'px'\"></iframe>",
        ),
    ):
        document = document.replace(f"{{{name}}}", text)
    return Shot("mail", document, ".shot", 680, scale=1.5)


def main() -> int:
    """Exit code."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("The pictures are drawn by Chromium: install it (Debian: apt install chromium).")
        return 1
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for shot in shots():
            path = draw(browser, shot)
            print(f"{path.relative_to(PICTURES.parent.parent)}  {path.stat().st_size:,} bytes")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
