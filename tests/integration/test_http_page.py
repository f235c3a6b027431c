"""What `docs/http.md` and the README say of HTTP, block by block, and its example in JavaScript."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Api

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "http.md").read_text("utf-8")
AGENT = ROOT / "examples" / "refund_agent.mjs"


@pytest.fixture
def folder(api: Api, tmp_path: Path) -> Path:
    """Where a gateway of `make run` has written its address and its key."""
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "url").write_text(api.gateway.url + "\n")
    (tmp_path / "var" / "dev-api-key").write_text(api.key + "\n")
    return tmp_path


def values(text: str) -> list[dict[str, Any]]:
    """The JSON objects that stand one behind the other in a text."""
    decoder, found, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        found.append(value)
        rest = rest[end:].lstrip()
    return found


async def output(*command: str, folder: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    return out.decode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
async def test_each_block_does_what_the_page_says(folder: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    script = "\n".join(["set -eu", *blocks, 'echo "$asked"'])
    said = values(await output("sh", "-c", script, folder=folder))
    waited, minted, answered, late, completed, asked = said
    assert (waited["status"], waited["interruptId"]) == ("open", asked["interruptId"])
    assert "/a/ow2." in minted["url"]
    assert answered["status"] == "running"
    assert late["error"] == "interrupt_already_resolved"
    assert completed == {"runId": asked["runId"], "status": "completed"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
async def test_the_readmes_request_asks_once(api: Api, folder: Path) -> None:
    [script] = re.findall(r"```sh\n(url=.*?)```", README, re.DOTALL)
    [first] = values(await output("sh", "-euc", script, folder=folder))
    assert await only_open(api)
    assert first["status"] == "open"
    assert values(await output("sh", "-euc", script, folder=folder)) == [first]


async def only_open(api: Api) -> dict[str, Any]:
    """The one open question, once it is asked."""
    async with asyncio.timeout(30):
        while True:
            _, listed, _ = await api.call("GET", "/host/sayso/interrupts?status=open")
            if listed["interrupts"]:
                [found] = listed["interrupts"]
                return dict(found)
            await asyncio.sleep(0.05)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
async def test_the_agent_asks_once_and_does_what_was_decided(api: Api, folder: Path) -> None:
    first = asyncio.create_task(output("node", str(AGENT), folder=folder))
    found = await only_open(api)
    run = found["runId"].replace("/", "~2F")
    value = {"resumeValue": {"action": "reject", "feedback": "Paid already."}}
    status, _, _ = await api.call("POST", f"/runs/{run}/interrupts/refund", value)
    assert status == 200
    assert await first == "Not refunding: reject. Paid already.\n"
    assert await output("node", str(AGENT), folder=folder) == await first
    _, listed, _ = await api.call("GET", "/host/sayso/interrupts")
    assert len(listed["interrupts"]) == 1


async def test_an_id_with_its_slash_is_told_how_it_is_spelled(api: Api) -> None:
    asked = await api.ask(await api.run())
    status, refused, _ = await api.call("GET", f"/host/sayso/interrupts/{asked['interruptId']}")
    assert (status, refused["error"]) == (404, "not_found")
    assert "spelled '~2F'" in refused["message"]


async def test_too_large_a_body_is_told_whose_limit_it_was(api: Api) -> None:
    status, refused, _ = await api.call("POST", "/runs", {"inputs": {"all": "x" * 3_000_000}})
    assert (status, refused["error"]) == (413, "payload_too_large")
    assert "http.max_body_bytes" in refused["message"]
