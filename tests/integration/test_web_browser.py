"""The answer page in a real Chromium: people press buttons, and its own headers pass our check."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import Page, async_playwright, expect

from adapters.views import Reader
from adapters.web.app import WebChannel
from adapters.web.settings import WebSettings
from tests.fakes.answer_doors import (
    APPROVAL,
    CLARIFICATION,
    HANDLE,
    PICKED,
    StubIntake,
    StubLinks,
)

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

LAUNCH = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Site:
    """The channel on a real server, with the headers of every post that reached it."""

    def __init__(self) -> None:
        self.intake = StubIntake()
        self.posts: list[dict[str, str]] = []
        channel = WebChannel(
            WebSettings("http://127.0.0.1:8080", b"s" * 32), self.intake, StubLinks()
        )
        app = web.Application(middlewares=[self._record])
        app.add_routes(channel.routes())
        app.add_routes([web.get("/evil", self._evil)])
        self.server = TestServer(app)

    @property
    def url(self) -> str:
        return str(self.server.make_url(f"/a/{HANDLE}"))

    @web.middleware
    async def _record(self, request: web.Request, handler: web.RequestHandler) -> web.Response:
        if request.method == "POST":
            self.posts.append(dict(request.headers))
        return await handler(request)  # type: ignore[operator, no-any-return]

    async def _evil(self, request: web.Request) -> web.Response:
        """Another site's page (opened under another host name) that posts to ours."""
        return web.Response(
            text=f'<form method="post" action="{self.url}"><input name="action" value="accept">'
            "<button>Win a prize</button></form>",
            content_type="text/html",
        )


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    await made.server.start_server()
    yield made
    await made.server.close()


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=LAUNCH)
        opened = await (await browser.new_context()).new_page()
        opened.complaints = []  # type: ignore[attr-defined]
        opened.on("console", lambda said: opened.complaints.append(said.text))  # type: ignore[attr-defined]
        yield opened
        await browser.close()


async def test_a_person_approves(site: Site, page: Page) -> None:
    await page.goto(site.url)
    assert await page.title() == "Refund 4411 · Sayso"
    await page.get_by_role("button", name="Approve", exact=True).click()
    await page.get_by_text("Approved by Ada").wait_for()
    assert page.url == site.url
    assert [one.action for one in site.intake.answers] == ["accept"]
    # Under no-referrer a browser says "null"; Sec-Fetch-Site is what it can be told by.
    (sent,) = site.posts
    assert sent["Origin"] == "null"
    assert sent["Sec-Fetch-Site"] == "same-origin"
    assert "Referer" not in sent
    # A reload is a GET: it asks nothing and sends nothing again.
    await page.reload()
    await page.get_by_text("Approved by Ada").wait_for()
    assert len(site.posts) == 1


async def test_the_style_passes_the_policy(site: Site, page: Page) -> None:
    await page.goto(site.url)
    height = await page.get_by_role("button", name="Approve", exact=True).evaluate(
        "button => button.getBoundingClientRect().height"
    )
    assert height >= 44
    assert not [said for said in page.complaints if "style" in said]  # type: ignore[attr-defined]


async def test_a_reason_is_folded_away_until_it_is_wanted(site: Site, page: Page) -> None:
    await page.goto(site.url)
    reason = page.get_by_label("Why?")
    assert not await reason.is_visible()
    await page.locator("summary", has_text="Reject").click()
    await reason.fill("Billed once only")
    await page.get_by_role("button", name="Reject", exact=True).click()
    await page.get_by_text("Rejected by Ada").wait_for()
    assert site.intake.answers[0].value == {"feedback": "Billed once only"}


