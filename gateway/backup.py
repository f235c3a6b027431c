"""`sayso backup` and `restore`: the database as of one moment, the secrets and the token keys, in one file.

The database is copied by SQLite itself, page by page and consistent, while a gateway writes to it. The file
is a tar that only its owner can read: whoever has it has every answer link and can sign tokens. A manifest in
it holds the SHA-256 of each part; nothing is restored before all of them fit.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Final

import orjson

from host.store.sqlite.store import MIGRATIONS

DATABASE: Final = "sayso.db"
PARTS: Final = (DATABASE, "secrets.json", "token-keys.json", "dev-api-key")
_NEEDED: Final = (DATABASE, "secrets.json")
_MANIFEST: Final = "manifest.json"
_FORMAT: Final = 1
_SMALL: Final = 1 << 20  # bytes: all parts but the database
_CHUNK: Final = 1 << 20


class BackupError(Exception):
    """It can't be done. The text says why and what to do."""


def backup(data: Path, file: Path) -> dict[str, Any]:
    """Write `file` from the data folder. Returns its manifest. Raises `BackupError`.

    An existing file is not overwritten; a backup that breaks off leaves nothing behind.
    """
    if not (data / DATABASE).exists():
        raise BackupError(f"There is no {DATABASE} in {data}: nothing to back up.")
    if file.exists():
        raise BackupError(f"{file} exists. Choose another name, or remove it.")
    try:
        with tempfile.TemporaryDirectory(prefix=".sayso-backup-", dir=file.parent) as folder:
            return _write(data, file, Path(folder))
    except (OSError, sqlite3.Error, tarfile.TarError) as error:
        raise BackupError(f"The backup could not be written: {error}") from error


def restore(file: Path, data: Path) -> dict[str, Any]:
    """Fill an empty data folder from a backup. Returns its manifest. Raises `BackupError`."""
    if data.exists() and any(data.iterdir()):
        raise BackupError(
            f"The data folder {data} is not empty. Stop Sayso and move it away, or set SAYSO_DATA_DIR."
        )
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".sayso-restore-", dir=data.parent) as folder:
            manifest = _read(file, Path(folder))
            _check_database(Path(folder) / DATABASE)
            data.mkdir(mode=0o700, exist_ok=True)
            os.chmod(data, 0o700)
            # The database comes last: a folder without it is one that was never restored.
            for name in sorted(manifest["parts"], key=lambda name: name == DATABASE):
                (Path(folder) / name).replace(data / name)
            _flush(data)
            return manifest
    except (OSError, sqlite3.Error, tarfile.TarError, EOFError) as error:
        raise BackupError(f"The backup could not be restored: {error}") from error


def _write(data: Path, file: Path, folder: Path) -> dict[str, Any]:
    copy = folder / DATABASE
    _copy_database(data / DATABASE, copy)
    sources = {name: data / name for name in PARTS if (data / name).exists()} | {DATABASE: copy}
    for name in _NEEDED:
        if name not in sources:
            raise BackupError(
                f"There is no {name} in {data}. Start this Sayso once, then try again."
            )
    manifest = {
        "format": _FORMAT,
        "schema": _check_database(copy),
        "madeAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "parts": {name: _digest(path) for name, path in sources.items()},
    }
    raw = orjson.dumps(manifest)
    made = folder / "made.tar"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            _add(tar, _MANIFEST, io.BytesIO(raw), len(raw))
            for name, path in sources.items():
                with path.open("rb") as part:
                    _add(tar, name, part, path.stat().st_size)
        out.flush()
        os.fsync(out.fileno())
    _publish(made, file)
    _flush(file.parent)
    return manifest


def _publish(made: Path, file: Path) -> None:
    """Give it its name, and never over a file that came to be meanwhile."""
    try:
        os.link(made, file)
    except FileExistsError:
        raise BackupError(f"{file} exists. Choose another name, or remove it.") from None
    except OSError:  # a file system without hard links
        made.rename(file)


def _copy_database(source: Path, copy: Path) -> None:
    os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as running,
        closing(sqlite3.connect(copy)) as out,
    ):
        running.execute("PRAGMA busy_timeout = 10000")
        running.backup(out)  # one read transaction: one moment, whatever is written meanwhile
        out.execute("PRAGMA journal_mode = DELETE")  # one file, with no -wal beside it


def _check_database(path: Path) -> int:
    """The schema's version. Raises `BackupError` for one that is damaged or from a newer Sayso."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if said != "ok":
        raise BackupError(f"The database is damaged: {said}")
    if not 0 < version <= len(MIGRATIONS):
        raise BackupError(
            f"The database has schema {version}, and this Sayso knows {len(MIGRATIONS)}. Upgrade Sayso."
        )
    return version


def _read(file: Path, folder: Path) -> dict[str, Any]:
    """Take the parts out into `folder`. No name, kind or size is taken from the archive unchecked."""
    with tarfile.open(file, "r:") as tar:
        member = tar.next()
        manifest = _manifest(tar, member)
        expected: dict[str, str] = dict(manifest["parts"])
        while (member := tar.next()) is not None:
            source = tar.extractfile(member) if member.isreg() else None
            if member.name not in expected or source is None:
                raise BackupError(f"{file} is not a backup of Sayso: it holds more than one does.")
            if member.name != DATABASE and member.size > _SMALL:
                raise BackupError(f"{file} is damaged: {member.name} is too large.")
            if _take(source, folder / member.name) != expected.pop(member.name):
                raise BackupError(f"{file} is damaged: {member.name} is not what was backed up.")
    if expected:
        raise BackupError(f"{file} is damaged: it lacks {', '.join(sorted(expected))}.")
    return manifest


def _manifest(tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> dict[str, Any]:
    wrong = BackupError("This is not a backup that `sayso backup` made.")
    if member is None or member.name != _MANIFEST or not member.isreg() or member.size > _SMALL:
        raise wrong
    source = tar.extractfile(member)
    assert source is not None
    try:
        manifest: dict[str, Any] = orjson.loads(source.read())
        parts = manifest["parts"]
        fits = set(_NEEDED) <= set(parts) <= set(PARTS)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise wrong from None
    if manifest.get("format") != _FORMAT or not fits:
        raise BackupError("This backup has a form that this Sayso does not know. Upgrade Sayso.")
    return manifest


def _take(source: IO[bytes], path: Path) -> str:
    """Write a part for its owner alone; its SHA-256."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        shutil.copyfileobj(source, out, _CHUNK)
        out.flush()
        os.fsync(out.fileno())
    return _digest(path)


def _add(tar: tarfile.TarFile, name: str, part: IO[bytes], size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(time.time())
    tar.addfile(info, part)


def _digest(path: Path) -> str:
    with path.open("rb") as part:
        return hashlib.file_digest(part, "sha256").hexdigest()


def _flush(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
