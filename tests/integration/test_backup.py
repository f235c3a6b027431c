"""Backup and restore with a real gateway: taken while it runs, and all answers are there afterwards."""

from __future__ import annotations

import asyncio
import io
import os
import sqlite3
import tarfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from gateway.backup import BackupError, backup, restore
from schemas.ids import path_segment
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]


async def answered(api: Api, key: str) -> str:
    """The id of an interrupt that was accepted."""
    run = await api.run()
    asked = await api.ask(run, approval(key))
    status, _, _ = await api.call(
        "POST", f"/runs/{run}/interrupts/gate", {"resumeValue": {"action": "accept"}}
    )
    assert status == 200
    return str(asked["interruptId"])


async def read(api: Api, interrupt_id: str) -> tuple[int, str]:
    path = f"/host/sayso/interrupts/{path_segment(interrupt_id)}"
    status, body, _ = await api.call("GET", path)
    return status, body.get("resumeValue", {}).get("action", "")


async def test_restore_gives_back_every_answer(start: Start, tmp_path: Path) -> None:
    api = await start()
    before = [await answered(api, f"k{n}") for n in range(5)]
    run = await api.run()
    waiting = await api.ask(run)
    path = f"/host/sayso/interrupts/{path_segment(waiting['interruptId'])}/tokens"
    _, minted, _ = await api.call("POST", path, {"intent": "resolve", "principal": "ada"})
    file = tmp_path / "sayso.tar"
    manifest = backup(api.gateway.settings.data_dir, file)
    assert sorted(manifest["parts"]) == ["sayso.db", "secrets.json", "token-keys.json"]
    assert file.stat().st_mode & 0o777 == 0o600
    after = await answered(api, "after")
    restored = tmp_path / "restored"
    assert restore(file, restored) == manifest
    assert restored.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in restored.iterdir()} == {0o600}
    again = await start(data_dir=restored)
    assert [await read(again, one) for one in before] == [(200, "accept")] * 5
    assert (await read(again, after))[0] == 404  # given after the backup
    # The token keys came along: a link that is out still answers.
    status, _, _ = await again.call(
        "POST", f"/interrupts/{minted['token']}", {"resumeValue": {"action": "accept"}}, key=None
    )
    assert status == 200
    assert await read(again, waiting["interruptId"]) == (200, "accept")


