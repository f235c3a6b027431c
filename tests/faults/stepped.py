"""`sayso` with a clock that can be put forward and back while it runs.

The eight bytes of the file that `SAYSO_TEST_CLOCK` names are added to the gateway's clock, in milliseconds.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable
from pathlib import Path

from gateway import lifecycle
from gateway.cli.main import main


class ClockFile:
    """The offset, shared between a test and its programs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 8)

    @property
    def offset(self) -> int:
        """Milliseconds."""
        return int(struct.unpack("<q", self._bytes[:8])[0])

    @offset.setter
    def offset(self, milliseconds: int) -> None:
        self._bytes[:8] = struct.pack("<q", milliseconds)


def _stepped(clock: ClockFile, now: Callable[[], int]) -> Callable[[], int]:
    return lambda: now() + clock.offset


if __name__ == "__main__":
    clock = ClockFile(Path(os.environ.pop("SAYSO_TEST_CLOCK")))
    setattr(lifecycle, "_now", _stepped(clock, lifecycle._now))  # noqa: B010 - it is replaced
    main()
