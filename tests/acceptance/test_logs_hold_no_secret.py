"""Whatever secret goes through a running gateway, in whatever place: its log never has it."""

from __future__ import annotations

import asyncio
import socket
import string
from collections.abc import Callable
from urllib.parse import urlsplit

import aiohttp
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.ids import path_segment
from tests.acceptance.agent import Agent, approval
from tests.acceptance.program import Program
from tests.acceptance.test_payments import CONFIG

ALNUM = string.ascii_letters + string.digits
MARK = st.text(ALNUM, min_size=24, max_size=40)
FORMS: tuple[Callable[[str], str], ...] = (
    lambda m: f"ow2.hs256.k1.{m}.{m}",
    lambda m: f"sayso_key_{m}",
    lambda m: f"xoxb-1-{m}",
    lambda m: f"whsec_{m}",
    lambda m: m,
    lambda m: f"{m}~.{m}",
)
SECRET = st.tuples(MARK, st.sampled_from(FORMS)).map(lambda pair: (pair[0], pair[1](pair[0])))
Send = Callable[[str], None]


def doors(program: Program, run: str, interrupt: str) -> dict[str, Send]:
    """Every place in which a secret arrives, and a request that brings one there."""
    base, session = program.url, requests.Session()
    asking = f"{base}/host/sayso/runs/{path_segment(run)}/interrupts"
    good = {"Authorization": f"Bearer {program.key}"}
    body = {"nodeId": "other", "payload": approval(), "notify": []}

    def call(method: str, url: str, **more: object) -> None:
        session.request(method, url, timeout=20, allow_redirects=False, **more)  # type: ignore[arg-type]

    def raw(text: str) -> None:
        """What no client sends: the server's own complaints are looked at too."""
        host, port = urlsplit(base).hostname, urlsplit(base).port
        with socket.create_connection((host, port), timeout=10) as connection:
            connection.sendall(text.encode())
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    return {
        "bearer": lambda s: call("POST", f"{base}/runs", headers={"Authorization": f"Bearer {s}"}),
        "basic": lambda s: call("GET", f"{base}/runs/x", headers={"Authorization": f"Basic {s}"}),
        "idempotency key": lambda s: call(
            "POST", asking, json=body, headers={**good, "Idempotency-Key": s}
        ),
        "token, read": lambda s: call("GET", f"{base}/interrupts/{s}"),
        "token, answered": lambda s: call(
            "POST", f"{base}/interrupts/{s}", json={"resumeValue": {"action": "accept"}}
        ),
        "handle": lambda s: call("GET", f"{base}/a/{s}"),
        "handle, pressed": lambda s: call(
            "POST", f"{base}/a/{s}", data={"action": "accept", "nonce": s}
        ),
        "cookie": lambda s: call("GET", f"{base}/a/x", headers={"Cookie": f"nonce={s}"}),
        "query": lambda s: call("GET", f"{base}/runs/x/events?token={s}&api_key={s}"),
        "unknown path": lambda s: call("GET", f"{base}/nowhere/{s}"),
        "wrong method": lambda s: call("DELETE", f"{base}/interrupts/{s}"),
        "signature": lambda s: call(
            "POST",
            f"{base}/hooks/shop-payments",
            json={"secret": s},
            headers={"Stripe-Signature": f"t=1,v1={s}"},
        ),
        "value": lambda s: call(
            "POST",
            f"{base}/runs/{path_segment(run)}/interrupts/gate",
            json={"resumeValue": {"action": "accept", "feedback": s, s: s}},
            headers=good,
        ),
        "trace and id": lambda s: call(
            "GET", f"{base}/readyz", headers={"traceparent": s, "X-Request-Id": f"{s}!"}
        ),
        "cancel reason": lambda s: call(
            "POST",
            f"{base}/host/sayso/interrupts/{path_segment(interrupt)}/cancel",
            json={"reason": s, s: s},
            headers=good,
        ),
        "no HTTP": lambda s: raw(f"GET /a/{s} HTTP/9.9\r\nAuthorization: Bearer {s}\r\n\r\n"),
        "bad header": lambda s: raw(
            f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {s}\x00\r\n\r\n"
        ),
        "cut off": lambda s: raw(
            f"POST /interrupts/{s} HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{{{s}"
        ),
    }


async def test_no_secret_is_ever_logged(
    program: Callable[..., Program], session: aiohttp.ClientSession
) -> None:
    dev = program(config=CONFIG, settings={"SAYSO_LOG_LEVEL": "debug"})
    await dev.start()
    agent = Agent(dev, session)
    run = await agent.run()
    record = await agent.ask(run, approval())
    interrupt = record["interruptId"]
    path = f"/host/sayso/interrupts/{path_segment(interrupt)}/tokens"
    _, minted = await agent.call("POST", path, {"intent": "resolve"})
    _, made = await agent.call(
        "POST", "/host/sayso/api-keys", {"name": "shop", "scopes": ["runs:read"]}
    )
    marks = {minted["token"], minted["url"].rpartition("/")[2], made["key"]}
    await asyncio.to_thread(_all_doors, doors(dev, run, interrupt), marks)
    status, _ = await agent.call(
        "POST", f"/interrupts/{minted['token']}", {"resumeValue": {"action": "accept"}}
    )
    assert status in (200, 409)
    key, greeting = dev.key, [line for line in dev.lines if "API key" in line]
    assert await dev.stop() == 0
    logged = [line for line in dev.lines if line not in greeting]  # a person is told the key, once
    text = "\n".join(logged)
    assert text.count("request") > len(marks), "nothing was logged at all"
    assert [mark for mark in {*marks, key} if mark in text] == []


def _all_doors(there: dict[str, Send], marks: set[str]) -> None:
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def through(data: st.DataObject) -> None:
        for name in sorted(there):
            mark, secret = data.draw(SECRET, label=name)
            marks.add(mark)
            there[name](secret)

    through()
