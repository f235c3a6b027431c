"""Mail servers that take tokens and no passwords: out by SMTP and in by IMAP, with a token endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adapters.channel import Delivery, DeliveryFailed
from adapters.email.app import EmailChannel
from adapters.email.client import SmtpClient
from adapters.email.inbound import imap
from adapters.email.inbound.settings import InboundSettings
from adapters.email.message import Envelope
from adapters.email.oauth import AccessTokens, Vault
from adapters.email.render import Mail
from adapters.email.settings import EmailSettings, OAuth
from adapters.email.transports.port import Outgoing
from adapters.views import Action, Card
from config.settings import Settings
from gateway.cli.mail import app
from gateway.doctor import services
from host.sealing import Sealer
from host.store.sqlite.store import SqliteStore
from tests.fakes.imap_server import ImapServer
from tests.fakes.mail_server import MailServer
from tests.fakes.token_site import CLIENT, REFRESH, SECRET, TokenSite
from tests.integration.conftest import approval
from tests.integration.mail_world import Opening, opened

__all__ = ["opened"]

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")  # on loopback, in the clear

CARD = Card("intr-1", "approval", "open", 1, "Refund", actions=(Action("accept", "Approve"),))
ASK = Delivery("ada@example.com", CARD, link="https://sayso.example.com/a/h")


class Clock:
    """Seconds, and milliseconds for what is kept."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def ms(self) -> int:
        return int(self.now * 1000)


@pytest.fixture
async def site() -> AsyncIterator[TokenSite]:
    async with TokenSite() as found:
        yield found


def account(site: TokenSite, **changed: str) -> OAuth:
    made = {"client_id": CLIENT, "client_secret": SECRET, "refresh_token": REFRESH}
    return OAuth(site.url, **{**made, **changed})


def channel(server: MailServer, oauth: OAuth) -> EmailChannel:
    return EmailChannel(EmailSettings(server.url, "s@e.example", timeout=5, oauth=oauth))


async def test_mail_goes_out_with_a_token_that_is_kept(site: TokenSite) -> None:
    async with MailServer(tokens=site.good) as server:
        email = channel(server, account(site))
        for _ in range(3):
            await email.show(ASK)
        await email.stop()
        email = channel(server, account(site, refresh_token="", scope="https://x/.default"))
        await email.show(ASK)
        await email.stop()
    assert len(server.mails) == 4
    assert server.shown == ["access-1", "access-2"]
    own = {"client_id": CLIENT, "client_secret": SECRET}
    assert site.asked == [
        {"grant_type": "refresh_token", "refresh_token": REFRESH, **own},
        {"grant_type": "client_credentials", "scope": "https://x/.default", **own},
    ]


async def test_a_token_that_was_revoked_is_fetched_anew_once(site: TokenSite) -> None:
    body = Mail("Refund", "Approve?", "<p>Approve?</p>")
    envelope = Envelope("", "s@e.example", "ada@example.com", "<x@e.example>")
    mail = Outgoing(body, envelope, datetime.now(UTC))
    async with MailServer(tokens=site.good) as server:
        settings = EmailSettings(server.url, "s@e.example", timeout=5, oauth=account(site))
        client = SmtpClient(settings, AccessTokens(account(site)))
        await client.send(mail)
        await client.close()  # so that the next mail has to log in
        site.good.clear()
        await client.send(mail)
        assert server.shown == ["access-1", "access-1", "access-2"]
        await client.close()
        # A server that takes none of them is no loop.
        server.tokens = set()
        with pytest.raises(DeliveryFailed) as failed:
            await client.send(mail)
        await client.close()
    assert failed.value.permanent
    assert "access-" not in failed.value.reason
    assert len(site.asked) == 3


