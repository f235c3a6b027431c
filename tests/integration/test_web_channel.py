"""The answer page over real HTTP: a GET changes nothing, a POST counts only from our own page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters.channel import Delivery
from adapters.views import Receipt
from adapters.web.app import WebChannel
from adapters.web.nonces import MAX_AGE
from adapters.web.settings import WebSettings
from tests.fakes.answer_doors import ADA, APPROVAL, CLARIFICATION, HANDLE, StubIntake, StubLinks
from tests.fakes.answer_site import SAME_ORIGIN, Site, answer_site


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with answer_site() as made:
        yield made


async def test_reading_changes_nothing_however_often(site: Site) -> None:
    before = site.intake.card
    for method in ("GET", "HEAD", "GET", "HEAD"):
        async with site.session.request(method, site.url()) as response:
            assert response.status == 200
            assert (await response.text() == "") is (method == "HEAD")
    assert site.intake.answers == []
    assert site.intake.card is before
    assert set(site.links.opened) == {HANDLE}


async def test_every_answer_carries_the_guarding_headers(site: Site) -> None:
    nonce = await site.nonce()
    wanted = {
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex, nofollow",
    }
    requests = [
        ("GET", site.url(), None),
        ("GET", site.url("broken"), None),
        ("POST", site.url(), {"action": "accept"}),
        ("POST", site.url(), {"action": "accept", "nonce": nonce, "press": "hand"}),
    ]
    statuses = []
    for method, url, data in requests:
        async with site.session.request(
            method, url, data=data, headers=SAME_ORIGIN, allow_redirects=False
        ) as response:
            statuses.append(response.status)
            assert wanted.items() <= dict(response.headers).items()
            policy = response.headers["Content-Security-Policy"]
            for rule in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"):
                assert rule in policy
    assert statuses == [200, 404, 403, 303]


async def test_a_press_decides_and_the_page_then_shows_it(site: Site) -> None:
    status, _, location = await site.post({"action": "accept", "nonce": await site.nonce()})
    assert (status, location) == (303, f"./{HANDLE}")
    (answer,) = site.intake.answers
    assert (answer.interrupt_id, answer.person, answer.action) == ("intr-1", ADA, "accept")
    assert (answer.value, answer.version) == ({}, APPROVAL.version)
    status, html = await site.get()
    assert status == 200
    assert "Approved by Ada" in html
    assert "Recorded." in html  # the note of the redirect
    assert "<form" not in html


async def test_a_double_click_counts_once_and_ends_well(site: Site) -> None:
    press = {"action": "accept", "nonce": await site.nonce()}
    both = await asyncio.gather(site.post(press), site.post(press))
    assert [status for status, _, _ in both] == [303, 303]
    assert (await site.post(press))[0] == 303
    assert len(site.intake.answers) == 1


async def test_two_questions_from_one_page_are_two(site: Site) -> None:
    nonce = await site.nonce()
    for text in ("first?", "second?", "second?"):
        assert (await site.post({"action": "ask", "nonce": nonce, "v.f0": text}))[0] == 303
    assert [one.value for one in site.intake.answers] == [
        {"question": "first?"},
        {"question": "second?"},
    ]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_a_post_from_elsewhere_is_refused(site: Site, headers: dict[str, str]) -> None:
    press = {"action": "accept", "nonce": await site.nonce()}
    status, html, _ = await site.post(press, headers)
    assert status == 403
    assert "didn&#39;t come from our page" in html
    assert site.intake.answers == []


async def test_our_own_origin_is_taken(site: Site) -> None:
    origin = str(site.server.make_url("/")).rstrip("/")
    press = {"action": "accept", "nonce": await site.nonce(), "press": "ticked"}
    assert (await site.post(press, {"Origin": origin}))[0] == 303


async def test_without_nonce_or_cookie_nothing_counts_and_nothing_typed_is_lost(site: Site) -> None:
    nonce = await site.nonce()
    said = {"action": "reject", "v.f0": "far too <much>"}
    status, html, _ = await site.post(said)
    assert status == 403
    assert "far too &lt;much&gt;" in html
    site.session.cookie_jar.clear()
    status, html, _ = await site.post({**said, "nonce": nonce})
    assert status == 403
    assert "allow cookies" in html
    assert site.intake.answers == []
    # The page that came back can be sent as it is.
    again = re.search(r'name="nonce" value="([^"]+)"', html)
    assert again is not None
    assert (await site.post({**said, "nonce": again[1]}))[0] == 303
    assert site.intake.answers[0].value == {"feedback": "far too <much>"}


async def test_an_old_page_asks_to_press_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from itsdangerous import TimestampSigner

    nonce = await site.nonce()
    now = TimestampSigner("x").get_timestamp()
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _: now + MAX_AGE + 60)
    status, html, _ = await site.post({"action": "reject", "nonce": nonce, "v.f0": "my reason"})
    assert status == 403
    assert "open for a long time" in html
    assert "my reason" in html
    assert site.intake.answers == []


async def test_a_second_open_page_keeps_the_first_usable(site: Site) -> None:
    first, second = await site.nonce(), await site.nonce()
    assert first != second
    assert (await site.post({"action": "ask", "nonce": first, "v.f0": "a"}))[0] == 303
    assert (await site.post({"action": "ask", "nonce": second, "v.f0": "b"}))[0] == 303


async def test_a_wrong_value_comes_back_beside_its_field(site: Site) -> None:
    site.intake.card = CLARIFICATION
    said = {"action": "answer", "v.f0": "Long Lane 4", "v.f1": "twelve"}
    status, html, _ = await site.post({**said, "nonce": await site.nonce()})
    assert status == 422
    assert 'value="Long Lane 4"' in html
    assert 'value="twelve"' in html
    assert html.count('aria-invalid="true"') == 1
    assert site.intake.answers == []
    status, _, _ = await site.post({**said, "v.f1": "12", "nonce": await site.nonce()})
    assert status == 303
    assert site.intake.answers[0].value == {"answers": {"q1": "Long Lane 4", "q2": 12}}


async def test_what_the_host_refuses_comes_back_too(site: Site) -> None:
    site.intake.card = CLARIFICATION
    site.intake.refuse = lambda _: Receipt(
        False, "Please look again.", "validation_error", {"f0": "No such street."}, CLARIFICATION
    )
    status, html, _ = await site.post(
        {"action": "answer", "v.f0": "Nowhere", "v.f1": "1", "nonce": await site.nonce()}
    )
    assert status == 422
    assert "No such street." in html
    assert 'value="Nowhere"' in html


async def test_a_store_that_is_away_is_our_fault_and_said_so(site: Site) -> None:
    press = {"action": "accept", "nonce": await site.nonce()}
    site.intake.away = True
    status, html, _ = await site.post(press)
    assert status == 503
    assert "Nothing was recorded" in html
    site.intake.away = False
    assert (await site.post(press))[0] == 303


async def test_a_post_is_bounded_and_a_form(site: Site) -> None:
    nonce = await site.nonce()
    big = {"action": "reject", "nonce": nonce, "v.f0": "x" * (256 * 1024)}
    assert (await site.post(big))[0] == 413

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 16_384

    headers = {**SAME_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    async with site.session.post(site.url(), data=endless(), headers=headers) as response:
        assert response.status == 413
    async with site.session.post(site.url(), json={"action": "accept"}, headers=SAME_ORIGIN) as r:
        assert r.status == 415
    assert (await site.post({"action": "explode", "nonce": nonce}))[0] == 400
    assert site.intake.answers == []


async def test_cookies_are_guarded(site: Site) -> None:
    async with site.session.get(site.url()) as response:
        (cookie,) = response.headers.getall("Set-Cookie")
    assert cookie.startswith("sayso-form=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie  # plain http on loopback

    secure = WebChannel(
        WebSettings("https://sayso.example.com", b"s" * 32), site.intake, site.links
    )
    app = web.Application()
    app.add_routes(secure.routes())
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession() as session,
        session.get(server.make_url(f"/a/{HANDLE}")) as response,
    ):
        (cookie,) = response.headers.getall("Set-Cookie")
    assert cookie.startswith("__Host-sayso-form=")
    assert "Secure" in cookie
    assert "Path=/" in cookie
    assert "Domain" not in cookie


async def test_there_is_nothing_to_deliver() -> None:
    channel = WebChannel(WebSettings("https://s.example", b"s" * 32), StubIntake(), StubLinks())
    assert (await channel.show(Delivery("", APPROVAL))).ref == {"version": 3}
    assert channel.check_address("") == ""
    with pytest.raises(ValueError, match="no addresses"):
        channel.check_address("ada")
