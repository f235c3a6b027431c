"""The token keys of this gateway: `<data folder>/token-keys.json` (0600), rotated with `sayso keys`.

add      a new key that verifies; every replica learns it before anybody signs with it
promote  the key that signs from now on
retire   the key signs no more and verifies until the last token it can have signed has expired

A running gateway sees a change of the file within a second. Keys in the configuration take its place.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import orjson
import structlog

from gateway.secrets import make_private, write_private
from host.tokens import LONGEST_TTL_MS, TokenRing

log = structlog.get_logger("sayso.keys")


class KeyringError(Exception):
    """The command can't be carried out. The text says why."""


@dataclass(frozen=True, slots=True)
class TokenKey:
    """One key. Times in ms; `until` is set when it was retired: it verifies until then."""

    secret: str = field(repr=False)
    added: int
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys by kid, and the one that signs."""

    current: str
    keys: dict[str, TokenKey]

    def add(self, now: int) -> tuple[Keyring, str]:
        """A ring with one more key, and its kid."""
        kid = time.strftime("k%Y%m%d", time.gmtime(now / 1000)) + "-" + secrets.token_hex(3)
        key = TokenKey(secrets.token_urlsafe(48), now)
        return replace(self, keys={**self.keys, kid: key}), kid

    def promote(self, kid: str) -> Keyring:
        """The ring in which `kid` signs. Raises `KeyringError`."""
        if self._known(kid).until is not None:
            raise KeyringError(f"{kid} is retired; add a new key and promote that.")
        return replace(self, current=kid)

    def retire(self, kid: str, now: int) -> Keyring:
        """The ring in which `kid` verifies until its last token has expired. Raises `KeyringError`."""
        key = self._known(kid)
        if kid == self.current:
            raise KeyringError(f"{kid} signs now; promote another key first.")
        if key.until is not None:
            raise KeyringError(f"{kid} is retired already.")
        return replace(self, keys={**self.keys, kid: replace(key, until=now + LONGEST_TTL_MS)})

    def ring(self, now: int, legacy: str | None = None) -> TokenRing:
        """What signs and verifies at `now`."""
        held = {
            kid: key.secret
            for kid, key in self.keys.items()
            if key.until is None or key.until > now
        }
        return TokenRing(held, self.current, legacy)

    def _known(self, kid: str) -> TokenKey:
        if kid not in self.keys:
            raise KeyringError(f"There is no key {kid}; `sayso keys list` shows them.")
        return self.keys[kid]


class KeyringFile:
    """The file that holds a ring."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "token-keys.json"

    def read(self) -> Keyring:
        """The ring, made with one key on the first call. Raises `ValueError` for a broken file."""
        if not self.path.exists():
            made, kid = Keyring("", {}).add(time.time_ns() // 1_000_000)
            make_private(self.path, _text(made.promote(kid)))
        try:
            raw = orjson.loads(self.path.read_bytes())
            return Keyring(raw["current"], {k: TokenKey(**v) for k, v in raw["keys"].items()})
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise ValueError(f"{self.path} is damaged. Restore it from a backup.") from None

    def write(self, keyring: Keyring) -> None:
        """Replace the file, whole or not at all."""
        write_private(self.path, _text(keyring))

    def stamp(self) -> int:
        """Changes when the file does."""
        try:
            return self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return 0


def _text(keyring: Keyring) -> str:
    return orjson.dumps(asdict(keyring)).decode()


async def follow_keys(file: KeyringFile, reload: Callable[[], None], seconds: float = 1.0) -> None:
    """Call `reload` whenever the file has changed, and once an hour, when a retired key may be over."""
    seen, age = file.stamp(), 0.0
    while True:
        await asyncio.sleep(seconds)
        age += seconds
        if file.stamp() == seen and age < 3600.0:
            continue
        seen, age = file.stamp(), 0.0
        try:
            reload()
            log.info("token keys read again")
        except ValueError as error:
            log.error("token keys not read", reason=str(error))
