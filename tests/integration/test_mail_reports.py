"""Mail that a provider could not deliver: its signed report does what a bounce does, at a running gateway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from tests.fakes.mail_providers import (
    ACCESS_KEY,
    DOMAIN,
    MAILGUN_KEY,
    SECRET_KEY,
    SERVER_TOKEN,
    Providers,
    Taken,
    mailgun_report,
    postmark_report,
)
from tests.integration.conftest import Api

PASSWORD, SIGNING = "postmark-hook-password", "mailgun-signing-key-1"
NAMES = ["postmark", "mailgun"]
LOST = {
    "event": "failed",
    "severity": "permanent",
    "reason": "bounce",
    "delivery-status": {"code": 550, "message": "5.1.1 no such user"},
}


@dataclass
class Post:
    """A gateway that mails by one provider, and takes its reports alone."""

    name: str
    api: Api
    providers: Providers
    tokens: list[str] = field(default_factory=list)

    async def asked(self, key: str = "k") -> dict[str, Any]:
        from tests.integration.conftest import approval

        run = await self.api.run()
        return await self.api.ask(run, approval(key), notify=["email:ada@example.com"])

    async def taken(self, count: int) -> Taken:
        async with asyncio.timeout(15):
            while len(self.providers.taken) < count:
                await asyncio.sleep(0.01)
        return self.providers.taken[count - 1]

    def report(self, taken: Taken, what: str) -> dict[str, Any]:
        """`lost`, `late` or `complaint`, as this provider says it."""
        if self.name == "postmark":
            kind = {"lost": "HardBounce", "late": "Transient", "complaint": "SpamComplaint"}[what]
            return postmark_report(taken, kind, "smtp;550 5.1.1 no such user")
        event = {
            "lost": LOST,
            "late": {**LOST, "severity": "temporary"},
            "complaint": {"event": "complained"},
        }[what]
        self.tokens.append(f"t{len(self.tokens)}")
        return mailgun_report(taken, self.tokens[-1], event, SIGNING, time.time())

    async def send(self, report: dict[str, Any], password: str = PASSWORD) -> tuple[int, Any]:
        headers = {}
        if self.name == "postmark":
            headers["Authorization"] = aiohttp.encode_basic_auth("sayso", password)
        url = f"{self.api.gateway.url}/mail/{self.name}/reports"
        async with self.api.session.post(url, json=report, headers=headers) as response:
            return response.status, await response.json()

    async def detail(self, record: dict[str, Any]) -> dict[str, Any]:
        from schemas.ids import path_segment

        path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}"
        status, body, _ = await self.api.call("GET", path)
        assert status == 200, body
        return dict(body)

    async def state(self, record: dict[str, Any], address: str, state: str) -> dict[str, Any]:
        async with asyncio.timeout(15):
            while True:
                for each in (await self.detail(record))["messages"]:
                    if (each["address"], each["state"]) == (address, state):
                        return dict(each)
                await asyncio.sleep(0.02)


@pytest.fixture(params=NAMES)
async def post(
    request: pytest.FixtureRequest, start: Callable[..., Awaitable[Api]]
) -> AsyncIterator[Post]:
    async with Providers() as providers:
        account: dict[str, Any] = {
            "ses": {
                "region": "eu-central-1",
                "access_key_id": ACCESS_KEY,
                "secret_access_key": SECRET_KEY,
                "api_url": providers.url,
            },
            "postmark": {"server_token": SERVER_TOKEN, "api_url": providers.url},
            "mailgun": {"domain": DOMAIN, "api_key": MAILGUN_KEY, "api_url": providers.url},
        }[request.param]
        inbound = {
            "address": "r.example.com",
            "policy": "off",
            "postmark_password": PASSWORD,
            "mailgun_key": SIGNING,
        }
        email = {request.param: account, "from": f"Sayso <sayso@{DOMAIN}>", "inbound": inbound}
        api = await start(email=email, fallback=["email:bob@example.com"])
        yield Post(request.param, api, providers)
        assert providers.complaints == []


async def test_a_mail_that_is_lost_moves_the_question_on(post: Post) -> None:
    record = await post.asked()
    mail = await post.taken(1)
    assert (
        mail.mail["Reply-To"] is None
    )  # no replies are read here, and reports arrive all the same
    assert await post.send(post.report(mail, "lost")) == (200, {"status": "bounced"})
    dead = await post.state(record, "ada@example.com", "dead")
    assert "bounced: 550 5.1.1 no such user" in dead["error"]
    await post.state(record, "bob@example.com", "shown")
    assert (await post.taken(2)).to == "bob@example.com"
    found = await post.detail(record)
    assert found["status"] == "open"
    assert [n["reason"] for n in found["notes"]] == [
        "could not be delivered to ada@example.com: 550 5.1.1 no such user"
    ]
    # Reported once more, it is the same; and the next question to her isn't even tried.
    assert await post.send(post.report(mail, "lost")) == (200, {"status": "bounced"})
    assert len((await post.detail(record))["notes"]) == 1
    second = await post.asked("k2")
    await post.state(second, "ada@example.com", "dead")


async def test_a_complaint_ends_the_mails(post: Post) -> None:
    record = await post.asked()
    assert await post.send(post.report(await post.taken(1), "complaint")) == (
        200,
        {"status": "complained"},
    )
    await post.state(record, "ada@example.com", "dead")
    await post.state(record, "bob@example.com", "shown")
    second = await post.asked("k2")
    await post.state(second, "ada@example.com", "dead")


async def test_a_delay_and_what_is_not_ours_change_nothing(post: Post) -> None:
    record = await post.asked()
    mail = await post.taken(1)
    assert await post.send(post.report(mail, "late")) == (200, {"status": "ignored"})
    other = Taken(mail.to, mail.mail, {"MessageStream": "outbound"})
    assert await post.send(post.report(other, "lost")) == (200, {"status": "gone"})
    # A reply address, which its person knows, reports nothing.
    person = _ada()
    reply = await post.api.gateway.links.mail_handle("reply", record["interruptId"], person)
    changed = {"Metadata": {"sayso": reply}, "v:sayso": reply, "MessageStream": "outbound"}
    forged = Taken(mail.to, mail.mail, changed)
    assert await post.send(post.report(forged, "lost")) == (200, {"status": "gone"})
    await post.state(record, "ada@example.com", "shown")
    assert "notes" not in await post.detail(record)
    assert len(post.providers.taken) == 1


async def test_a_report_that_is_not_proven_changes_nothing(post: Post) -> None:
    record = await post.asked()
    report = post.report(await post.taken(1), "lost")
    if post.name == "mailgun":
        report["signature"]["signature"] = "0" * 64
    status, said = await post.send(report, "another password")
    assert (status, said["error"]) == (401, "unauthenticated")
    await post.state(record, "ada@example.com", "shown")
    assert "notes" not in await post.detail(record)


@pytest.mark.parametrize("post", ["mailgun"], indirect=True)
async def test_a_report_of_mailgun_counts_once(post: Post) -> None:
    await post.asked()
    report = post.report(await post.taken(1), "lost")
    assert (await post.send(report))[0] == 200
    # Its HMAC covers a token alone: with another body it would be good once more.
    report["event-data"]["event"] = "complained"
    assert (await post.send(report))[0] == 401


@pytest.mark.parametrize("post", ["ses"], indirect=True)
async def test_a_mail_by_ses_is_known_by_its_address_and_its_tag(post: Post) -> None:
    """Its reports themselves: `test_mail_hooks.py`."""
    record = await post.asked()
    request = (await post.taken(1)).request
    mark = await post.api.gateway.links.mail_handle("bounce", record["interruptId"], _ada())
    assert request["EmailTags"] == [{"Name": "sayso", "Value": mark}]
    assert request["FeedbackForwardingEmailAddress"] == f"{mark}@r.example.com"


def _ada() -> Any:
    from adapters.views import Person

    return Person("email", "ada@example.com")
