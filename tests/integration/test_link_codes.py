"""A link that has to be proven: a forwarded mail shows the question, and only the mailbox answers it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from schemas.ids import path_segment
from tests.acceptance.program import until
from tests.fakes.mail_server import MailServer
from tests.integration.conftest import Api, approval

PRESS = {"Origin": "null", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}


@dataclass
class Desk:
    """A gateway whose listed gates ask for a code, its mail, and a browser that holds the link."""

    api: Api
    mail: MailServer
    session: aiohttp.ClientSession

    async def asked(self, **data: Any) -> tuple[str, str]:
        """(interrupt id, link) of a fresh approval mailed to Ada."""
        before = len(self.mail.mails)
        record = await self.api.ask(
            await self.api.run(), approval(**data), notify=["email:ada@example.com"]
        )
        await until(lambda: len(self.mail.mails) > before, "the mail")
        found = re.search(r"http://\S+/a/[\w-]+", self.text(before))
        assert found is not None
        return record["interruptId"], found[0]

    def text(self, number: int) -> str:
        plain = self.mail.mails[number][1].get_body(("plain",))
        assert plain is not None
        return str(plain.get_content())

    async def post(self, link: str, **values: str) -> tuple[int, str]:
        """A press on a button of the page as it is now; the page that follows it."""
        async with self.session.get(link) as response:
            found = re.search(r'name="nonce" value="([^"]+)"', await response.text())
        assert found is not None
        data = {"nonce": found[1], "press": "hand", **values}
        async with self.session.post(link, data=data, headers=PRESS) as response:
            return response.status, await response.text()

    async def status(self, interrupt_id: str) -> str:
        path = f"/host/sayso/interrupts/{path_segment(interrupt_id)}"
        _, body, _ = await self.api.call("GET", path)
        return str(body["status"])

    async def code(self, link: str) -> str:
        """Asks for a code, and reads it from the mailbox."""
        before = len(self.mail.mails)
        status, page = await self.post(link, action="code")
        assert (status, "mailed you a code" in page) == (200, True)
        assert self.mail.mails[before][0] == ["ada@example.com"]
        found = re.search(r"Your code is (\d{6})\.", self.text(before))
        assert found is not None
        return found[1]


@pytest.fixture
async def desk(start: Callable[..., Awaitable[Api]]) -> AsyncIterator[Desk]:
    async with MailServer() as mail:
        email = {"smtp_url": mail.url, "from": "Sayso <sayso@example.org>"}
        api = await start(email=email, approvals={"links": "code"})
        # The cookie has the name that browsers accept over plain http on loopback.
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            yield Desk(api, mail, session)


async def test_the_mailbox_answers(desk: Desk) -> None:
    name, link = await desk.asked(approversList=["ada"])
    async with desk.session.get(link) as response:
        page = await response.text()
    assert "Prove that this mailbox is yours" in page
    assert 'value="accept"' not in page
    code = await desk.code(link)
    status, page = await desk.post(link, action="login", code=f" {code[:3]} {code[3:]}")
    assert (status, "You can answer now" in page) == (200, True)
    status, page = await desk.post(link, action="accept")
    assert (status, "Approved by Ada" in page) == (200, True)
    assert await desk.status(name) == "resolved"


async def test_a_forward_reads_and_decides_nothing(desk: Desk) -> None:
    name, link = await desk.asked(approversList=["ada"])
    assert (await desk.post(link, action="accept"))[0] == 403
    code = await desk.code(link)
    wrong = f"{(int(code) + 1) % 10**6:06}"
    for entered in (wrong, "", "abc", "½" * 6):
        assert (await desk.post(link, action="login", code=entered))[0] == 403
    # In another browser the right code is good; the proof is of that browser alone.
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as other:
        elsewhere = Desk(desk.api, desk.mail, other)
        assert (await elsewhere.post(link, action="login", code=code))[0] == 200
        assert (await desk.post(link, action="accept"))[0] == 403
        # And good once.
        assert (await desk.post(link, action="login", code=code))[0] == 403
    assert await desk.status(name) == "open"


async def test_guessing_and_flooding_end(desk: Desk) -> None:
    _, link = await desk.asked(approverGroupRefs=["payments"])
    code = await desk.code(link)
    for guess in range(5):
        wrong = f"{(int(code) + 1 + guess) % 10**6:06}"
        assert (await desk.post(link, action="login", code=wrong))[0] == 403
    assert (await desk.post(link, action="login", code=code))[0] == 403
    for _ in range(4):
        await desk.code(link)
    before = len(desk.mail.mails)
    _, page = await desk.post(link, action="code")
    assert "Too many codes" in page
    assert len(desk.mail.mails) == before


async def test_a_code_is_of_one_link(desk: Desk) -> None:
    _, first = await desk.asked(key="one", approversList=["ada"])
    _, second = await desk.asked(key="two", approversList=["ada"])
    code = await desk.code(first)
    assert (await desk.post(second, action="login", code=code))[0] == 403
    assert (await desk.post(first, action="login", code=code))[0] == 200
    # The proof of one link is none for another, in the same browser.
    assert (await desk.post(second, action="accept"))[0] == 403


async def test_who_lists_nobody_asks_for_no_code(desk: Desk) -> None:
    name, link = await desk.asked()
    status, _ = await desk.post(link, action="accept")
    assert status == 200
    assert await desk.status(name) == "resolved"


async def test_without_mail_there_can_be_no_codes(start: Callable[..., Awaitable[Api]]) -> None:
    with pytest.raises(ValueError, match=r"approvals\.links"):
        await start(approvals={"links": "code"})
