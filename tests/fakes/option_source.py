"""A source of a picker's options over HTTP, as an application has one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

CUSTOMERS = {"cus_1": "Ada Ltd", "cus_2": "Bob & Sons", "cus_3": "Adastra"}


@dataclass
class OptionSource:
    """Searches labels. Change `customers` or `answer` to be another source."""

    customers: dict[str, str] = field(default_factory=lambda: dict(CUSTOMERS))
    answer: Any = None
    status: int = 200
    asked: list[dict[str, list[str]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> OptionSource:
        app = web.Application()
        app.router.add_get("/customers", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.Response:
        self.asked.append({name: request.query.getall(name) for name in request.query})
        self.headers.append(dict(request.headers))
        if self.status != 200:
            raise web.HTTPFound("/elsewhere") if self.status == 302 else web.HTTPInternalServerError
        if self.answer is not None:
            return web.json_response(self.answer)
        wanted = request.query.getall("id", [])
        typed = request.query.get("q", "").casefold()
        found = [
            {"id": name, "label": label}
            for name, label in self.customers.items()
            if (name in wanted if wanted else typed in label.casefold())
        ]
        return web.json_response(found[: int(request.query.get("limit", "100"))])