async def test_a_wrong_number_comes_back_and_can_be_put_right(site: Site, page: Page) -> None:
    site.intake.card = CLARIFICATION
    await page.goto(site.url)
    await page.get_by_label("Street").fill("Long Lane 4")
    await page.get_by_label("How many").fill("twelve")
    await page.get_by_role("button", name="Send answers").click()
    await page.get_by_role("alert").wait_for()
    assert await page.get_by_label("Street").input_value() == "Long Lane 4"
    assert await page.get_by_label("How many").input_value() == "twelve"
    await page.get_by_label("How many").fill("12")
    await page.keyboard.press("Enter")
    await page.get_by_text("Answered by Ada").wait_for()
    assert site.intake.answers[0].value == {"answers": {"q1": "Long Lane 4", "q2": 12}}


async def test_what_is_wrong_is_listed_first_and_each_entry_leads_to_its_field(
    site: Site, page: Page
) -> None:
    """So that it is heard first, and reached by the keyboard alone."""
    site.intake.card = CLARIFICATION
    await page.goto(site.url)
    await page.get_by_label("Street").fill("Long Lane 4")
    await page.get_by_label("How many").fill("twelve")
    await page.get_by_role("button", name="Send answers").click()
    await expect(page.get_by_role("alert")).to_be_focused()
    assert (await page.title()).startswith("Not sent yet")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="How many")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("How many")).to_be_focused()


@pytest.mark.parametrize("locale", ["en", "de", "fr", "es", "ja"])
async def test_nothing_is_wider_than_a_small_phone(site: Site, page: Page, locale: str) -> None:
    deadline = datetime(2026, 9, 30, 21, 30, tzinfo=UTC)
    open_card = replace(
        APPROVAL,
        progress="1 of 2 approvals: Wilhelmina Featherstonehaugh",
        deadline=deadline,
        at_deadline="If nobody decides by then, it counts as rejected.",
        reader=Reader(locale, "America/Argentina/Buenos_Aires"),
    )
    ended = replace(
        open_card, state="resolved", outcome="Approved", decided_at=deadline, actions=()
    )
    await page.set_viewport_size({"width": 320, "height": 600})
    for card in (open_card, ended):
        site.intake.card = card
        await page.goto(site.url)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320


async def test_a_risky_choice_cannot_be_pressed_unconfirmed(site: Site, page: Page) -> None:
    risky = replace(APPROVAL.actions[0], confirm="I checked the amount.")
    site.intake.card = replace(APPROVAL, actions=(risky,))
    await page.goto(site.url)
    await page.locator("summary", has_text="Approve").click()
    await page.get_by_role("button", name="Approve", exact=True).click()
    assert site.posts == []  # the browser itself asks for the tick
    await page.get_by_label("I checked the amount.").check()
    await page.get_by_role("button", name="Approve", exact=True).click()
    await page.get_by_text("Approved by Ada").wait_for()


async def test_another_site_cannot_press_for_a_person(site: Site, page: Page) -> None:
    await page.goto(site.url)  # the person's browser has our cookie
    evil = site.url.replace("127.0.0.1", "localhost").replace(f"/a/{HANDLE}", "/evil")
    await page.goto(evil)
    await page.get_by_role("button", name="Win a prize").click()
    await page.get_by_text("This answer didn't come from our page").wait_for()
    assert site.posts[0]["Sec-Fetch-Site"] == "cross-site"
    assert site.intake.answers == []


async def test_a_page_opened_from_another_site_keeps_the_ones_before_usable(
    site: Site, page: Page
) -> None:
    await page.goto(site.url)
    other = await page.context.new_page()
    mail = site.url.replace("127.0.0.1", "localhost").replace(f"/a/{HANDLE}", "/evil")
    await other.goto(mail)  # as web mail does: a link from another site
    await other.evaluate("url => { location.href = url }", site.url)
    await other.get_by_role("heading", name="Refund 4411").wait_for()
    await page.get_by_role("button", name="Approve", exact=True).click()
    await page.get_by_text("Approved by Ada").wait_for()


# --- a picker's choices, searched while they are typed ------------------------------------------


