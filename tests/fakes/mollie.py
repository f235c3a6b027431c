"""Mollie's API, as far as its classic webhooks need it: objects by id, for who has the key."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "live_" + "k" * 30


def payment(name: str = "tr_d0b0E3EA3v", status: str = "paid", **more: Any) -> dict[str, Any]:
    """A payment as version 2 of the API shows it."""
    return {
        "resource": "payment",
        "id": name,
        "mode": "live",
        "status": status,
        "amount": {"value": "10.00", "currency": "EUR"},
        "metadata": {"order": "7"},
        **more,
    }


@dataclass
class Mollie:
    """Fill `objects` with `put`; `answer` replaces what is answered, `hold` keeps it waiting."""

    key: str = KEY
    objects: dict[str, Any] = field(default_factory=dict)
    answer: web.Response | None = None
    hold: asyncio.Event | None = None
    asked: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Mollie:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def put(self, shown: dict[str, Any]) -> None:
        self.objects[f"/v2/{shown['resource']}s/{shown['id']}"] = shown

    async def _serve(self, request: web.Request) -> web.Response:
        self.asked.append(request.raw_path)
        self.keys.append(request.headers.get("Authorization", ""))
        if self.hold is not None:
            await self.hold.wait()
        if self.answer is not None:
            return self.answer
        if self.keys[-1] != f"Bearer {self.key}":
            return web.json_response({"status": 401, "title": "Unauthorized Request"}, status=401)
        if request.raw_path not in self.objects:
            return web.json_response({"status": 404, "title": "Not Found"}, status=404)
        return web.json_response(self.objects[request.raw_path])
