"""A provider's token endpoint on loopback (RFC 6749): refresh tokens and client credentials."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.test_utils import TestServer

CLIENT, SECRET, REFRESH = "client-1", "client-secret-1", "refresh-0"


class TokenSite:
    """Use as `async with`. `good` are the access tokens that servers take; `renews` answers a new refresh
    token with each one, and the one before is good no more. `refuse` is what is answered instead."""

    def __init__(self, *, renews: bool = False, lifetime: object = 3600) -> None:
        self.good: set[str] = set()
        self.asked: list[dict[str, str]] = []
        self.refresh = REFRESH
        self.refuse: list[tuple[int, object]] = []
        self.slow = asyncio.Event()
        self.slow.set()
        self.url = ""
        self._renews = renews
        self._lifetime = lifetime

    async def __aenter__(self) -> TokenSite:
        app = web.Application()
        app.router.add_post("/token", self._token)
        self._server = TestServer(app)
        await self._server.start_server()
        self.url = str(self._server.make_url("/token"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        await self.slow.wait()
        if self.refuse:
            status, body = self.refuse.pop(0)
            return web.json_response(body, status=status)
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT, SECRET):
            return web.json_response({"error": "invalid_client"}, status=401)
        if form.get("grant_type") == "refresh_token" and form.get("refresh_token") != self.refresh:
            return web.json_response({"error": "invalid_grant"}, status=400)
        if form.get("grant_type") not in ("refresh_token", "client_credentials"):
            return web.json_response({"error": "unsupported_grant_type"}, status=400)
        token = f"access-{len(self.asked)}"
        self.good.add(token)
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self._lifetime}
        if self._renews:
            self.refresh = f"refresh-{len(self.asked)}"
            answer["refresh_token"] = self.refresh
        return web.json_response(answer)