@pytest.mark.parametrize(
    ("status", "body", "permanent"),
    [
        (400, {"error": "invalid_grant", "error_description": "hunter2"}, True),
        (401, {"error": "invalid_client"}, True),
        (503, {"error": "temporarily_unavailable"}, False),
        (429, {}, False),
        (200, {"access_token": "two\r\nlines"}, False),
        (200, ["access"], False),
    ],
)
async def test_no_token_no_mail(site: TokenSite, status: int, body: Any, permanent: bool) -> None:
    site.refuse.append((status, body))
    async with MailServer(tokens=site.good) as server:
        email = channel(server, account(site))
        with pytest.raises(DeliveryFailed) as failed:
            await email.show(ASK)
        assert failed.value.permanent is permanent
        assert not any(secret in failed.value.reason for secret in (SECRET, REFRESH, "hunter2"))
        assert server.mails == []
        await email.show(ASK)  # what passed by itself
        await email.stop()


@pytest.mark.parametrize(
    ("lifetime", "good", "over"),
    [(3600, 3539, 3541), ("3600", 3539, 3541), (90, 44, 46), (None, 239, 241), (-5, 239, 241)],
)
async def test_a_token_is_used_until_shortly_before_its_end(
    lifetime: object, good: float, over: float
) -> None:
    clock = Clock()
    async with TokenSite(lifetime=lifetime) as site:
        tokens = AccessTokens(account(site), clock=clock)
        assert await tokens.get() == "access-1"
        clock.now = 1000 + good
        assert await tokens.get() == "access-1"
        clock.now = 1000 + over
        assert await tokens.get() == "access-2"
        tokens.drop("access-1")  # an old one says nothing of the new one
        assert await tokens.get() == "access-2"
        await tokens.close()


async def test_ten_at_once_ask_for_one(site: TokenSite) -> None:
    site.slow.clear()
    tokens = AccessTokens(account(site))
    waiting = [asyncio.create_task(tokens.get()) for _ in range(10)]
    while not site.asked:
        await asyncio.sleep(0)
    site.slow.set()
    assert set(await asyncio.gather(*waiting)) == {"access-1"}
    assert len(site.asked) == 1
    await tokens.close()


async def test_a_refresh_token_that_changes_outlives_the_process(tmp_path: Path) -> None:
    clock = Clock()
    store = SqliteStore(tmp_path / "sayso.db")
    await store.start()
    sealer = Sealer(["k" * 32])

    def started() -> AccessTokens:
        return AccessTokens(account(site), Vault(store.documents, sealer, clock.ms), clock)

    async with TokenSite(renews=True, lifetime=100) as site:
        for number in (1, 2):
            tokens = started()
            assert await tokens.get() == f"access-{2 * number - 1}"
            clock.now += 200
            assert await tokens.get() == f"access-{2 * number}"
            await tokens.close()
        # What is kept is sealed, and is of this configuration alone.
        (kept,) = await store.documents.list("mail.oauth", clock.ms())
        assert "refresh" not in str(kept.value)
        site.refresh = "refresh-of-a-new-consent"
        renewed = account(site, refresh_token="refresh-of-a-new-consent")
        tokens = AccessTokens(renewed, Vault(store.documents, sealer, clock.ms), clock)
        assert await tokens.get() == "access-5"
        await tokens.close()
    await store.stop()


async def test_without_a_vault_the_newest_is_remembered() -> None:
    clock = Clock()
    async with TokenSite(renews=True, lifetime=100) as site:
        tokens = AccessTokens(account(site), clock=clock)
        for number in (1, 2, 3):
            assert await tokens.get() == f"access-{number}"
            clock.now += 200
        await tokens.close()


async def test_a_reply_is_read_from_a_mailbox_that_takes_tokens(
    opened: Opening, site: TokenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap, "BACKOFF", (0.05,))
    oauth = {
        "token_url": site.url,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "refresh_token": REFRESH,
    }
    async with ImapServer(tokens=site.good) as box:
        assert "@" in box.url
        assert "pw-imap" not in box.url
        office = await opened({"smtp": "", "imap_url": box.url, "oauth": oauth})
        record = await office.ask(approval(approversList=["ada"]))
        asked = await office.mails(1)
        await until(lambda: box.idling, "an IDLE")
        # The token is revoked: the next connection is refused once, and comes back with a new one.
        site.good.clear()
        box.hang_up()
        reply = office.reply(asked, "Approve")
        box.deliver(f"Delivered-To: {reply['To']}\r\n".encode() + bytes(reply))
        await until(lambda: len(site.asked) >= 2, "a second token")
        async with asyncio.timeout(15):
            while (found := await office.detail(record))["status"] == "open":
                await asyncio.sleep(0.02)
        assert found["outcome"]["by"] == "ada"
        assert box.bad == []
        assert not any(command.startswith("LOGIN") for command in box.commands)