async def test_choices_are_searched_while_they_are_typed(site: Site, page: Page) -> None:
    site.intake.card = PICKED
    await page.goto(site.url)
    shown = page.locator(".boxes label")
    await expect(shown).to_have_text(["Ada Byron", "Adastra", "Bob & Sons", "Carla"])
    await page.get_by_label("Why?").fill("They called")
    await page.get_by_role("searchbox").press_sequentially("sons")
    await expect(shown).to_have_text(["Bob & Sons"])
    await shown.nth(0).click()
    # What was picked stays beside what is found next; the words go on where they were typed.
    await expect(page.get_by_role("searchbox")).to_have_value("sons")
    await page.get_by_role("searchbox").fill("ada")
    await expect(shown).to_have_text(["Bob & Sons", "Ada Byron", "Adastra"])
    assert await page.get_by_label("Bob & Sons").is_checked()
    assert page.url == site.url
    assert site.intake.answers == []
    await page.get_by_label("Adastra").check()
    await page.get_by_role("button", name="Send answer").click()
    await page.get_by_text("Answered by Ada").wait_for()
    [answer] = site.intake.answers
    assert answer.value == {"to": ["Bob & Sons", "Adastra"], "why": "They called"}
    assert not [said for said in page.complaints if "Security Policy" in said]  # type: ignore[attr-defined]


async def test_enter_in_a_search_box_searches_and_sends_nothing(site: Site, page: Page) -> None:
    site.intake.card = PICKED
    await page.goto(site.url)
    await page.get_by_role("searchbox").fill("carla")
    await page.keyboard.press("Enter")
    await expect(page.locator(".boxes label")).to_have_text(["Carla"])
    assert {post["Sec-Fetch-Mode"] for post in site.posts} == {"cors"}  # no form was sent
    assert page.url == site.url


async def test_a_choice_ticked_during_a_search_stays(site: Site, page: Page) -> None:
    site.intake.card = PICKED
    await page.goto(site.url)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held(query: str) -> None:
        if query:
            begun.set()
            await go_on.wait()

    site.intake.held = held
    await page.get_by_role("searchbox").fill("ada")
    await begun.wait()
    await page.get_by_label("Carla").check()
    go_on.set()
    await expect(page.locator(".boxes label")).to_have_text(["Carla", "Ada Byron", "Adastra"])
    assert await page.get_by_label("Carla").is_checked()


async def test_a_late_answer_to_earlier_words_is_not_shown(site: Site, page: Page) -> None:
    site.intake.card = PICKED
    await page.goto(site.url)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held(query: str) -> None:
        if query == "ada":
            begun.set()
            await go_on.wait()

    site.intake.held = held
    await page.get_by_role("searchbox").fill("ada")
    await begun.wait()
    await page.get_by_role("searchbox").fill("carla")
    await expect(page.locator(".boxes label")).to_have_text(["Carla"])
    go_on.set()
    await expect(page.locator(".picker")).not_to_have_attribute("aria-busy", "true")
    await expect(page.locator(".boxes label")).to_have_text(["Carla"])


async def test_a_search_that_fails_changes_nothing(site: Site, page: Page) -> None:
    site.intake.card = PICKED
    await page.goto(site.url)
    await page.route("**/*", lambda route: route.abort())
    async with page.expect_event("requestfailed"):
        await page.get_by_role("searchbox").fill("ada")
    await expect(page.locator(".picker")).not_to_have_attribute("aria-busy", "true")
    assert await page.locator(".boxes label").count() == 4


async def test_without_a_script_the_button_searches(site: Site, page: Page) -> None:
    site.intake.card = PICKED
    assert page.context.browser is not None
    plain = await (await page.context.browser.new_context(java_script_enabled=False)).new_page()
    await plain.goto(site.url)
    await plain.get_by_role("searchbox").fill("sons")
    await plain.get_by_role("button", name="Search").click()
    await expect(plain.locator(".boxes label")).to_have_text(["Bob & Sons"])
    assert site.intake.answers == []
