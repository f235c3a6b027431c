"""Where the gateway is, and the key to it."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

DEV_KEY: Final = "dev-api-key"
"""What `sayso dev` accepts on its own machine."""


@dataclass(frozen=True, slots=True)
class Target:
    """A gateway: a fixed `url`, or the file in which a local one writes its address.

    The file is read at each request, so a gateway that comes back on another port is found again.
    """

    api_key: str = field(repr=False)
    url: str = ""
    url_file: Path | None = None

    def address(self) -> str | None:
        """The base URL without a slash at its end, or None while a local gateway isn't there."""
        if self.url_file is None:
            return self.url
        try:
            return self.url_file.read_text(encoding="utf-8").strip().rstrip("/") or None
        except OSError:
            return None

    @property
    def where(self) -> str:
        """For error texts: the address, or the file that should hold it."""
        return self.url or str(self.url_file)

    @property
    def local(self) -> bool:
        """Whether it's on this machine, where a proxy has no business."""
        if self.url_file is not None:
            return True
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


def find(
    url: str | None = None,
    api_key: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Target:
    """The gateway to talk to: the arguments, else SAYSO_URL and SAYSO_API_KEY, else a local one.

    A local gateway writes its address into `<SAYSO_DATA_DIR or ./var>/url`. Raises `ValueError` for
    a URL that isn't http or https, or has a user, a query or a fragment.
    """
    url = url or environ.get("SAYSO_URL", "")
    api_key = api_key or environ.get("SAYSO_API_KEY", "") or DEV_KEY
    if not api_key.isascii() or not api_key.isprintable():
        raise ValueError("the API key has characters that no header can carry; copy it again")
    if not url:
        return Target(api_key, url_file=Path(environ.get("SAYSO_DATA_DIR", "") or "var") / "url")
    parts = urlsplit(url)
    plain = not (parts.username or parts.password or parts.query or parts.fragment)
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise ValueError("the gateway's URL looks like https://sayso.example.com, and no more")
    return Target(api_key, url=url.rstrip("/"))