async def test_a_backup_is_of_one_moment_while_answers_come(start: Start, tmp_path: Path) -> None:
    api = await start()
    stop, given = asyncio.Event(), list[str]()

    async def answer() -> None:
        while not stop.is_set():
            given.append(await answered(api, "k"))

    answering = [asyncio.create_task(answer()) for _ in range(4)]
    files = [tmp_path / f"{n}.tar" for n in range(3)]
    for file in files:
        had = list(given)
        await asyncio.to_thread(backup, api.gateway.settings.data_dir, file)
        restored = tmp_path / file.stem
        restore(file, restored)
        with closing(sqlite3.connect(restored / "sayso.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            kept = {row[0] for row in database.execute("SELECT interrupt_id FROM interrupts")}
            # A projection and its log are of the same moment.
            (events,) = database.execute("SELECT count(*) FROM log").fetchone()
            (versions,) = database.execute("SELECT count(*) FROM runs").fetchone()
        assert set(had) <= kept
        assert events >= versions
    stop.set()
    await asyncio.gather(*answering)
    assert given


# --- what is refused ------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A backup of a small data folder."""
    data = tmp_path / "data"
    data.mkdir()
    from host.store.sqlite.store import scripts

    with closing(sqlite3.connect(data / "sayso.db")) as database:
        for number, script in enumerate(scripts(), start=1):
            database.executescript(f"{script}\nPRAGMA user_version = {number};")
    (data / "secrets.json").write_text('{"links": "l", "forms": "f"}')
    backup(data, tmp_path / "made.tar")
    return tmp_path / "made.tar"


def members(file: Path) -> dict[str, bytes]:
    with tarfile.open(file) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar}  # type: ignore[union-attr]


def written(file: Path, parts: dict[str, bytes], kinds: dict[str, bytes] | None = None) -> Path:
    with tarfile.open(file, "w") as tar:
        for name, raw in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            if kinds and name in kinds:
                info.type, info.size, info.linkname = kinds[name], 0, "/etc/passwd"
            tar.addfile(info, io.BytesIO(raw))
    return file


def test_a_folder_that_is_in_use_is_left_alone(made: Path, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "sayso.db").write_text("precious")
    with pytest.raises(BackupError, match="not empty"):
        restore(made, full)
    assert (full / "sayso.db").read_text() == "precious"


def test_a_backup_never_overwrites(made: Path, tmp_path: Path) -> None:
    before = made.read_bytes()
    with pytest.raises(BackupError, match="exists"):
        backup(tmp_path / "data", made)
    assert made.read_bytes() == before


def test_nothing_to_back_up_says_so(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match=r"no sayso\.db"):
        backup(tmp_path, tmp_path / "x.tar")
    assert not (tmp_path / "x.tar").exists()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p: {**p, "secrets.json": b"{}"}, "is not what was backed up"),
        (lambda p: {**p, "sayso.db": p["sayso.db"][:-1] + b"x"}, "is not what was backed up"),
        (lambda p: {k: v for k, v in p.items() if k != "secrets.json"}, "it lacks secrets.json"),
        (lambda p: {**p, "../evil": b"x"}, "more than one does"),
        (lambda p: {**p, "/etc/cron.d/evil": b"x"}, "more than one does"),
        (lambda p: {k: v for k, v in p.items() if k != "manifest.json"}, "not a backup"),
        (lambda p: {**p, "manifest.json": b"{"}, "not a backup"),
        (lambda p: {**p, "manifest.json": b'{"format":1,"parts":{"x":"y"}}'}, "does not know"),
        (lambda p: {}, "not a backup"),
    ],
)
def test_a_spoilt_backup_restores_nothing(
    made: Path,
    tmp_path: Path,
    spoil: Callable[[dict[str, bytes]], dict[str, bytes]],
    words: str,
) -> None:
    parts = members(made)
    bad = written(
        tmp_path / "bad.tar", spoil({"manifest.json": parts.pop("manifest.json"), **parts})
    )
    with pytest.raises(BackupError, match=words):
        restore(bad, tmp_path / "there")
    assert not (tmp_path / "there").exists()
    assert not (tmp_path / "evil").exists()
    assert not list(tmp_path.glob(".sayso-*"))


def test_a_link_in_a_backup_is_refused(made: Path, tmp_path: Path) -> None:
    parts = members(made)
    bad = written(tmp_path / "bad.tar", parts, {"secrets.json": tarfile.SYMTYPE})
    with pytest.raises(BackupError, match="more than one does"):
        restore(bad, tmp_path / "there")


@pytest.mark.parametrize("length", [0, 100, 600, 2000, 20_000])
def test_a_backup_that_was_cut_off_restores_nothing(
    made: Path, tmp_path: Path, length: int
) -> None:
    os.truncate(made, length)
    with pytest.raises(BackupError):
        restore(made, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_newer_database_is_refused(made: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "data" / "sayso.db")) as database:
        database.execute("PRAGMA user_version = 999")
    with pytest.raises(BackupError, match="Upgrade Sayso"):
        backup(tmp_path / "data", tmp_path / "newer.tar")
    assert not (tmp_path / "newer.tar").exists()


def test_the_manifest_says_what_is_in_it(made: Path) -> None:
    manifest = orjson.loads(members(made)["manifest.json"])
    assert manifest["format"] == 1
    assert manifest["schema"] >= 3
    assert set(manifest["parts"]) == {"sayso.db", "secrets.json"}
