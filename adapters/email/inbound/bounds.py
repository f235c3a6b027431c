"""How much of a mail is looked at. A mail comes from anybody, so each of its sizes has an end.

The sizes are checked on the raw bytes, before anything is taken apart: a header of 50,000 encoded words
or a thousand nested parts costs Python's own parser seconds, or its stack.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

MAX_HEAD: Final = 64 * 1024
"""Bytes of one header block."""
MAX_FIELD: Final = 8 * 1024
"""Bytes of one header field, unfolded."""
MAX_FIELDS: Final = 300
MAX_DEPTH: Final = 20
"""Levels of multiparts. Honest mails have up to six."""
MAX_PARTS: Final = 200
MAX_TEXT: Final = 256 * 1024
"""Bytes of one decoded text part that are read; a reply is at its beginning."""
MAX_LINES: Final = 4000
MAX_LINE: Final = 2000
"""Characters of a line that are looked at."""
SECONDS: Final = 2.0
"""For taking apart one mail. What takes longer was made to."""


class Unreadable(Exception):
    """The mail can't be read within bounds. The text is for an operator and quotes nothing of it."""


class Budget:
    """The time that one mail may take. `clock` gives seconds."""

    __slots__ = ("_clock", "_end")

    def __init__(
        self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def check(self) -> None:
        """Raises `Unreadable` once the time is over."""
        if self._clock() > self._end:
            raise Unreadable("it takes too long to read")
