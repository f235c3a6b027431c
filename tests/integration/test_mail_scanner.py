"""A scanner in a real browser: it follows every link of a mail, runs every script, submits every form in
every way that a script can, and changes nothing. Then a person presses, once."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from playwright.async_api import Error as BrowserError

from schemas.ids import path_segment
from tests.acceptance.program import until
from tests.fakes.mail_server import MailServer
from tests.integration.conftest import Api, approval
from tests.integration.test_web_browser import LAUNCH

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)
FILL = """() => {
  document.querySelectorAll('details').forEach(d => d.open = true);
  document.querySelectorAll('input, textarea, select').forEach(e => {
    if (e.type === 'checkbox' || e.type === 'radio') e.checked = true;
    else if (e.type !== 'hidden' && 'value' in e) e.value = e.value || 'yes';
  });
  return document.forms.length;
}"""
WAYS = {
    "submit": "form => HTMLFormElement.prototype.submit.call(form)",
    "requestSubmit": "form => form.requestSubmit()",
    "click": "form => form.querySelector('button').click()",
    "events": """form => { for (const kind of ['pointerdown', 'mousedown', 'mouseup', 'click'])
      form.querySelector('button').dispatchEvent(
        new MouseEvent(kind, {bubbles: true, cancelable: true})) }""",
    "fetch": """form => fetch(location.href, {method: 'POST', credentials: 'include',
      body: new URLSearchParams(new FormData(form))}).catch(() => null)""",
}


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=LAUNCH)
        yield browser
        await browser.close()


class Scanner:
    """What it did is kept: the links that it opened, and the status of each post."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.posts: list[int] = []
        self.opened: set[str] = set()

    async def scan(self, link: str) -> None:
        """Everything on the page of one link, and on each page that comes of it."""
        page = await self.context.new_page()
        page.on("response", self._heard)
        await page.goto(link)
        self.opened.add(link)
        count = await page.evaluate(FILL)
        for way, script in WAYS.items():
            for number in range(count):
                await page.goto(link)
                # Twice: the page that comes back has a form too.
                for _ in range(2 if way == "click" else 1):
                    await page.evaluate(FILL)
                    await self._do(page, script, number)
        for other in await page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)"):
            if other not in self.opened:
                await self.scan(other)
        await page.close()

    async def _do(self, page: Page, script: str, number: int) -> None:
        form = page.locator("form").nth(number)
        if "fetch" in script:
            await form.evaluate(script)
            return
        async with page.expect_navigation():
            with contextlib.suppress(BrowserError):  # the page goes away under the script
                await form.evaluate(script)

    def _heard(self, response: object) -> None:
        if response.request.method == "POST":  # type: ignore[attr-defined]
            self.posts.append(response.status)  # type: ignore[attr-defined]


@pytest.mark.parametrize("agent", [None, IPHONE], ids=["chrome", "says-it-is-an-iphone"])
async def test_a_scanner_changes_nothing_and_a_person_does(
    start: Callable[..., Awaitable[Api]], chromium: Browser, agent: str | None
) -> None:
    async with MailServer() as mail:
        api = await start(email={"smtp_url": mail.url, "from": "Sayso <sayso@example.org>"})
        run = await api.run()
        asked = approval(approversList=["ada"], actions=["accept", "reject"])
        record = await api.ask(run, asked, notify=["email:ada@example.com"])
        name = path_segment(record["interruptId"])
        await until(lambda: mail.mails, "the mail")
        _, message = mail.mails[0]
        plain, html = message.get_body(("plain",)), message.get_body(("html",))
        assert plain is not None
        assert html is not None
        links = set(re.findall(r"https?://[^\s\"<>)]+/a/[\w-]+", plain.get_content()))
        links |= set(re.findall(r'href="([^"]+)"', html.get_content()))
        assert len(links) == 1
        _, before, _ = await api.call("GET", f"/runs/{run}/events/poll")

        context = await chromium.new_context(**({"user_agent": agent} if agent else {}))
        scanner = Scanner(context)
        for link in links:
            async with api.session.head(link) as head:
                assert head.status == 200
            await scanner.scan(link)
        assert len(scanner.posts) >= 8
        assert set(scanner.posts) == {403}
        status, after, _ = await api.call("GET", f"/runs/{run}/events/poll")
        assert status == 200
        assert after == before
        _, now, _ = await api.call("GET", f"/host/sayso/interrupts/{name}")
        assert now["status"] == "open"

        # In the very same browser, with all its cookies, a person comes and presses.
        page = await context.new_page()
        (link,) = links
        await page.goto(link)
        await page.get_by_role("button", name="Approve", exact=True).click()
        await page.get_by_text("Approved by Ada").first.wait_for()
        _, done, _ = await api.call("GET", f"/host/sayso/interrupts/{name}")
        assert done["status"] == "resolved"
        await context.close()
