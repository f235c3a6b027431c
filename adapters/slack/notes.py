"""How many private notes one person is sent: somebody who presses again and again has read the first.

The limit is this process's own: it spares Slack's budget and the person, and decides nothing.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

MOST: Final = 6
SECONDS: Final = 60.0
_PEOPLE: Final = 10_000


class NoteLimit:
    """At most `MOST` notes to one person in `SECONDS`."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, deque[float]] = OrderedDict()

    def allows(self, user: str, now: float) -> bool:
        """Whether one more may be sent at `now` (seconds of a monotonic clock). Counts it, if so."""
        sent = self._sent.setdefault(user, deque(maxlen=MOST))
        self._sent.move_to_end(user)
        while len(self._sent) > _PEOPLE:
            self._sent.popitem(last=False)
        if len(sent) == MOST and now - sent[0] < SECONDS:
            return False
        sent.append(now)
        return True
