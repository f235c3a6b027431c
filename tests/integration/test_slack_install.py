"""Installing the Slack app by OAuth, in several workspaces and organisations, and what ends it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from adapters.slack.install import ticket
from gateway.secrets import own_secrets
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_methods import Workspace
from tests.fakes.slack_people import inside, profile
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]


@dataclass
class Land:
    """A gateway that nothing is installed at yet, a Slack with two workspaces, and a browser."""

    api: Api
    slack: FakeSlack
    other: Workspace
    browser: aiohttp.ClientSession

    @property
    def registry(self) -> Any:
        return self.slack.server.registry

    def link(self) -> str:
        secret = own_secrets(self.api.gateway.settings.data_dir).forms
        return f"{self.api.gateway.url}/slack/install?ticket={ticket(secret.encode())}"

    async def begin(self, link: str = "") -> str:
        """Where Slack asks for consent."""
        async with self.browser.get(link or self.link(), allow_redirects=False) as response:
            assert response.status == 302, await response.text()
            return response.headers["Location"]

    async def visit(
        self, url: str, browser: aiohttp.ClientSession | None = None
    ) -> tuple[int, str]:
        async with (browser or self.browser).get(url, allow_redirects=False) as response:
            return response.status, await response.text()

    async def install(self, space: Workspace | None = None, *, org: str = "") -> None:
        url = self.registry.consent(await self.begin(), space or self.slack.space, org=org)
        status, page = await self.visit(url)
        assert (status, "is installed in" in page) == (200, True), page

    async def ask(self, *notify: str, key: str = "k", **data: Any) -> dict[str, Any]:
        run = await self.api.run()
        return await self.api.ask(run, approval(key, **data), notify=list(notify))

    async def status(self, record: dict[str, Any]) -> Any:
        path = f"/host/sayso/interrupts/{record['interruptId'].replace('/', '%2F')}"
        return (await self.api.call("GET", path))[1]


@pytest.fixture
async def land(start: Start) -> AsyncIterator[Land]:
    async with (
        FakeSlack() as slack,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        registry = slack.server.registry
        settings = {
            "signing_secret": slack.signing_secret,
            "api_url": slack.api_url,
            "client_id": registry.client_id,
            "client_secret": registry.client_secret,
        }
        api = await start(slack=settings, approvals={"unlisted": "anyone"})
        slack.target = api.gateway.url
        registry.redirect_urls.add(f"{api.gateway.url}/slack/oauth_redirect")
        other = Workspace("T0OTHER")
        other.bot_user, other.bot_id = "U0BOT2", "B0BOT2"
        other.add_user("U0BOT2", "sayso", is_bot=True)
        for space in (slack.space, other):
            profile(space, "U0ADA")
        yield Land(api, slack, other, browser)


async def test_one_workspace_is_installed_and_used_at_once(land: Land) -> None:
    await land.install()
    record = await land.ask("slack:#ops")
    message = await land.slack.posted("C0OPS")
    await land.slack.click(message, "sayso.accept", user="U0ADA")
    found = await land.status(record)
    assert (found["status"], found["outcome"]["by"]) == ("resolved", "ada")
    assert {call.token for call in land.slack.called("chat.postMessage")} == set(
        land.registry.tokens
    )


async def test_two_workspaces_each_have_their_token_and_their_people(land: Land) -> None:
    await land.install()
    await land.install(land.other)
    record = await land.ask("slack:T0OTHER/#ops", "slack:T0TEAM/C0OPS")
    here = await land.slack.posted("C0OPS")
    with inside(land.slack, land.other):
        there = await land.slack.posted("C0OPS")
        assert here is not there
        # Whoever is called U0BOB there is nobody's Bob here.
        await land.slack.click(there, "sayso.accept", user="U0BOB")
    by = (await land.status(record))["outcome"]["by"]
    assert by == "slack:T0OTHER:U0BOB"
    for copy in (here, there):
        await land.slack.until(
            lambda c=copy: "sayso.accept" not in str(c.blocks), "both to converge"
        )
    tokens = {land.registry.tokens[c.token].space.team for c in land.slack.called("chat.update")}
    assert tokens == {"T0TEAM", "T0OTHER"}


async def test_with_two_workspaces_an_address_has_to_name_one(land: Land) -> None:
    await land.install()
    await land.install(land.other)
    record = await land.ask("slack:#ops")
    found = await _dead(land, record)
    assert "write the address with its workspace" in found["error"]
    assert land.slack.messages == {}
    record = await land.ask("slack:T0NOWHERE/#ops", key="k2")
    assert "not installed in T0NOWHERE" in (await _dead(land, record))["error"]


async def _dead(land: Land, record: dict[str, Any]) -> dict[str, Any]:
    with land.api.gateway.host.waiters.on("messages") as changed:
        while True:
            changed.clear()
            (message,) = (await land.status(record))["messages"]
            if message["state"] == "dead":
                return dict(message)
            await changed.wait()


async def test_an_organisation_is_one_installation(land: Land) -> None:
    await land.install(land.other, org="E0ORG")
    record = await land.ask("slack:T0OTHER/C0OPS")
    with inside(land.slack, land.other):
        message = await land.slack.posted("C0OPS")
        payload_team = land.slack.click(message, "sayso.accept", user="U0ADA", team="E0ORG")
        profile(land.other, "U0ADA", enterprise_user={"enterprise_id": "E0ORG", "teams": []})
        await payload_team
    found = await land.status(record)
    assert (found["status"], found["outcome"]["by"]) == ("resolved", "ada")


async def test_a_link_is_good_once(land: Land) -> None:
    link = land.link()
    first, _ = await land.begin(link), await land.begin(link)
    status, _ = await land.visit(land.registry.consent(first, land.slack.space))
    assert status == 400  # the browser has the cookie of what it began last
    url = land.registry.consent(await land.begin(link), land.slack.space)
    assert (await land.visit(url))[0] == 200
    url = land.registry.consent(await land.begin(link), land.other)
    status, page = await land.visit(url)
    assert (status, "used already" in page) == (400, True)
    assert [g.space.team for g in land.registry.tokens.values()] == ["T0TEAM"]  # given back


async def test_a_stranger_can_not_begin(land: Land) -> None:
    for link in ("", "?ticket=x", "?ticket=" + "x" * 4000, "?ticket=" + ticket(b"another secret")):
        status, page = await land.visit(f"{land.api.gateway.url}/slack/install{link}")
        assert (status, "Not installed" in page) == (403, True)
        assert "Location" not in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": None}, "not begun here"),
        ({"state": "forged"}, "not begun here"),
        ({"state": "x" * 4000}, "not begun here"),
        ({"code": None}, "no code"),
        ({"code": "wrong"}, "did not take the code"),
        ({"code": None, "error": "access_denied"}, "you declined"),
        ({"code": None, "error": "<script>alert(1)</script>"}, "&lt;script&gt;"),
    ],
)
async def test_what_comes_back_wrong_installs_nothing(
    land: Land, change: dict[str, Any], words: str
) -> None:
    url = urlsplit(land.registry.consent(await land.begin(), land.slack.space))
    query = {name: values[0] for name, values in parse_qs(url.query).items()} | change
    given = {name: value for name, value in query.items() if value is not None}
    async with land.browser.get(url._replace(query="").geturl(), params=given) as response:
        assert response.status in (400, 502)
        page = await response.text()
    assert words in page
    assert "<script" not in page
    assert land.registry.tokens == {}
    assert response.headers["Cache-Control"] == "no-store"


async def test_another_browser_can_not_finish_it(land: Land) -> None:
    url = land.registry.consent(await land.begin(), land.slack.space)
    async with aiohttp.ClientSession() as stranger:
        status, page = await land.visit(url, stranger)
    assert (status, "another browser" in page) == (400, True)
    assert (await land.visit(url))[0] == 200  # the one who began can, once
    assert (await land.visit(url))[0] == 400


async def test_the_way_back_is_not_open_after_ten_minutes(
    land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = land.registry.consent(await land.begin(), land.slack.space)
    later = time.time() + 601
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: later)
    assert "ten minutes" in (await land.visit(url))[1]
    assert land.registry.tokens == {}


async def test_named_workspaces_install_themselves_and_others_do_not(start: Start) -> None:
    async with (
        FakeSlack() as slack,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        registry = slack.server.registry
        api = await start(
            slack={
                "signing_secret": slack.signing_secret,
                "api_url": slack.api_url,
                "client_id": registry.client_id,
                "client_secret": registry.client_secret,
                "workspaces": ["T0TEAM", "E0ORG"],
            }
        )
        registry.redirect_urls.add(f"{api.gateway.url}/slack/oauth_redirect")
        land = Land(api, slack, Workspace("T0EVIL"), browser)
        bare = f"{api.gateway.url}/slack/install"
        status, page = await land.visit(registry.consent(await land.begin(bare), land.other))
        assert (status, "no installation in T0EVIL" in page) == (403, True)
        assert registry.tokens == {}  # the token was given back
        assert (await land.visit(registry.consent(await land.begin(bare), slack.space)))[0] == 200
        url = registry.consent(await land.begin(bare), land.other, org="E0ORG")
        assert (await land.visit(url))[0] == 200


@pytest.mark.parametrize(
    "event",
    [
        {"type": "app_uninstalled"},
        {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": ["U0BOT"]}},
    ],
)
async def test_an_app_that_was_removed_is_gone(land: Land, event: dict[str, Any]) -> None:
    await land.install()
    message_of = await land.ask("slack:#ops")
    message = await land.slack.posted("C0OPS")
    assert (await land.slack.emit(event)).answer.status == 200
    record = await land.ask("slack:T0TEAM/#ops", key="k2")
    assert "not installed" in (await _dead(land, record))["error"]
    answer = await land.slack.click(message, "sayso.accept", user="U0ADA")
    assert answer.status == 200  # nobody can be told, and nothing is counted
    assert (await land.status(message_of))["status"] == "open"
    await land.install()  # and again
    assert await land.ask("slack:#ops", key="k3")
    await land.slack.posted("C0OPS", 2)


async def test_news_from_before_the_last_installation_ends_nothing(land: Land) -> None:
    await land.install()
    sent = await land.slack.emit({"type": "app_uninstalled"})
    await land.install()
    late = {**sent.payload, "event_time": int(time.time()) - 60, "event_id": "Ev9"}
    assert (await land.slack.send("events_api", late)).status == 200
    users_only = {"type": "tokens_revoked", "tokens": {"oauth": ["U0ADA"], "bot": []}}
    await land.slack.emit(users_only)
    await land.ask("slack:#ops")
    assert await land.slack.posted("C0OPS")


async def test_what_is_installed_is_sealed_and_survives_a_restart(land: Land, start: Start) -> None:
    await land.install()
    (token,) = land.registry.tokens
    settings = land.api.gateway.settings
    await land.api.gateway.stop()
    for path in settings.data_dir.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path
    api = await start(
        **{name: getattr(settings, name) for name in ("slack", "approvals", "data_dir")}
    )
    again = Land(api, land.slack, land.other, land.browser)
    await again.ask("slack:#ops")
    assert await land.slack.posted("C0OPS")
    assert land.slack.calls[-1].token in (token, "")


async def test_several_workspaces_over_one_socket(start: Start) -> None:
    async with (
        FakeSlack() as slack,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        registry = slack.server.registry
        api = await start(
            slack={
                "app_token": slack.app_token,
                "api_url": slack.api_url,
                "client_id": registry.client_id,
                "client_secret": registry.client_secret,
            },
            approvals={"unlisted": "anyone"},
        )
        registry.redirect_urls.add(f"{api.gateway.url}/slack/oauth_redirect")
        other = Workspace("T0OTHER")
        profile(other, "U0BOB")
        land = Land(api, slack, other, browser)
        await land.install()
        await land.install(other)
        record = await land.ask("slack:T0OTHER/#ops")
        with inside(slack, other):
            message = await slack.posted("C0OPS")
            answer = await slack.click(message, "sayso.accept", user="U0BOB")
        assert answer.status == 200
        assert (await land.status(record))["outcome"]["by"] == "bob"  # by the confirmed address
