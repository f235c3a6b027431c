"""What is refused on kortyx' wire: a sentence in `error`, their code beside it, and the reason."""

from __future__ import annotations

from typing import Any, Literal

from schemas.errors import Refusal

Reason = Literal["unknown", "mismatch", "expired", "resumed", "cancelled", "session", ""]


class KortyxRefused(Exception):
    """A request that is refused at 400. `reason` tells apart why a resume came to nothing.

    `stale` resumes (theirs: INVALID_RESUME) are those whose question can't be answered any more, or never
    was one.
    """

    def __init__(
        self,
        message: str,
        code: str = "INVALID_REQUEST",
        reason: Reason = "",
        errors: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.errors = errors or []

    @property
    def stale(self) -> bool:
        return self.code == "INVALID_RESUME"

    def body(self) -> dict[str, Any]:
        """The answer's body. Never a token in it."""
        found: dict[str, Any] = {"error": self.message, "code": self.code}
        if self.reason:
            found["reason"] = self.reason
        if self.errors:
            found["errors"] = self.errors
        return found


def stale(reason: Reason) -> KortyxRefused:
    """A resume that doesn't count, and why."""
    sentence = {
        "unknown": "This question is not known here.",
        "mismatch": "The requestId does not belong to this token.",
        "expired": "The time to answer this question is over; its run was not resumed.",
        "resumed": "This question was answered already.",
        "cancelled": "This question was cancelled.",
    }
    return KortyxRefused(sentence[reason], "INVALID_RESUME", reason)


def invalid_response(message: str, errors: list[dict[str, Any]] | None = None) -> KortyxRefused:
    """An answer of the wrong form: the question stays open and its token usable."""
    return KortyxRefused(message, "INVALID_RESPONSE", errors=errors)


def of_refusal(refusal: Refusal) -> dict[str, Any]:
    """Our own refusals (no key, not eligible, store away) in the shape that their clients read."""
    found = {"error": refusal.message, "code": refusal.code}
    return {
        **found,
        **({"errors": refusal.details["errors"]} if "errors" in refusal.details else {}),
    }
