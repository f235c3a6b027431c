"""`notify` and `fallback`: lists of `"<channel>:<address>"`, checked when a request is made, not later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adapters.channel import Channel
from schemas.errors import Refusal

_SWITCHES: Final = {"slack": "slack.bot_token", "email": "email.smtp_url"}
"""The settings that turn channels on."""


class Addresses:
    """The addresses that this gateway can reach. `default` is used when a request names none."""

    def __init__(self, channels: Mapping[str, Channel], default: Sequence[str]) -> None:
        self.channels = channels
        self._default = tuple(default)

    def check(self, notify: Sequence[str] | None) -> tuple[str, ...]:
        """Canonical spellings, each once. None takes the default; an empty list tells nobody.

        Raises `Refusal` (`validation_error`) with one `{path, message}` a mistake.
        """
        return self._checked("notify", self._default if notify is None else notify)

    def fallback(self, given: Sequence[str] | None) -> tuple[str, ...]:
        """The same for the addresses that a request falls back to; without them there are none."""
        return self._checked("fallback", given or ())

    def _checked(self, member: str, given: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        errors = []
        for number, text in enumerate(given):
            try:
                found[self._canonical(text)] = None
            except ValueError as error:
                errors.append({"path": [member, number], "message": str(error)})
        if errors:
            raise Refusal("validation_error", f"{member}: {errors[0]['message']}", errors=errors)
        return tuple(found)

    def thread(self, text: str) -> str:
        """The canonical spelling of a place where a session can have a thread.

        Raises `Refusal` (`validation_error`).
        """
        try:
            found = self._canonical(text)
            name = found.partition(":")[0]
            if not getattr(self.channels[name], "holds_sessions", False):
                raise ValueError(f"a conversation can't have a thread in {name!r}; use Slack")
        except ValueError as error:
            raise Refusal("validation_error", f"thread: {error}") from error
        return found

    def _canonical(self, text: str) -> str:
        name, colon, address = text.partition(":")
        if not colon:
            raise ValueError(
                f"{text[:80]!r} is not '<channel>:<address>' (slack:#ops, email:ada@example.com, web:)"
            )
        channel = self.channels.get(name)
        if channel is None:
            known = ", ".join(sorted(self.channels))
            switch = f" ({_SWITCHES[name]} turns it on)" if name in _SWITCHES else ""
            raise ValueError(f"no channel {name[:40]!r} is set up here{switch}; there is {known}")
        return f"{name}:{channel.check_address(address)}"
