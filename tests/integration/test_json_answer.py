"""What is written in one go is what aiohttp would have written, and a connection lives as long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web

from gateway import logs
from gateway.json_answer import REQUEST_ID_HEADER, JsonAnswer

RAW = b'{"status":"resolved"}'
OTHER = b'{"status":"resolved","secret":"shown once"}'
HEADERS = {"ETag": '"3"', "Cache-Control": "no-store"}


@pytest_asyncio.fixture
async def port() -> AsyncIterator[int]:
    """A server with both: `/quick/{status}` and, by aiohttp alone, `/plain/{status}`."""

    async def quick(request: web.Request) -> web.Response:
        logs.request_id.set("request-1")
        return JsonAnswer(int(request.match_info["status"]), RAW, HEADERS)

    async def changed(request: web.Request) -> web.Response:
        answer = JsonAnswer(200, RAW)
        answer.body = OTHER
        return answer

    async def plain(request: web.Request) -> web.Response:
        headers = {**HEADERS, REQUEST_ID_HEADER: "request-1"}
        status = int(request.match_info["status"])
        return web.Response(
            body=RAW, status=status, headers=headers, content_type="application/json"
        )

    async def name(request: web.BaseRequest, response: web.StreamResponse) -> None:
        response.headers.setdefault(REQUEST_ID_HEADER, logs.request_id.get())

    app = web.Application()
    app.on_response_prepare.append(name)
    app.add_routes([web.get("/quick/{status}", quick), web.get("/plain/{status}", plain)])
    app.add_routes([web.get("/changed", changed)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def said(port: int, request: str) -> tuple[str, dict[str, str], bytes, bool]:
    """Status line, headers without the date, body, and whether the connection was left open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode() + b"\r\n")
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    headers.pop("date")
    body = b""
    if not request.startswith("HEAD"):
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    writer.write(b"GET /plain/200 HTTP/1.1\r\nHost: a\r\n\r\n")
    alive = bool(await reader.read(1))
    writer.close()
    return head[0], headers, body, alive


@pytest.mark.parametrize("status", [200, 201, 404, 503, 304])
@pytest.mark.parametrize(
    "request_of",
    [
        "GET {} HTTP/1.1\r\nHost: a\r\n",
        "GET {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n",
        "GET {} HTTP/1.0\r\n",
        "GET {} HTTP/1.0\r\nConnection: keep-alive\r\n",
        "HEAD {} HTTP/1.1\r\nHost: a\r\n",
    ],
    ids=["1.1", "closing", "1.0", "1.0 kept", "head"],
)
async def test_it_says_what_aiohttp_says(port: int, request_of: str, status: int) -> None:
    quick = await said(port, request_of.format(f"/quick/{status}"))
    assert quick == await said(port, request_of.format(f"/plain/{status}"))
    assert quick[1]["x-request-id"] == "request-1"


async def test_a_header_can_not_hold_another(port: int) -> None:
    answer = JsonAnswer(200, RAW, {"ETag": "a"})
    answer.headers["ETag"] = "a\r\nSet-Cookie: b"

    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        return answer

    server = web.Server(handler)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname()[:2])
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"Set-Cookie" not in await reader.read()
        writer.close()
    finally:
        listening.close()
        await server.shutdown(1)


async def test_a_body_that_was_changed_is_the_one_that_is_sent(port: int) -> None:
    _, headers, body, alive = await said(port, "GET /changed HTTP/1.1\r\nHost: a\r\n")
    assert (body, headers["content-length"], alive) == (OTHER, str(len(OTHER)), True)
