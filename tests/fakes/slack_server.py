"""The HTTP and websocket server of the fake Slack: calls, faults, response URLs."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes import slack_people
from tests.fakes.slack_limits import RateLimits
from tests.fakes.slack_methods import Workspace
from tests.fakes.slack_state import RESPONSE_URL_USES, SlackError
from tests.fakes.slack_transport import Sockets

METHODS = {
    "auth.test",
    "chat.postMessage",
    "chat.update",
    "chat.getPermalink",
    "chat.postEphemeral",
    "conversations.history",
    "conversations.list",
    "conversations.open",
    "conversations.replies",
    "users.info",
    "users.lookupByEmail",
    "usergroups.users.list",
    "views.open",
    "views.push",
    "views.update",
    "views.publish",
}


@dataclass(slots=True)
class Call:
    """One call of the Web API."""

    method: str
    args: dict[str, Any]
    token: str
    error: str = ""
    at: float = 0.0  # by the monotonic clock


@dataclass(slots=True)
class Fault:
    """What goes wrong with the next `times` calls of a method."""

    times: int = 1
    status: int = 0  # 429 or 500…
    retry_after: int = 1
    error: str = ""  # an ok:false answer
    drop: str = ""  # "before" or "after" the call had its effect
    wait: asyncio.Event | None = None  # held until this is set
    hold: asyncio.Event | None = None  # the answer is held, after the call had its effect


class SlackServer:
    """Serves one workspace on a free port of loopback. `changed` is set after each event."""

    def __init__(self, space: Workspace, bot_token: str, app_token: str) -> None:
        self.space, self.bot_token, self.app_token = space, bot_token, app_token
        self.registry = slack_people.Registry(space, bot_token)
        self.calls: list[Call] = []
        self.faults: dict[str, Fault] = {}
        self.limits = RateLimits()
        self.sockets = Sockets()
        self.changed = asyncio.Event()
        self.port = 0
        self._response_urls: dict[str, dict[str, Any]] = {}
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_get("/link", self._link)
        app.router.add_post("/hooks/{key}", self._hook)
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self.sockets.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def response_url(self, user: str) -> str:
        key = secrets.token_hex(8)
        self._response_urls[key] = {"user": user, "uses": 0}
        return f"{self.base_url}/hooks/{key}"

    async def _hook(self, request: web.Request) -> web.Response:
        known = self._response_urls.get(request.match_info["key"])
        if known is None or known["uses"] >= RESPONSE_URL_USES:
            return web.Response(status=404, text="expired_url")
        known["uses"] += 1
        self.space.private.append(
            {"by": "response_url", "user": known["user"], **await request.json()}
        )
        self.changed.set()
        return web.Response(text="ok")

    async def _link(self, request: web.Request) -> web.StreamResponse:
        return await self.sockets.serve(request, self.space.app_id, self.changed.set)

    async def _call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        args = await _arguments(request)
        call = Call(method, args, token, at=time.monotonic())
        self.calls.append(call)
        self.changed.set()
        try:
            return await self._answer(request, call)
        finally:
            self.changed.set()

    async def _answer(self, request: web.Request, call: Call) -> web.Response:
        fault = self._fault(call.method)
        if fault is not None:
            if fault.wait is not None:
                await fault.wait.wait()
            if fault.drop == "before":
                return _dropped(request)
            if fault.status == 429:
                call.error = "ratelimited"
                after = {"Retry-After": str(fault.retry_after)}
                return _json({"ok": False, "error": "ratelimited"}, 429, after)
            if fault.status:
                return web.Response(status=fault.status, text="<html>server error</html>")
        if after := self.limits.check(call.method, self._place(call.args.get("channel"))):
            call.error = "ratelimited"
            body = {"ok": False, "error": "ratelimited"}
            return _json(body, 429, {"Retry-After": str(after)})
        try:
            if fault is not None and fault.error:
                raise SlackError(fault.error)
            answer = {"ok": True, **self._run(call)}
        except SlackError as error:
            call.error = error.error
            answer = {"ok": False, "error": error.error}
            if error.messages:
                answer["response_metadata"] = {"messages": list(error.messages)}
        if fault is not None and fault.hold is not None:
            self.changed.set()
            await fault.hold.wait()
        if fault is not None and fault.drop == "after":
            return _dropped(request)
        return _json(answer, headers=self.registry.headers(call.method))

    def _place(self, channel: Any) -> str:
        """A channel's id, also where it was named."""
        known = self.space.channels.values()
        return next((c["id"] for c in known if channel == f"#{c['name']}"), str(channel or ""))

    def _fault(self, method: str) -> Fault | None:
        fault = self.faults.get(method)
        if fault is None or fault.times <= 0:
            return None
        fault.times -= 1
        return fault

    def _run(self, call: Call) -> dict[str, Any]:
        if call.method == "apps.connections.open":
            if call.token != self.app_token:
                raise SlackError("invalid_auth")
            url = f"ws://127.0.0.1:{self.port}/link?ticket={self.sockets.ticket()}"
            return {"url": url}
        found = slack_people.run(self.registry, call.method, call.token, call.args)
        if found is not None:
            return found
        if call.method not in METHODS:
            raise SlackError("unknown_method")
        if not call.token:
            raise SlackError("not_authed")
        space = self.registry.grant_of(call.token).space
        self.registry.check(call.method)
        answer: dict[str, Any] = getattr(space, call.method.replace(".", "_"))(call.args)
        return answer


async def _arguments(request: web.Request) -> dict[str, Any]:
    if request.match_info["method"] in slack_people.READING:
        return {**request.query, **(await request.post())}
    if request.content_type == "application/json":
        found = await request.json()
        return found if isinstance(found, dict) else {}
    form = {**request.query, **(await request.post())}
    for name in ("blocks", "view", "metadata"):
        if isinstance(form.get(name), str):
            form[name] = json.loads(str(form[name]))
    return form


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response(body, status=status, headers=headers)


def _dropped(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.close()
    return web.Response(status=500)
