"""`notify`: a list of `"<channel>:<address>"`, checked when a request is made, not when it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.channel import Channel
from schemas.errors import Refusal


class Addresses:
    """The addresses that this gateway can reach. `default` is used when a request names none."""

    def __init__(self, channels: Mapping[str, Channel], default: Sequence[str]) -> None:
        self.channels = channels
        self._default = tuple(default)

    def check(self, notify: Sequence[str] | None) -> tuple[str, ...]:
        """Canonical spellings, each once. None takes the default; an empty list tells nobody.

        Raises `Refusal` (`validation_error`) with one `{path, message}` a mistake.
        """
        given = self._default if notify is None else notify
        found: dict[str, None] = {}
        errors = []
        for number, text in enumerate(given):
            try:
                found[self._canonical(text)] = None
            except ValueError as error:
                errors.append({"path": ["notify", number], "message": str(error)})
        if errors:
            raise Refusal("validation_error", f"notify: {errors[0]['message']}", errors=errors)
        return tuple(found)

    def _canonical(self, text: str) -> str:
        name, colon, address = text.partition(":")
        if not colon:
            raise ValueError(
                f"{text[:80]!r} is not '<channel>:<address>' (slack:#ops, email:ada@example.com, web:)"
            )
        channel = self.channels.get(name)
        if channel is None:
            known = ", ".join(sorted(self.channels))
            raise ValueError(f"no channel {name[:40]!r} is set up here; there is {known}")
        return f"{name}:{channel.check_address(address)}"
