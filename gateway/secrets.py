"""The gateway's own secrets, made once and kept in the data folder (0600).

They sign answer links and form nonces; token keys have a ring of their own (`gateway.keyring`).
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

import orjson


@dataclass(frozen=True, slots=True)
class OwnSecrets:
    """`links` makes answer links, `forms` signs form nonces."""

    links: str = field(repr=False)
    forms: str = field(repr=False)


def own_secrets(data_dir: Path) -> OwnSecrets:
    """Read them, or make them on the first start. Raises `OSError`, `ValueError` for a broken file."""
    path = data_dir / "secrets.json"
    if not path.exists():
        made = {name: secrets.token_urlsafe(48) for name in ("links", "forms")}
        write_private(path, orjson.dumps(made).decode())
    raw = orjson.loads(path.read_bytes())
    return OwnSecrets(links=raw["links"], forms=raw["forms"])


def dev_api_key(data_dir: Path) -> str:
    """The development API key, in `<data dir>/dev-api-key`. Made on the first start."""
    path = data_dir / "dev-api-key"
    if not path.exists():
        write_private(path, "sayso_dev_" + secrets.token_urlsafe(32))
    return path.read_text().strip()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
