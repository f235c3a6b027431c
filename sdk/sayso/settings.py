"""Where the gateway is, and the key to it."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

DATA_DIR: Final = "var"
"""Where `sayso dev` keeps its data, relative to where it was started, unless SAYSO_DATA_DIR says."""


@dataclass(frozen=True, slots=True)
class Target:
    """A gateway: its `url` and `api_key`, or the files in which a local one writes them.

    The files are read at each request, so a gateway that comes back on another port, or with a fresh
    data folder, is found again.
    """

    url: str = ""
    api_key: str = field(default="", repr=False)
    data: Path | None = None

    def address(self) -> str | None:
        """The base URL without a slash at its end, or None while a local gateway isn't there."""
        return self.url or self._read("url").rstrip("/") or None

    def key(self) -> str | None:
        """The API key, or None while there is none to be had."""
        return self.api_key or self._read("dev-api-key") or None

    @property
    def where(self) -> str:
        """For error texts: the address, or the file that should hold it."""
        return self.url or str(self.data and self.data / "url")

    @property
    def local(self) -> bool:
        """Whether it's on this machine, where a proxy has no business."""
        return not self.url or _is_local(self.url)

    def _read(self, name: str) -> str:
        if self.data is None:
            return ""
        try:
            return (self.data / name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""


def find(
    url: str | None = None,
    api_key: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Target:
    """The gateway to talk to: the arguments, else SAYSO_URL and SAYSO_API_KEY, else a local one.

    A local gateway (`sayso dev`) writes `url` and `dev-api-key` into its data folder, SAYSO_DATA_DIR or
    `./var`. Its key goes to an address on this machine and nowhere else. Raises `ValueError` for a URL
    that isn't http or https or has a user, a query or a fragment, and for a remote one without a key.
    """
    url = (url or environ.get("SAYSO_URL", "")).rstrip("/")
    api_key = api_key or environ.get("SAYSO_API_KEY", "")
    if not api_key.isascii() or not (api_key + "x").isprintable():
        raise ValueError("the API key has characters that no header can carry; copy it again")
    data = Path(environ.get("SAYSO_DATA_DIR", "") or DATA_DIR)
    if not url:
        return Target("", api_key, data)
    parts = urlsplit(url)
    plain = not (parts.username or parts.password or parts.query or parts.fragment)
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise ValueError("the gateway's URL looks like https://sayso.example.com, and no more")
    if not api_key and not _is_local(url):
        raise ValueError("give an API key for this gateway: api_key=… or SAYSO_API_KEY")
    return Target(url, api_key, data if _is_local(url) else None)


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
