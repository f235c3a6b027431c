"""What a process takes for itself before it serves: its data folder and its socket."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from config.settings import Settings


class StartError(Exception):
    """The gateway can't start. The text says what to do."""


@contextlib.contextmanager
def sole(data: Path) -> Iterator[None]:
    """What is embedded has one process at a time: say so at once instead of failing later."""
    descriptor = os.open(data / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise StartError(
            f"Another Sayso runs with the data folder {data}. Stop it, or set SAYSO_DATA_DIR to "
            "another folder."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)


def bind(settings: Settings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.http.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.http.host, settings.http.port))
    except OSError as error:
        raise StartError(
            f"Cannot listen on {settings.http.host}:{settings.http.port}: {error.strerror}. Set "
            "SAYSO_HTTP__PORT to another port (0 takes any free one)."
        ) from error
    return listening


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
