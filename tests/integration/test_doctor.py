"""`sayso doctor` with real parts: what is wrong says what to do, and no secret is shown."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aiohttp import web

from adapters.slack.manifest import BOT_SCOPES
from config.settings import Settings
from gateway.cli.doctor import findings
from gateway.doctor import configured, machine, services
from gateway.doctor import slack as slack_checks
from gateway.doctor.finding import LARGE_BYTES, Finding
from tests.fakes.mail_server import MailServer
from tests.integration.conftest import Api

Start = Callable[..., Awaitable[Api]]
Check = Callable[[Settings], Iterator[Finding]]
GOOD = "c0e1f2d3b4a5968778695a4b3c2d1e0f"
HOOK = {
    "provider": "stripe",
    "secrets": ["whsec_" + GOOD],
    "correlation": {"order": "data.object.id"},
}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Settings]:
    for name in ("SAYSO_CONFIG", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"):
        monkeypatch.delenv(name, raising=False)
    return lambda **values: Settings(**{"data_dir": tmp_path / "data", **values})


def levels(found: list[Finding], subject: str) -> list[str]:
    return [one.level for one in found if one.subject == subject]


async def asked(check: AsyncIterator[Finding]) -> list[Finding]:
    return [one async for one in check]


def the(found: list[Finding], level: str) -> Finding:
    [one] = [f for f in found if f.level == level]
    return one


# --- the configuration ----------------------------------------------------------------------------

CASES: list[tuple[Check, dict[str, Any], str, str]] = [
    (configured.public_url, {}, "ok", "unset"),
    (configured.public_url, {"http": {"host": "0.0.0.0"}}, "warn", "unset"),
    (configured.public_url, {"http": {"public_url": "https://s.example"}}, "ok", "s.example"),
    (configured.public_url, {"http": {"public_url": "http://s.example"}}, "fail", "plain http"),
    (configured.public_url, {"http": {"public_url": "http://127.0.0.1:1"}}, "ok", "127.0.0.1"),
    (configured.public_url, {"http": {"public_url": "https://u:p@s.example"}}, "fail", "a user"),
    (configured.programs, {}, "warn", "none"),
    (configured.programs, {"api_keys": [{"id": "a", "sha256": "ab" * 32}]}, "ok", "1 in"),
    (configured.strength, {"slack": {"signing_secret": "short"}}, "fail", "signing_secret is"),
    (configured.strength, {"slack": {"signing_secret": GOOD}}, "ok", "none of"),
    (configured.wiring, {"hooks": {"pay": HOOK}}, "ok", "right"),
    (configured.wiring, {"hooks": {"pay": {**HOOK, "correlation": {}}}}, "warn", "no correlation"),
    (configured.wiring, {"hooks": {"pay": {**HOOK, "event_type": "a["}}}, "fail", "hooks.pay"),
    (configured.wiring, {"slack": {"bot_token": "xoxb-1-" + GOOD}}, "fail", "signing_secret"),
    (configured.wiring, {"email": {"smtp_url": "http://x"}}, "fail", "smtp"),
    (configured.wiring, {"workflows": "/nowhere/at/all"}, "fail", "no folder"),
    (configured.parts, {"egress": {"callback_secret": "whsec_" + GOOD[:20]}}, "fail", "callback"),
    (configured.parts, {"tokens": {"keys": {"k": GOOD[:30]}}}, "fail", "'k' is shorter than 32"),
    (configured.parts, {"tokens": {"keys": {"k": GOOD}, "current": "j"}}, "fail", "'j' is not"),
    (configured.parts, {"symfonic": {"jwt_secret": GOOD[:30]}}, "fail", "jwt_secret has 30"),
    (configured.parts, {"pickers": {"p": {"url": "http://10.0.0.1/"}}}, "fail", "pickers.p.url"),
    (configured.relaxed, {"egress": {"allow": ["https://in.example:1"]}}, "warn", "in.example"),
    (
        configured.relaxed,
        {"relaxations": {"approver-lists": "a stage for tests"}},
        "warn",
        "approver-enforcement: a stage for tests",
    ),
    (configured.people, {}, "warn", "nobody is in the directory"),
    (configured.people, {"people": [{"id": "ada"}]}, "warn", "ada has no address"),
    (configured.people, {"people": [{"id": "ada", "email": ["a@b.c"]}]}, "warn", "that are off"),
    (configured.people, {"approvals": {"unlisted": "anyone"}, "notify": "fax:1"}, "fail", "fax"),
    (
        configured.people,
        {
            "people": [{"id": "ada", "email": ["a@b.c"]}],
            "email": {"smtp_url": "smtp://127.0.0.1:1", "from": "s@b.c"},
        },
        "ok",
        "all 1",
    ),
]


@pytest.mark.parametrize(("check", "values", "level", "words"), CASES)
def test_the_configuration_is_read(
    make: Callable[..., Settings], check: Check, values: dict[str, Any], level: str, words: str
) -> None:
    found = list(check(make(**values)))
    assert [f.level for f in found] == [level]
    assert words in found[0].sentence
    assert bool(found[0].do) is (level != "ok")
    assert GOOD not in f"{found}"


def test_what_a_start_takes_is_not_told(make: Callable[..., Settings]) -> None:
    for values in (
        {},
        {"tokens": {"keys": {"k": GOOD}}, "symfonic": {"jwt_secret": GOOD}},
        {"pickers": {"p": {"url": "https://options.example/"}}},
    ):
        settings = make(**values)
        assert [*configured.parts(settings), *configured.relaxed(settings)] == []
        assert not settings.data_dir.exists()


# --- this machine ---------------------------------------------------------------------------------


def test_an_empty_place_is_fine(make: Callable[..., Settings]) -> None:
    settings = make()
    for check in (machine.folder, machine.secrets, machine.database):
        assert [f.level for f in check(settings)] == ["ok"]


async def test_a_folder_that_was_used_is_fine(start: Start) -> None:
    api = await start()
    for check in (machine.folder, machine.secrets, machine.database):
        assert [f.level for f in check(api.gateway.settings)] == ["ok"]


async def test_what_others_can_read_is_told(start: Start) -> None:
    settings = (await start()).gateway.settings
    settings.data_dir.chmod(0o755)
    (settings.data_dir / "secrets.json").chmod(0o644)
    found = list(machine.folder(settings))
    assert [f.level for f in found] == ["warn", "fail"]
    assert [f.do.split()[:2] for f in found] == [["chmod", "700"], ["chmod", "600"]]


def test_a_file_in_the_place_of_the_folder_is_told(
    make: Callable[..., Settings], tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("")
    assert the(list(machine.folder(make())), "fail").do.startswith("Give it to the user")


@pytest.mark.parametrize(
    ("version", "level", "words"), [(999, "fail", "Upgrade"), (1, "warn", "Back up first")]
)
def test_a_database_of_another_version_is_told(
    make: Callable[..., Settings], tmp_path: Path, version: int, level: str, words: str
) -> None:
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data" / "sayso.db")) as database:
        database.execute(f"PRAGMA user_version = {version}")
    [found] = machine.database(make())
    assert (found.level, words in found.do) == (level, True)


def test_a_database_that_is_none_is_told(make: Callable[..., Settings], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sayso.db").write_bytes(os.urandom(8192))
    assert the(list(machine.database(make())), "fail").do.startswith("Restore a backup")


def test_damaged_secrets_are_told(make: Callable[..., Settings], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secrets.json").write_text("{")
    found = the(list(machine.secrets(make())), "fail")
    assert "secrets.json" in found.sentence
    assert "backup" in found.do


@pytest.mark.parametrize(
    ("free", "level"), [(1 << 20, "fail"), (500 << 20, "warn"), (1 << 40, "ok")]
)
def test_a_full_disk_is_told(
    make: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    usage = shutil.disk_usage("/")._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert [f.level for f in machine.disk(make())] == [level]


# --- others ---------------------------------------------------------------------------------------


async def test_the_embedded_valkey_starts(make: Callable[..., Settings]) -> None:
    assert the(await asked(services.coordination(make())), "ok").subject == "valkey"


async def test_redis_answers_or_not(start: Start, make: Callable[..., Settings]) -> None:
    data = (await start()).gateway.settings.data_dir
    here = make(redis={"url": f"unix://{data.absolute()}/valkey/valkey.sock"})
    away = make(redis={"url": "redis://:hunter2@127.0.0.1:1/0"})
    if (data / "valkey" / "valkey.sock").exists():
        assert [f.level for f in await asked(services.coordination(here))] == ["ok"]
    [found] = await asked(services.coordination(away))
    assert (found.level, "hunter2" in f"{found}") == ("fail", False)


async def test_postgres_is_asked_and_left_as_it_is(
    make: Callable[..., Settings], postgres_url: str
) -> None:
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    connection = await asyncpg.connect(postgres_url)
    before = await connection.fetchval(tables)
    found, tables_said = await asked(services.postgres(make(store={"url": postgres_url})))
    assert (found.level, found.sentence.startswith("answers, version")) == ("ok", True)
    assert "will be made" in tables_said.sentence
    assert await connection.fetchval(tables) == before
    await connection.close()


def test_a_large_database_is_told_where_nothing_is_removed(make: Callable[..., Settings]) -> None:
    [found] = machine.large("database", LARGE_BYTES + 1, make())
    assert (found.level, "SAYSO_STORE__KEEP_DAYS" in found.do) == ("warn", True)
    assert list(machine.large("database", LARGE_BYTES + 1, make(store={"keep_days": 90}))) == []
    assert list(machine.large("database", LARGE_BYTES, make())) == []


async def test_an_older_or_newer_schema_of_postgres_is_told(
    make: Callable[..., Settings], postgres_url: str
) -> None:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("CREATE TABLE sayso_schema (version integer)")
    for version, level, text in (
        (1, "warn", "sayso db upgrade"),
        (99, "fail", "schema 99"),
    ):
        await connection.execute("INSERT INTO sayso_schema VALUES ($1)", version)
        _, found = await asked(services.postgres(make(store={"url": postgres_url})))
        assert (found.level, text in found.sentence) == (level, True)
    await connection.close()


async def test_postgres_that_is_away_is_told(make: Callable[..., Settings]) -> None:
    gone = make(store={"url": "postgresql://u:hunter2@127.0.0.1:1/x"})
    [found] = await asked(services.postgres(gone))
    assert (found.level, "hunter2" in f"{found}") == ("fail", False)
    assert "Connect call failed ('127.0.0.1', 1)" in found.sentence


async def test_what_postgres_says_is_told_and_a_bad_url_is_not(
    make: Callable[..., Settings], postgres_url: str
) -> None:
    missing = re.sub(r"test\d+", "no_such_database", postgres_url)
    [found] = await asked(services.postgres(make(store={"url": missing})))
    assert 'database "no_such_database" does not exist' in found.sentence
    [found] = await asked(services.postgres(make(store={"url": "postgresql://u:hunter2@[x/y"})))
    assert found.sentence == "can't be used: its URL can't be read"


@asynccontextmanager
async def slack(answer: dict[str, Any], scopes: str) -> AsyncIterator[str]:
    """A Web API that answers auth.test with these scopes."""

    async def call(_: web.Request) -> web.Response:
        return web.json_response(answer, headers={"x-oauth-scopes": scopes} if scopes else {})

    app = web.Application()
    app.router.add_post("/api/{method}", call)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    await runner.cleanup()


ALL = ",".join(sorted(BOT_SCOPES))


@pytest.mark.parametrize(
    ("answer", "scopes", "expected"),
    [
        ({"ok": True, "team": "Acme"}, ALL, ["ok", "ok"]),
        ({"ok": True, "team": "Acme"}, "", ["ok"]),
        ({"ok": True, "team": "Acme"}, ALL.replace("im:write,", ""), ["ok", "warn"]),
        ({"ok": True, "team": "Acme"}, ALL.replace("chat:write,", ""), ["ok", "fail"]),
        ({"ok": False, "error": "invalid_auth"}, "", ["fail"]),
    ],
)
async def test_slack_is_asked_who_we_are(
    make: Callable[..., Settings], answer: dict[str, Any], scopes: str, expected: list[str]
) -> None:
    async with slack(answer, scopes) as url:
        settings = make(slack={"bot_token": "xoxb-1-" + GOOD, "api_url": url})
        found = await asked(slack_checks.slack_app(settings))
    assert [f.level for f in found] == expected
    assert GOOD not in f"{found}"
    if "warn" in expected:
        assert "im:write (opens direct messages)" in found[1].sentence


async def test_slack_that_is_away_is_told(make: Callable[..., Settings]) -> None:
    gone = {"bot_token": "xoxb-1-" + GOOD, "api_url": "http://127.0.0.1:1/api/"}
    assert (
        the(await asked(slack_checks.slack_app(make(slack=gone))), "fail").do
        == "Check the network."
    )


async def test_the_mail_server_is_asked(make: Callable[..., Settings]) -> None:
    async with MailServer() as server:
        settings = make(email={"smtp_url": server.url, "from": "sayso@example.com"})
        [found] = await asked(services.mail(settings))
        assert (found.level, "in the clear" in found.sentence) == ("ok", True)
        assert server.mails == []
    gone = make(email={"smtp_url": "smtp://u:hunter2@127.0.0.1:1", "from": "sayso@example.com"})
    [found] = await asked(services.mail(gone))
    assert (found.level, "hunter2" in f"{found}") == ("fail", False)


async def test_the_running_gateway_is_asked(start: Start) -> None:
    api = await start()
    settings = api.gateway.settings
    assert the(await asked(services.running(settings)), "ok").sentence.startswith("has not run")
    (settings.data_dir / "url").write_text(api.gateway.url + "\n")
    found = await asked(services.running(settings))
    assert [(f.subject, f.level) for f in found] == [("gateway", "ok"), ("clock", "ok")]
    assert api.gateway.health is not None
    api.gateway.health.phase = "stopping"
    assert levels(await asked(services.running(settings)), "gateway") == ["fail"]
    (settings.data_dir / "url").write_text("http://127.0.0.1:1\n")
    assert levels(await asked(services.running(settings)), "gateway") == ["warn"]


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("Fri, 11 Sep 2026 12:00:00 GMT", ["ok"]),
        ("Fri, 11 Sep 2026 12:00:04 GMT", ["ok"]),
        ("Fri, 11 Sep 2026 12:01:00 GMT", ["warn"]),
        ("Fri, 11 Sep 2026 11:59:00 GMT", ["warn"]),
        ("yesterday", []),
        ("", []),
    ],
)
def test_a_clock_that_differs_is_told(date: str, expected: list[str]) -> None:
    assert [f.level for f in services.skew(date, 1_789_128_000.0)] == expected


async def test_a_check_that_breaks_off_is_a_finding() -> None:
    async def broken() -> AsyncIterator[Finding]:
        yield Finding("ok", "x", "so far")
        raise ZeroDivisionError("with a secret")

    found = await services.in_time(broken(), "x")
    assert [f.level for f in found] == ["fail"]
    assert "secret" not in f"{found}"


async def test_all_checks_together_hold_no_secret(start: Start) -> None:
    api = await start(hooks={"pay": HOOK}, email={"smtp_url": f"smtp://u:{GOOD}@127.0.0.1:1"})
    found = await findings(api.gateway.settings)
    assert {"database", "disk", "valkey", "hooks.pay", "mail"} <= {f.subject for f in found}
    assert GOOD not in f"{found}"
