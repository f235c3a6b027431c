"""A circuit breaker: a server that is gone is asked again once a pause, not once a call."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class Circuit:
    """Closed while the server answers; after a failure open for `pause` seconds. Then one call may
    probe, and the others stay refused until that one has reported.
    """

    __slots__ = ("_clock", "_open_until", "_pause")

    def __init__(self, pause: float = 1.0, clock: Callable[[], float] = monotonic) -> None:
        self._pause = pause
        self._clock = clock
        self._open_until: float | None = None

    def allows(self) -> bool:
        """Whether this call may go to the server.

        After a pause one call gets the permission, as a probe; the next one is given another pause
        later, in case that probe never reports.
        """
        if self._open_until is None:
            return True
        now = self._clock()
        if now < self._open_until:
            return False
        self._open_until = now + self._pause
        return True

    def succeeded(self) -> bool:
        """The server answered. True when that closed the circuit."""
        was_open = self._open_until is not None
        self._open_until = None
        return was_open

    def failed(self) -> bool:
        """The server did not answer. True when that opened the circuit."""
        was_closed = self._open_until is None
        self._open_until = self._clock() + self._pause
        return was_closed