async def test_mail_goes_out_of_a_gateway_with_tokens(
    start: Callable[..., Any], site: TokenSite
) -> None:
    oauth = {"token_url": site.url, "client_id": CLIENT, "client_secret": SECRET}
    async with MailServer(tokens=site.good) as server:
        email = {"smtp_url": server.url, "from": "s@e.example"}
        api = await start(email={**email, "oauth": {**oauth, "refresh_token": REFRESH}})
        await api.ask(await api.run(), notify=["email:ada@example.com"])
        await until(lambda: server.mails, "a mail")
        assert server.shown == ["access-1"]


async def until(condition: Callable[[], Any], what: str) -> None:
    try:
        async with asyncio.timeout(15):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"waited for {what}") from None


async def test_doctor_logs_in_with_a_token(
    site: TokenSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_CONFIG", "")
    config = tmp_path / "sayso.toml"

    async def doctor(secret: str) -> tuple[int, str]:
        config.write_text(
            f'data_dir = "{tmp_path / "data"}"\n[email.inbound]\naddress = "sayso@example.com"\n'
            f'authserv_id = "mx.example.com"\nimap_url = "{box.url}"\n[email.inbound.oauth]\n'
            f'token_url = "{site.url}"\nclient_id = "{CLIENT}"\nclient_secret = "{secret}"\n'
        )
        command = ["doctor", "--config", str(config)]
        result = await asyncio.to_thread(CliRunner().invoke, app, command)
        return result.exit_code, result.output

    async with ImapServer(tokens=site.good) as box:
        code, said = await doctor(SECRET)
        assert (code, "INBOX at 127.0.0.1 is read" in said) == (0, True), said
        code, said = await doctor("another-secret")
        assert (code, "401 invalid_client" in said, "another-secret" in said) == (1, True, False)


async def test_doctor_hands_in_with_a_token(site: TokenSite) -> None:
    async def said(secret: str) -> tuple[str, str]:
        oauth = {"token_url": site.url, "client_id": CLIENT, "client_secret": secret}
        settings = Settings(email={"smtp_url": server.url, "from": "s@e.example", "oauth": oauth})
        (found,) = [each async for each in services.mail(settings)]
        return found.level, f"{found.sentence} {found.do}"

    async with MailServer(tokens=site.good) as server:
        level, text = await said(SECRET)
        assert (level, "takes mail" in text) == ("ok", True), text
        level, text = await said("another-secret")
        assert (level, "401 invalid_client" in text, "another" in text) == ("fail", True, False)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"token_url": "http://login.example.com/token"}, "https"),
        ({"token_url": ""}, "token_url"),
        ({"client_id": ""}, "client_id"),
        ({"client_secret": "", "refresh_token": ""}, "client_secret or refresh_token"),
    ],
)
def test_what_is_no_account(changed: dict[str, str], says: str) -> None:
    made = {"token_url": "https://x.example/t", "client_id": "c", "client_secret": "hunter2"}
    with pytest.raises(ValueError, match=says) as wrong:
        OAuth(**{**made, **changed})
    assert "hunter2" not in str(wrong.value)


@pytest.mark.parametrize("user", ["", "u:hunter2@"])
def test_with_tokens_a_url_names_the_user_alone(user: str) -> None:
    oauth = OAuth("https://x.example/t", "c", "s")
    with pytest.raises(ValueError, match="user and no password") as wrong:
        EmailSettings(f"smtps://{user}mail.example.com", "s@e.example", oauth=oauth)
    assert "hunter2" not in str(wrong.value)
    url = f"imaps://{user}mail.example.com/INBOX"
    with pytest.raises(ValueError, match="user and no password"):
        InboundSettings("r.example.com", authserv_id="mx.example.com", imap_url=url, oauth=oauth)
    with pytest.raises(ValueError, match="user and no password"):
        EmailSettings(ses=None, from_address="s@e.example", smtp_url="smtps://x", oauth=oauth)
