"""The gateway's own secrets, made once and kept in the data folder (0600).

They sign answer links and form nonces; token keys have a ring of their own (`gateway.keyring`).
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson

SHORTEST: Final = 32


@dataclass(frozen=True, slots=True)
class OwnSecrets:
    """`links` makes answer links, `forms` signs form nonces."""

    links: str = field(repr=False)
    forms: str = field(repr=False)


def own_secrets(data_dir: Path) -> OwnSecrets:
    """Read them, or make them on the first start. Raises `OSError`, and `ValueError` with what to do for a
    file that is broken or holds a secret that is too short to be one."""
    path = data_dir / "secrets.json"
    if not path.exists():
        made = {name: secrets.token_urlsafe(48) for name in ("links", "forms")}
        make_private(path, orjson.dumps(made).decode())
    try:
        raw = orjson.loads(path.read_bytes())
        found = OwnSecrets(links=raw["links"], forms=raw["forms"])
        good = min(len(found.links), len(found.forms)) >= SHORTEST
    except (orjson.JSONDecodeError, KeyError, TypeError):
        good = False
    if not good:
        raise ValueError(
            f"{path} is damaged, or holds a secret of less than {SHORTEST} characters. Restore it from a "
            "backup, or remove it: a new one is made, and links that are out stop working."
        )
    return found


def dev_api_key(data_dir: Path) -> str:
    """The development API key, in `<data dir>/dev-api-key`. Made on the first start."""
    path = data_dir / "dev-api-key"
    if not path.exists():
        make_private(path, "sayso_dev_" + secrets.token_urlsafe(32))
    return path.read_text().strip()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    _beside(path, text).replace(path)


def make_private(path: Path, text: str) -> None:
    """The same, unless there is one: of several gateways that start in one folder, one makes it."""
    temporary = _beside(path, text)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    finally:
        temporary.unlink()


def _beside(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Not by process id: in two containers that share the folder both may be number 1.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return temporary
