"""A reminder in the thread below a card, and when somebody may be named in one. Pure, but for the sending.

Accounts come from the directory and are checked for their shape: a mention is the one thing here that may
ping somebody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from adapters.languages.catalogue import words_of
from adapters.reminders import Reminder
from adapters.slack import blocks as b
from adapters.slack.render import Message

_USER: Final = re.compile(r"[UW][A-Z0-9]{2,20}")
_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of day to another, in whose zone it is asked; over midnight where `end` is earlier."""

    start: time
    end: time

    @classmethod
    def read(cls, text: str) -> QuietHours | None:
        """`22:00-07:00`; None for "". Raises `ValueError`."""
        if not text:
            return None
        found = _HOURS.fullmatch(text)
        if found is None:
            raise ValueError(f"{text[:40]!r} are no quiet hours: write them like 22:00-07:00")
        hours = [int(part) for part in found.groups()]
        return cls(time(hours[0], hours[1]), time(hours[2], hours[3]))

    def until(self, zone: str, now: int) -> int:
        """When they are over (ms), for somebody in this zone at `now` (ms); 0 when they aren't on. Without
        a zone that is known here nobody's night can be told, and nobody is spared."""
        if self.start == self.end:
            return 0
        try:
            here = ZoneInfo(zone) if zone else None
        except (KeyError, ValueError, OSError):
            here = None
        if here is None:
            return 0
        local = datetime.fromtimestamp(now / 1000, UTC).astimezone(here)
        if not self._holds(local.time()):
            return 0
        end = datetime.combine(local.date(), self.end, here)
        if end <= local:
            end = datetime.combine(local.date() + timedelta(days=1), self.end, here)
        return round(end.timestamp() * 1000)

    def _holds(self, at: time) -> bool:
        if self.start < self.end:
            return self.start <= at < self.end
        return at >= self.start or at < self.end


def message(reminder: Reminder) -> Message:
    """The reply: who is missing, what it is about, until when."""
    card = reminder.card
    words = words_of(card.reader.locale)
    users = [account.rpartition("/")[2] for account in reminder.accounts]
    mentions = " ".join(f"<@{user}>" for user in users if _USER.fullmatch(user))
    shown = b.PING.sub(b.AT, " ".join(b.clean(card.title).split()))
    title = b.unformatted(b.cut(shown, 300)) or "–"
    until = b.moment(card.deadline) if card.deadline is not None else ""
    said = words("reminder.open", title=title, moment=until)
    line = f"{mentions} {said}".strip() if mentions else said
    found: list[b.Block] = [{"type": "section", "text": b.mrkdwn(line)}]
    small = [text for text in (card.progress, card.at_deadline) if text]
    if small:
        found.append(b.context(*(b.plain(text, 300) for text in small)))
    return Message(line, found)
