"""Checks of this machine: the data folder, the database, the disk."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from config.settings import Settings
from gateway.doctor.finding import LARGE_BYTES, Finding, fail, ok, warn
from gateway.keyring import KeyringFile
from gateway.secrets import own_secrets
from host.store.records import StoreUnavailable
from host.store.sqlite.beside import version_of
from host.store.sqlite.store import MIGRATIONS

PRIVATE: Final = ("sayso.db", "secrets.json", "token-keys.json", "dev-api-key", "url")
LEAST_BYTES: Final = 100 << 20
SCANT_BYTES: Final = 1 << 30


def folder(settings: Settings) -> Iterator[Finding]:
    """The data folder: there, ours, writable, and for nobody else."""
    data = settings.data_dir
    if not data.exists():
        yield ok("data folder", f"{data} will be made at the first start")
        return
    found = data.stat()
    if not stat.S_ISDIR(found.st_mode) or not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        yield fail(
            "data folder",
            f"{data} can't be written to",
            "Give it to the user that runs Sayso, or set SAYSO_DATA_DIR.",
        )
        return
    if found.st_uid != os.getuid():
        yield warn("data folder", f"{data} belongs to another user", "Run this as that user.")
    if found.st_mode & 0o077:
        yield warn("data folder", f"{data} can be read by others", f"chmod 700 {data}")
    else:
        yield ok("data folder", f"{data} is for its owner alone")
    for name in PRIVATE:
        path = data / name
        if path.exists() and path.stat().st_mode & 0o077:
            yield fail("data folder", f"{path} can be read by others", f"chmod 600 {path}")


def secrets(settings: Settings) -> Iterator[Finding]:
    """The secrets and token keys that the gateway made."""
    data = settings.data_dir
    if not (data / "secrets.json").exists():
        yield ok("secrets", "will be made at the first start")
        return
    try:
        own_secrets(data)
        keyring = KeyringFile(data)
        count = len(keyring.read().keys) if keyring.path.exists() else 0
    except (ValueError, OSError) as error:
        yield fail("secrets", str(error), "Restore the file from a backup.")
        return
    yield ok("secrets", f"whole; {count} token key{'' if count == 1 else 's'}")


def database(settings: Settings) -> Iterator[Finding]:
    """The embedded database: it opens, and its version is one that this program knows."""
    if settings.store.url.get_secret_value():
        return
    path = settings.data_dir / "sayso.db"
    if not path.exists():
        yield ok("database", "will be made at the first start")
        return
    try:
        version = version_of(path)
    except StoreUnavailable as error:
        yield fail("database", str(error), "Restore a backup: sayso restore FILE.")
        return
    newest = len(MIGRATIONS)
    if version > newest:
        yield fail(
            "database",
            f"{path} has schema {version}, this Sayso knows {newest}",
            "Upgrade Sayso, or restore a backup.",
        )
    elif version < newest:
        yield warn(
            "database",
            f"{path} has schema {version}; the next start makes it {newest}",
            "Back up first: an older Sayso can't open it afterwards.",
        )
    else:
        yield ok("database", f"{path} opens, schema {version}")
    yield from large("database", path.stat().st_size, settings)


def large(subject: str, size: int, settings: Settings) -> Iterator[Finding]:
    """A database that has grown large, where nothing is ever removed from it."""
    if size > LARGE_BYTES and settings.store.keep_days is None:
        yield warn(
            subject,
            f"it has {size / 2**30:.0f} GiB, and no run is ever removed",
            "Set SAYSO_STORE__KEEP_DAYS to remove runs that have been over for so many days.",
        )


def disk(settings: Settings) -> Iterator[Finding]:
    """Space: a full disk means that no answer is taken."""
    place = _existing(settings.data_dir)
    free = shutil.disk_usage(place).free
    sentence = f"{free / 2**30:.1f} GiB free at {place}"
    if free < LEAST_BYTES:
        yield fail("disk", sentence, "Make room: with a full disk no answer is taken.")
    elif free < SCANT_BYTES:
        yield warn("disk", sentence, "Make room before it is full: then no answer is taken.")
    else:
        yield ok("disk", sentence)


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
