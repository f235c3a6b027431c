"""`sayso dev`, `serve` and `ask` as a person meets them: what they print, how they begin and end."""

from __future__ import annotations

import asyncio
import hashlib
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.acceptance.agent import Agent, approval
from tests.acceptance.browser import Browser
from tests.acceptance.program import Program, until

Make = Callable[..., Program]

KEY = "a-key-of-the-shop-0123456789"
EXAMPLE = f"""
[http]
port = 8080
public_url = "https://sayso.example.com"

[hooks.shop-payments]
provider = "stripe"
secrets = ["whsec_0123456789abcdef0123456789abcdef"]
event_type = "type"
correlation = {{ orderId = "data.object.metadata.order_id" }}

[[people]]
id = "ada"
slack = ["T01/U01"]
email = ["ada@example.com"]
groups = ["payments-approvers"]

[[api_keys]]
id = "shop"
sha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"
"""


async def test_dev_says_what_one_needs_and_who_answered(
    program: Make, session: aiohttp.ClientSession
) -> None:
    dev = program("dev")
    await dev.start()
    await dev.said(dev.url)
    assert str(dev.data) in await dev.said("data folder")
    assert dev.key in await dev.said("API key")
    await dev.said("A sample approval waits for you")
    link = (await dev.said("/a/")).strip()
    browser = Browser(session, dev.url)
    page = await browser.read(link)
    assert "Refund 4,000.00" in page.text
    status, _ = await browser.press(link, {"action": "accept"}, page.nonce)
    assert status == 303
    line = await dev.said("The sample was approved")
    assert "by somebody with the link via web" in line


async def test_the_sample_is_raised_once_over_restarts(
    program: Make, session: aiohttp.ClientSession
) -> None:
    dev = program("dev")
    await dev.start()
    first = (await dev.said("/a/")).strip()
    dev.lines.clear()
    await dev.restart()
    second = (await dev.said("/a/")).strip()
    assert second.rpartition("/")[2] == first.rpartition("/")[2]
    assert len(await Agent(dev, session).listed("open")) == 1


async def test_every_mistake_is_told_at_once(program: Make) -> None:
    config = """
    colour = "red"
    [http]
    port = 99999
    public_url = "not a url"
    [redis]
    prefix = "Not Allowed"
    [hooks.pay]
    provider = "stripe"
    secrets = []
    [[people]]
    id = "ada"
    slack = ["just-a-name"]
    [[api_keys]]
    id = "shop"
    sha256 = "the-key-itself-and-not-its-digest"
    """
    made = program(
        "serve", config=config, settings={"SAYSO_LOG_LEVEL": "loud", "SAYSO_HTTP__PORT": "eighty"}
    )
    await made.launch()
    assert await made.ended() == 2
    for key in (
        "colour",
        "http.port",
        "http.public_url",
        "redis.prefix",
        "hooks.pay.secrets",
        "people.0.slack.0",
        "api_keys.0.sha256",
        "log_level",
    ):
        assert [line for line in made.lines if line.strip().startswith(f"{key}: ")], (
            f"{key} is not named in:\n{made.output}"
        )
    assert "the-key-itself" not in made.output
    assert not made.data.exists()


UNUSABLE = [
    (("serve",), "port = [", {}, 2, ["sayso.toml is not TOML"]),
    (("serve", "--config", "no.toml"), "", {}, 2, ["There is no configuration file no.toml"]),
    (("serve",), "", {}, 2, ["No [[api_keys]]"]),
    (
        ("dev",),
        "",
        {"SLACK_BOT_TOKEN": "xoxb-1-secret"},
        1,
        ["SLACK_SIGNING_SECRET", "SLACK_APP_TOKEN"],
    ),
]


async def test_a_configuration_that_cannot_be_used_says_what_to_do(program: Make) -> None:
    made = [program(*row[0], config=row[1], settings=row[2]) for row in UNUSABLE]
    await asyncio.gather(*(one.launch() for one in made))
    for one, (_, _, _, code, words) in zip(made, UNUSABLE, strict=True):
        assert (await one.ended(), one.arguments) == (code, one.arguments)
        assert all(any(word in line for line in one.lines) for word in words), one.output
        assert "Traceback" not in one.output
        assert "xoxb-1-secret" not in one.output


async def test_a_second_program_on_the_same_folder_says_so(program: Make) -> None:
    first, second = program(home="shared"), program(home="shared")
    await first.start()
    written = first.url
    await second.launch()
    assert await second.ended() == 1
    said = " ".join(second.lines)
    assert "Another Sayso runs with the data folder" in said
    assert "SAYSO_DATA_DIR" in said
    assert first.running
    assert first.url == written


