"""Which store the settings choose, and what a wrong choice is told."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

import pytest

from config.settings import Settings, SettingsError, load
from gateway import stores
from gateway.wakeups import Wakeups
from host.store.postgres.store import PostgresStore
from host.store.sqlite.store import SqliteStore
from host.waiters import Change, Waiters

URL = "postgresql://sayso:hunter2@db.example.com/sayso"


def settings(tmp_path: Path, url: str = "", redis: str | None = None) -> Settings:
    return Settings(data_dir=tmp_path, store={"url": url}, redis={"url": redis})  # type: ignore[arg-type]


def test_the_url_decides(tmp_path: Path) -> None:
    assert isinstance(stores.choose(settings(tmp_path)), SqliteStore)
    assert isinstance(stores.choose(settings(tmp_path, URL)), PostgresStore)
    assert isinstance(stores.choose(settings(tmp_path, "postgres://h/d")), PostgresStore)


@pytest.mark.parametrize(
    ("url", "redis", "alone"),
    [
        ("", None, True),
        ("", "redis://h", True),
        (URL, None, True),
        (URL, "redis://h", False),
    ],
)
def test_a_data_folder_is_locked_while_something_is_embedded(
    tmp_path: Path, url: str, redis: str | None, alone: bool
) -> None:
    assert stores.owns_data_folder(settings(tmp_path, url, redis)) is alone


def test_a_missing_driver_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.startswith(("host.store.postgres", "asyncpg"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(ValueError, match=r"pip install 'sayso-gateway\[postgres\]'") as caught:
        stores.choose(settings(tmp_path, URL))
    assert "hunter2" not in str(caught.value)
    assert isinstance(stores.choose(settings(tmp_path)), SqliteStore)


@pytest.mark.parametrize("url", ["mysql://u:hunter2@h/d", "hunter2", "postgresql://u:hunter 2@h/d"])
def test_a_url_of_another_kind_is_refused_and_not_repeated(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_STORE__URL", url)
    monkeypatch.delenv("SAYSO_CONFIG", raising=False)
    with pytest.raises(SettingsError, match=r"store\.url.*must look like postgresql://") as caught:
        load()
    assert "hunter" not in str(caught.value)
    assert "hunter2" not in repr(settings(Path(), URL))


class Wire:
    """A coordination that hears itself: what is announced is listened to."""

    def __init__(self, *messages: str) -> None:
        self.messages = list(messages)

    async def announce(self, channel: str, message: str) -> None:
        assert channel == "changes"
        self.messages.append(message)

    async def listen(self, channel: str):  # type: ignore[no-untyped-def]
        assert channel == "changes"
        for message in self.messages:
            yield message


async def test_what_one_announces_wakes_the_waiters_of_another() -> None:
    wire, waiters = Wire(), Waiters()
    wakeups = Wakeups(wire)  # type: ignore[arg-type]
    await wakeups.announce(["acme/run", "acme/i", "messages", "shelf"])
    topics = ("acme/run", "acme/i", "messages", "shelf", "acme/other")
    with (
        waiters.on(topics[0]) as a, waiters.on(topics[1]) as b, waiters.on(topics[2]) as c,
        waiters.on(topics[3]) as d, waiters.on(topics[4]) as e,
    ):  # fmt: skip
        await until_set(wakeups, waiters, d)
        assert [x.is_set() for x in (a, b, c, d, e)] == [True, True, True, True, False]


async def until_set(wakeups: Wakeups, waiters: Waiters, woken: Change) -> None:
    """Listen until `woken`, which is the last that a message wakes."""
    listening = asyncio.create_task(wakeups.run(waiters))
    async with asyncio.timeout(60):
        await woken.wait()
    listening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await listening


async def test_after_a_gap_everybody_looks() -> None:
    waiters = Waiters()
    with waiters.on("acme/anything") as woken:
        await until_set(Wakeups(Wire("")), waiters, woken)  # type: ignore[arg-type]
        assert woken.is_set()
    assert not waiters.closed
