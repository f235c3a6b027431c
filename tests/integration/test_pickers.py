"""Pickers: options from a real HTTP source and a real command, searched, kept, and checked at the answer."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.egress import Egress
from adapters.pickers.picker import Picker, Pickers, matching, read_options
from adapters.pickers.sources import Asked, CommandSource, HttpSource
from host.options import OfferedOption, OptionsUnavailable
from schemas.ids import path_segment
from tests.acceptance.browser import Browser
from tests.fakes.option_source import OptionSource
from tests.fakes.slack import FakeSlack
from tests.integration.test_contracts import ask, resolve


@pytest.fixture
async def source() -> AsyncIterator[OptionSource]:
    async with OptionSource() as found:
        yield found


@pytest.fixture
async def egress(source: OptionSource) -> AsyncIterator[Egress]:
    guard = Egress([source.url])
    await guard.start()
    yield guard
    await guard.stop()


def over_http(source: OptionSource, egress: Egress, **more: Any) -> Pickers:
    http = HttpSource(f"{source.url}/customers", egress, 2.0, {"Authorization": "Bearer k"})
    return Pickers({"customers": Picker(http, **more)})


async def test_a_search_asks_the_source_and_is_kept(source: OptionSource, egress: Egress) -> None:
    pickers = over_http(source, egress)
    first = await pickers.search("customers", "acme", "ad", 100)
    assert [one.id for one in first] == ["cus_1", "cus_3"]
    assert await pickers.search("customers", "acme", " AD ", 100) == first
    assert source.asked == [{"tenant": ["acme"], "q": ["ad"], "limit": ["100"]}]
    assert source.headers[0]["Authorization"] == "Bearer k"
    await pickers.search("customers", "other", "ad", 100)
    assert len(source.asked) == 2  # nothing is shared between tenants


async def test_what_is_kept_grows_old(source: OptionSource, egress: Egress) -> None:
    now = [0.0]
    http = HttpSource(f"{source.url}/customers", egress, 2.0)
    pickers = Pickers({"customers": Picker(http, cache_seconds=30)}, clock=lambda: now[0])
    for at in (0.0, 29.0, 31.0):
        now[0] = at
        await pickers.search("customers", "acme", "", 100)
    assert len(source.asked) == 2


async def test_many_who_search_at_once_ask_once(source: OptionSource, egress: Egress) -> None:
    pickers = over_http(source, egress)
    await asyncio.gather(*(pickers.search("customers", "acme", "a", 100) for _ in range(20)))
    assert len(source.asked) == 1


async def test_an_answer_is_checked_anew(source: OptionSource, egress: Egress) -> None:
    pickers = over_http(source, egress)
    assert await pickers.missing("customers", "acme", {"cus_1", "cus_9"}) == {"cus_9"}
    del source.customers["cus_1"]
    assert await pickers.missing("customers", "acme", {"cus_1"}) == {"cus_1"}


async def test_searching_here_lists_once(source: OptionSource, egress: Egress) -> None:
    pickers = over_http(source, egress, search="here")
    assert [o.id for o in await pickers.search("customers", "acme", "sons bob", 100)] == ["cus_2"]
    assert [o.id for o in await pickers.search("customers", "acme", "ada", 100)] == [
        "cus_1",
        "cus_3",
    ]
    assert len(source.asked) == 1


@pytest.mark.parametrize(
    ("status", "answer"), [(500, None), (302, None), (200, "words"), (200, {"options": 1})]
)
async def test_a_source_that_is_wrong_is_none(
    source: OptionSource, egress: Egress, status: int, answer: Any
) -> None:
    source.status, source.answer = status, answer
    with pytest.raises(OptionsUnavailable):
        await over_http(source, egress).search("customers", "acme", "", 100)


async def test_an_answer_without_end_is_cut(source: OptionSource, egress: Egress) -> None:
    source.answer = ["x" * 100] * 20_000
    with pytest.raises(OptionsUnavailable, match="larger"):
        await over_http(source, egress).search("customers", "acme", "", 100)


async def test_the_guard_stands_before_the_source(source: OptionSource) -> None:
    guard = Egress()
    await guard.start()
    try:
        with pytest.raises(OptionsUnavailable, match="address"):
            await over_http(source, guard).search("customers", "acme", "", 100)
    finally:
        await guard.stop()
    assert source.asked == []


def test_what_a_source_may_say() -> None:
    rows = ["a", {"id": 7, "label": "Seven"}, {"id": "a"}, {"label": "x"}, None, {"id": "x" * 600}]
    assert read_options({"options": rows}) == [OfferedOption("a", "a"), OfferedOption("7", "Seven")]


def test_what_begins_with_it_comes_first() -> None:
    options = [OfferedOption("1", "New York"), OfferedOption("2", "York")]
    assert [one.id for one in matching(options, "york")] == ["2", "1"]


PROGRAM = """
import json, sys
asked = json.loads(sys.stdin.readline())
names = {"a": "Anna", "b": "Ben"}
ids = asked["ids"]
found = [n for n in names if (n in ids if ids else asked["q"].lower() in names[n].lower())]
print(json.dumps([{"id": n, "label": names[n]} for n in found]))
"""


def command(tmp_path: Path, program: str, timeout: float = 20) -> CommandSource:
    path = tmp_path / "list.py"
    path.write_text(program, "utf-8")
    return CommandSource([sys.executable, str(path)], timeout)


async def test_a_command_lists_options(tmp_path: Path) -> None:
    pickers = Pickers({"people": Picker(command(tmp_path, PROGRAM))})
    assert [o.id for o in await pickers.search("people", "acme", "be", 10)] == ["b"]
    assert await pickers.missing("people", "acme", {"a", "z"}) == {"z"}


@pytest.mark.parametrize(
    "program",
    ["raise SystemExit(3)", "print('words')", "print('[' + '1,' * 600_000 + '1]')"],
)
async def test_a_command_that_goes_wrong(tmp_path: Path, program: str) -> None:
    with pytest.raises(OptionsUnavailable):
        await command(tmp_path, program).fetch(Asked("acme"))


async def test_a_command_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(OptionsUnavailable, match="within"):
        await command(tmp_path, program, timeout=3).fetch(Asked("acme"))
    assert mark.read_text() == "" or not running(int(mark.read_text()))


def running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def test_a_command_that_is_not_there() -> None:
    with pytest.raises(OptionsUnavailable, match="started"):
        await CommandSource(["/nowhere/list"], 5).fetch(Asked("acme"))


# --- through a gateway ----------------------------------------------------------------------------

SETTINGS = {"search": "source", "cache_seconds": 0}


def settings(source: OptionSource, **more: Any) -> dict[str, Any]:
    picker = {"url": f"{source.url}/customers", **SETTINGS}
    return {"pickers": {"acme.customers": picker}, "egress": {"allow": [source.url]}, **more}


async def test_an_answer_has_to_be_an_option_of_its_picker(
    start: Any, source: OptionSource
) -> None:
    api = await start(**settings(source))
    run = await api.run()
    await ask(api, run, schemaId="acme.customers", question="Whose order?")
    status, refused = await resolve(api, run, "cus_9")
    assert (status, refused["error"]) == (400, "validation_error")
    source.status = 500
    status, refused = await resolve(api, run, "cus_1")
    assert (status, refused["error"]) == (503, "sayso.unavailable")
    source.status = 200
    assert (await resolve(api, run, "cus_1"))[0] == 200


async def test_a_contracts_picker_is_checked_where_it_stands(
    start: Any, source: OptionSource
) -> None:
    one = {"type": "string", "x-sayso-picker": "acme.customers"}
    answer = {
        "type": "object",
        "properties": {"to": {"type": "array", "items": one}},
        "required": ["to"],
    }
    contract = {"description": "d", "request_schema": {}, "response_schema": answer}
    api = await start(**settings(source, contracts={"send": contract}))
    run = await api.run()
    await ask(api, run, contract="send", request={})
    status, refused = await resolve(api, run, {"to": ["cus_1", "cus_8"]})
    assert status == 400
    assert refused["details"]["errors"][0]["path"] == ["to", 1]
    assert (await resolve(api, run, {"to": ["cus_1", "cus_2"]}))[0] == 200


async def test_in_slack_options_are_found_while_typing(start: Any, source: OptionSource) -> None:
    async with FakeSlack() as slack:
        chosen = {
            "bot_token": slack.bot_token,
            "app_token": slack.app_token,
            "api_url": slack.api_url,
        }
        people = [{"id": "ada", "name": "Ada", "slack": ["T0TEAM/U0ADA"]}]
        api = await start(**settings(source, slack=chosen, people=people))
        run = await api.run()
        await ask(
            api, run, schemaId="acme.customers", question="Whose order?", notify=["slack:#ops"]
        )
        message = await slack.posted()
        assert "Whose order?" in json.dumps(message.shown())
        await slack.click(message, "sayso.answer")
        view = await slack.opened()
        [label] = view.labels()
        assert [o["value"] for o in await slack.suggest(view, label, "")] == [
            "cus_1",
            "cus_2",
            "cus_3",
        ]
        found = await slack.suggest(view, label, "sons")
        assert [o["text"]["text"] for o in found] == ["Bob & Sons"]
        del source.customers["cus_2"]
        outcome = await slack.submit(view, {label: found[0]})
        assert "not one of the choices" in outcome.errors[label]
        source.customers["cus_2"] = "Bob & Sons"
        assert (await slack.submit(view, {label: found[0]})).closed
        _, listed, _ = await api.call("GET", "/host/sayso/interrupts")
        assert listed["interrupts"][0]["resumeValue"] == "cus_2"


async def test_in_slack_a_source_that_is_away_shows_no_options(
    start: Any, source: OptionSource
) -> None:
    async with FakeSlack() as slack:
        chosen = {
            "bot_token": slack.bot_token,
            "app_token": slack.app_token,
            "api_url": slack.api_url,
        }
        people = [{"id": "ada", "name": "Ada", "slack": ["T0TEAM/U0ADA"]}]
        api = await start(**settings(source, slack=chosen, people=people))
        run = await api.run()
        more = {"multiple": True, "notify": ["slack:#ops"], "question": "Who?"}
        await ask(api, run, schemaId="acme.customers", **more)
        await slack.click(await slack.posted(), "sayso.answer")
        view = await slack.opened()
        [label] = view.labels()
        source.status = 500
        assert await slack.suggest(view, label, "a") == []
        source.status = 200
        found = await slack.suggest(view, label, "a")
        assert (await slack.submit(view, {label: found})).closed
        _, listed, _ = await api.call("GET", "/host/sayso/interrupts")
        assert listed["interrupts"][0]["resumeValue"] == ["cus_1", "cus_3"]


async def test_on_the_web_a_search_finds_and_answers_nothing(
    start: Any, source: OptionSource
) -> None:
    api = await start(**settings(source))
    run = await api.run()
    _, asked = await ask(
        api, run, schemaId="acme.customers", multiple=True, question="Whose orders?"
    )
    place = f"/host/sayso/interrupts/{path_segment(asked['interruptId'])}"
    _, minted, _ = await api.call("POST", f"{place}/tokens", {"intent": "resolve"})
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        browser = Browser(session, api.gateway.url)

        async def press(**values: str) -> tuple[int, list[str]]:
            page = await browser.read(minted["url"])
            said = {name.replace("_", "."): value for name, value in values.items()}
            status, text = await browser.press(
                minted["url"], {"action": "answer", **said}, page.nonce
            )
            return status, boxes(text)

        assert boxes((await browser.read(minted["url"])).text) == ["cus_1", "cus_2", "cus_3"]
        assert await press(q_f0="sons", find="f0") == (200, ["cus_2"])
        # What was picked stays beside what is found next.
        found = await press(q_f0="adastra", v_f0="cus_2", find="f0")
        assert found == (200, ["cus_2", "cus_3"])
        assert (await api.call("GET", place))[1]["status"] == "open"
        source.status = 500
        assert await press(q_f0="x", find="f0") == (200, [])
        source.status = 200
        assert (await press(v_f0="cus_2"))[0] == 303
    _, record, _ = await api.call("GET", place)
    assert record["resumeValue"] == ["cus_2"]


def boxes(html: str) -> list[str]:
    """The values of a page's check boxes for its first field."""
    return re.findall(r'<input type="checkbox" name="v\.f0" value="([^"]+)"', html)