async def test_a_port_that_is_taken_says_so(program: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        made = program(settings={"SAYSO_HTTP__PORT": str(port)})
        await made.launch()
        assert await made.ended() == 1
    said = " ".join(made.lines)
    assert f"127.0.0.1:{port}" in said
    assert "SAYSO_HTTP__PORT" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_cleanly(program: Make, number: signal.Signals) -> None:
    dev = program()
    await dev.start()
    sent: list[str] = []
    async with _traced(sent) as session:
        agent = Agent(dev, session)
        run = await agent.run()
        record = await agent.ask(run, approval())
        waiting = asyncio.create_task(agent.look(record, wait=60))
        streaming = asyncio.create_task(_stream(dev, session, run))
        await until(lambda: {"wait=60", "stream"} <= set(sent), "both requests to be sent")
        await session.get(f"{dev.url}/healthz")  # comes after them, so both are being served
        valkeys = dev.children()
        assert valkeys
        url, began = dev.url, time.monotonic()
        assert await dev.stop(number) == 0
        assert time.monotonic() - began < 8, "it waited for those who wait"
        assert "Stopping" in dev.output
        assert (await waiting)["status"] == "open"  # answered, not cut off
        assert b"interrupt.requested" in await streaming
        assert psutil.wait_procs(valkeys, timeout=10)[1] == []
        assert list(dev.data.glob("valkey/*.sock")) == []
        assert "Traceback" not in dev.output
        with pytest.raises(aiohttp.ClientError):
            await session.get(url)
        await dev.start()
        assert (await agent.look(record))["status"] == "open"


async def test_a_kill_leaves_no_valkey_either(program: Make) -> None:
    dev = program()
    await dev.start()
    valkeys = dev.children()
    assert valkeys
    await dev.kill()
    await until(lambda: not any(one.is_running() and _alive(one) for one in valkeys), "its end")
    await dev.start()
    assert dev.children()


async def test_what_is_written_is_for_its_owner_alone(
    program: Make, session: aiohttp.ClientSession
) -> None:
    dev = program()
    await dev.start()
    assert dev.data.stat().st_mode & 0o077 == 0
    for name in ("secrets.json", "dev-api-key", "url", "sayso.db"):
        assert (dev.data / name).stat().st_mode & 0o077 == 0, name


async def test_the_example_configuration_serves(
    program: Make, session: aiohttp.ClientSession
) -> None:
    port = free_port()
    made = program(
        "serve", "--config", "sayso.toml", config=EXAMPLE, settings={"SAYSO_HTTP__PORT": str(port)}
    )
    del made.settings["SAYSO_CONFIG"]
    here = f"http://127.0.0.1:{port}"
    await made.start(here)
    assert made.url == "https://sayso.example.com"
    agent = Agent(made, session, KEY, here)
    run = await agent.run()
    record = await agent.ask(run, approval(approverGroupRefs=["payments-approvers"]))
    # The key may ask, and isn't a member of the group that decides.
    status, body = await agent.resolve(run, "gate", {"action": "accept"})
    assert (status, body["error"]) == (403, "forbidden")
    path = f"/host/sayso/interrupts/{record['interruptId'].replace('/', '~2F')}/tokens"
    status, minted = await agent.call("POST", path, {"intent": "resolve", "principal": "ada"})
    assert status == 201
    assert minted["url"].startswith("https://sayso.example.com/a/")
    status, _ = await agent.call(
        "POST", f"/interrupts/{minted['token']}", {"resumeValue": {"action": "accept"}}
    )
    assert status == 200
    assert (await agent.value(record))["decidedBy"] == "ada"
    assert minted["token"] not in made.output
    assert KEY not in made.output


async def test_ask_waits_in_the_shell(program: Make, session: aiohttp.ClientSession) -> None:
    dev = program(home="shell")
    await dev.start()
    agent = Agent(dev, session)
    for action, words, code in (("accept", "approved by dev", 0), ("reject", "reject by dev", 1)):
        asking = program("ask", f"Deploy? ({action})", "--notify", "web:", home="shell")
        await asking.launch()
        (found,) = await until(lambda: agent.listed("open"), "the question")
        detail = await agent.look({"interruptId": found})
        assert detail["payload"]["data"]["title"] == f"Deploy? ({action})"
        status, _ = await agent.resolve(detail["runId"], detail["nodeId"], {"action": action})
        assert status == 200
        assert await asking.ended() == code
        assert asking.lines == [words]


def free_port() -> int:
    """A port that nobody has now, below those that the system gives out by itself."""
    for port in range(20_000, 32_768, 7):
        with socket.socket() as attempt:
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


async def _stream(program: Program, session: aiohttp.ClientSession, run: str) -> bytes:
    headers = {"Authorization": f"Bearer {program.key}"}
    url = f"{program.url}/runs/{run.replace('/', '~2F')}/events?stream"
    async with session.get(url, headers=headers) as response:
        assert response.status == 200
        return await response.read()


def _traced(sent: list[str]) -> aiohttp.ClientSession:
    """A session that notes the query of each request that went out."""
    trace = aiohttp.TraceConfig()

    async def note(
        _: aiohttp.ClientSession, __: object, params: aiohttp.TraceRequestHeadersSentParams
    ) -> None:
        sent.append(params.url.query_string)

    trace.on_request_headers_sent.append(note)
    return aiohttp.ClientSession(trace_configs=[trace])


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_the_free_port_is_outside_the_systems_range() -> None:
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    assert free_port() < int(re.split(r"\s+", text)[0])
