"""The answer page on a real server on loopback, and one browser's session with it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters.web.app import WebChannel
from adapters.web.settings import WebSettings
from tests.fakes.answer_doors import HANDLE, StubIntake, StubLinks

SAME_ORIGIN = {
    "Origin": "null",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-User": "?1",
}
"""What a browser says when a person presses."""


@dataclass
class Site:
    """The channel on a real server, and one browser's session."""

    intake: StubIntake
    links: StubLinks
    server: TestServer
    session: aiohttp.ClientSession

    def url(self, handle: str = HANDLE) -> str:
        return str(self.server.make_url(f"/a/{handle}"))

    async def get(self, handle: str = HANDLE) -> tuple[int, str]:
        async with self.session.get(self.url(handle)) as response:
            return response.status, await response.text()

    async def nonce(self) -> str:
        _, html = await self.get()
        found = re.search(r'name="nonce" value="([^"]+)"', html)
        assert found is not None
        return found[1]

    async def post(
        self, members: dict[str, str], headers: dict[str, str] = SAME_ORIGIN, handle: str = HANDLE
    ) -> tuple[int, str, str]:
        """Status, text and Location of a form post."""
        async with self.session.post(
            self.url(handle),
            data={"press": "hand", **members},
            headers=headers,
            allow_redirects=False,
        ) as response:
            return response.status, await response.text(), response.headers.get("Location", "")


@asynccontextmanager
async def answer_site() -> AsyncIterator[Site]:
    """The channel, started; stopped at the end of the block."""
    intake, links = StubIntake(), StubLinks()
    channel = WebChannel(WebSettings("http://127.0.0.1:8080", b"s" * 32), intake, links)
    app = web.Application()
    app.add_routes(channel.routes())
    server = TestServer(app)
    await channel.start()
    await server.start_server()
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        yield Site(intake, links, server, session)
    await channel.stop()
    await server.close()
