"""A person's browser at the answer page: reads it, presses a button of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import aiohttp


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    text: str
    nonce: str  # of its form, "" when it has none


class Browser:
    """One browser: the cookies are those of `session`. `origin` is that of the page."""

    def __init__(self, session: aiohttp.ClientSession, origin: str) -> None:
        self._session = session
        self._origin = origin

    async def read(self, link: str, method: str = "GET") -> Page:
        async with self._session.request(method, link) as response:
            text = await response.text()
            found = re.search(r'name="nonce" value="([^"]+)"', text)
            return Page(response.status, text, found[1] if found else "")

    async def press(
        self, link: str, values: dict[str, str], nonce: str, origin: str = ""
    ) -> tuple[int, str]:
        """(status, text) of the form's post, no redirect followed."""
        headers = {"Origin": origin or self._origin, "Sec-Fetch-User": "?1"}
        body = {"press": "hand", **values, **({"nonce": nonce} if nonce else {})}
        async with self._session.post(
            link, data=body, headers=headers, allow_redirects=False
        ) as response:
            return response.status, await response.text()
