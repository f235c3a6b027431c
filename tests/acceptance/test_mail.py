"""A question by mail: a link that anything may read, and that only a person's press answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import aiohttp
import pytest

from tests.acceptance.agent import Agent, approval
from tests.acceptance.browser import Browser
from tests.acceptance.conftest import PEOPLE
from tests.acceptance.program import Program, until
from tests.acceptance.test_slack import environment
from tests.fakes.mail_server import MailServer
from tests.fakes.slack import FakeSlack, Fault


@pytest.fixture
async def office(program: Callable[..., Program], mail: MailServer) -> Program:
    settings = {"SAYSO_EMAIL__SMTP_URL": mail.url, "SAYSO_EMAIL__FROM": "Desk <desk@example.org>"}
    made = program(config=PEOPLE, settings=settings)
    await made.start()
    return made


@pytest.fixture
def agent(office: Program, session: aiohttp.ClientSession) -> Agent:
    return Agent(office, session)


async def arrived(mail: MailServer, count: int) -> tuple[list[str], str, str]:
    """(recipients, subject, plain text) of the `count`th mail."""
    await until(lambda: len(mail.mails) >= count, f"mail {count}")
    recipients, message = mail.mails[count - 1]
    plain = message.get_body(("plain",))
    assert plain is not None
    return recipients, str(message["Subject"]), plain.get_content()


def link_in(text: str) -> str:
    found = re.search(r"http://\S+/a/[\w-]+", text)
    assert found is not None, text
    return found[0]


async def test_a_mailed_link_is_read_by_anything_and_answered_by_a_press(
    agent: Agent, office: Program, mail: MailServer, session: aiohttp.ClientSession
) -> None:
    run = await agent.run()
    asked = approval(approversList=["ada"])
    record = await agent.ask(run, asked, notify=["email:Ada@Example.com"])
    waiting = asyncio.create_task(agent.value(record))
    recipients, subject, text = await arrived(mail, 1)
    assert recipients == ["Ada@example.com"]  # as it was written; she is Ada all the same
    assert "Refund 120 EUR to Acme" in subject
    assert mail.senders == ["desk@example.org"]
    link = link_in(text)
    before = await agent.events(run)

    # A scanner follows it, twice and without cookies; a preview asks for its head.
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as bare:
        scanner = Browser(bare, office.url)
        seen = [await scanner.read(link) for _ in range(2)]
        assert (await scanner.read(link, "HEAD")).status == 200
        assert [page.status for page in seen] == [200, 200]
        assert "Refund 120 EUR to Acme" in seen[0].text
        # It presses the button too: but it has no cookie.
        status, _ = await scanner.press(link, {"action": "accept"}, seen[0].nonce)
        assert status == 403
    browser = Browser(session, office.url)
    page = await browser.read(link)
    for nonce, origin in (("", office.url), (page.nonce, "https://evil.example"), ("x", "")):
        status, _ = await browser.press(link, {"action": "accept"}, nonce, origin)
        assert status == 403
    assert await agent.events(run) == before
    assert (await agent.look(record))["status"] == "open"

    status, _ = await browser.press(link, {"action": "accept"}, page.nonce)
    assert status == 303
    value = await waiting
    assert (value["action"], value["decidedBy"]) == ("accept", "ada")
    after = await browser.read(link)
    assert "Approved by Ada" in after.text
    assert after.nonce == ""
    _, subject_after, text = await arrived(mail, 2)
    assert "Approved by Ada" in text
    assert subject_after == f"Re: {subject}"
    assert link.rpartition("/")[2] not in office.output


async def test_a_link_is_its_persons_own(
    agent: Agent, office: Program, mail: MailServer, session: aiohttp.ClientSession
) -> None:
    run = await agent.run()
    asked = approval(approversList=["ada"])
    record = await agent.ask(run, asked, notify=["email:bob@example.com"])
    _, _, text = await arrived(mail, 1)
    link = link_in(text)
    browser = Browser(session, office.url)
    page = await browser.read(link)
    status, _ = await browser.press(link, {"action": "accept"}, page.nonce)
    assert status == 403
    assert (await agent.look(record))["status"] == "open"
    assert (await browser.read(link + "x")).status == 404


async def test_a_slow_slack_holds_up_no_mail(
    program: Callable[..., Program],
    slack: FakeSlack,
    mail: MailServer,
    session: aiohttp.ClientSession,
) -> None:
    pace = {"SAYSO_SLACK__PACE": "30"}  # not its limits: Slack itself is what is slow here
    slack.limits.scale = 30.0
    settings = {"SAYSO_EMAIL__SMTP_URL": mail.url, **environment(slack), **pace}
    made = program(config=PEOPLE, settings=settings)
    await made.start()
    agent = Agent(made, session)
    released = asyncio.Event()
    slack.faults["chat.postMessage"] = Fault(times=1000, wait=released)
    run = await agent.run()
    for number in range(20):  # more than go out at a time
        await agent.ask(run, approval(f"k{number}"), node=f"n{number}", notify=["slack:#ops"])
    await until(lambda: slack.called("chat.postMessage"), "a post on its way")
    posts = len(slack.called("chat.postMessage"))
    record = await agent.ask(run, approval(), notify=["email:ada@example.com", "slack:#ops"])
    await arrived(mail, 1)
    assert not slack.messages  # not one of them is through
    assert posts <= len(slack.called("chat.postMessage")) <= 20  # and none was given up
    released.set()
    await slack.posted("C0OPS", 21)

    async def shown() -> bool:
        return all(m["state"] == "shown" for m in (await agent.look(record))["messages"])

    await until(shown, "both to be shown")


async def test_a_mail_waits_for_its_server(
    program: Callable[..., Program], session: aiohttp.ClientSession
) -> None:
    async with MailServer() as gone:
        url = gone.url
    made = program(config=PEOPLE, settings={"SAYSO_EMAIL__SMTP_URL": url})
    await made.start()
    agent = Agent(made, session)
    run = await agent.run()
    record = await agent.ask(run, approval(), notify=["email:ada@example.com"])

    async def tried() -> bool:
        (message,) = (await agent.look(record))["messages"]
        return bool(message["attempts"] >= 1 and message["state"] == "due" and message["error"])

    await until(tried, "a failed attempt that will be repeated")
    async with MailServer(int(url.rpartition(":")[2])) as back:
        recipients, _, _ = await arrived(back, 1)
        assert recipients == ["ada@example.com"]
