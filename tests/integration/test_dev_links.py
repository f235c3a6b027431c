"""The links that `sayso dev` prints for a question: good for those who may answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aiohttp

from gateway.cli.serve import answer_links
from tests.acceptance.browser import Browser
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]


async def links(api: Api, **data: object) -> list[str]:
    record = await api.ask(await api.run(), approval(**data), notify=["web:"])
    asked = await api.gateway.host.store.log.interrupt(record["interruptId"])
    assert asked is not None
    return await answer_links(api.gateway, asked)


async def said_after_a_press(api: Api, link: str) -> str:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        browser = Browser(session, api.gateway.url)
        nonce = (await browser.read(link)).nonce
        status, _ = await browser.press(link, {"action": "accept"}, nonce)
        assert status == 303
        return (await browser.read(link)).text


async def test_whoever_is_listed_gets_a_link_that_counts(start: Start) -> None:
    api = await start()
    ada, carl = await links(api, approversList=["ada", "carl"])
    assert ada.startswith("as Ada: http")
    assert carl.startswith("as carl: http"), "one whom no configuration knows"
    assert "Approved by carl" in await said_after_a_press(api, carl.removeprefix("as carl: "))


async def test_a_group_is_those_who_are_in_it(start: Start) -> None:
    api = await start()
    [ada] = await links(api, approverGroupRefs=["payments"])
    assert "Approved by Ada" in await said_after_a_press(api, ada.removeprefix("as Ada: "))
    [nobody] = await links(api, approverGroupRefs=["legal"])
    assert nobody.startswith("Nobody here is in legal")


async def test_a_question_for_anybody_has_one_link(start: Start) -> None:
    [link] = await links(await start())
    assert "/a/" in link
