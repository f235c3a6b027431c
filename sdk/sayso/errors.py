"""What can come of a question other than an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SaysoError(Exception):
    """The gateway refused, or could not be reached.

    `code` is the gateway's error code ("forbidden", "validation_error", …), or one of ours:
    "unreachable" (nothing answers), "unexpected_answer" (what answers isn't a Sayso gateway).
    `status` is the HTTP status, 0 when there was none. Holds no API key.
    """

    def __init__(
        self, code: str, message: str, details: Mapping[str, Any] | None = None, *, status: int = 0
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self.status = status


class Unreachable(SaysoError):
    """The gateway was still away when the time for trying was over."""


class Expired(SaysoError):
    """The question's own deadline passed before anybody answered. Not raised for an approval, which
    then is a `Decision` that isn't approved."""

    def __init__(self, interrupt_id: str) -> None:
        super().__init__(
            "expired",
            "nobody answered before the deadline; ask again with another key",
            {"interruptId": interrupt_id},
        )
        self.interrupt_id = interrupt_id


class Cancelled(SaysoError):
    """The question was withdrawn: it, or its run, was cancelled."""

    def __init__(self, interrupt_id: str) -> None:
        super().__init__(
            "cancelled",
            "the question was withdrawn before an answer",
            {"interruptId": interrupt_id},
        )
        self.interrupt_id = interrupt_id


class StillOpen(SaysoError, TimeoutError):
    """`wait` is over and nobody has answered yet. The question stays open: ask it again, with the
    same run key, to go on waiting for it."""

    def __init__(self, interrupt_id: str) -> None:
        super().__init__(
            "still_open",
            "no answer yet; the question stays open, and asking it again waits for the same answer",
            {"interruptId": interrupt_id},
        )
        self.interrupt_id = interrupt_id
