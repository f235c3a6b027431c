"""What Slack gets as the answer to a payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ack:
    """The HTTP status and the JSON body that Slack gets; over a socket, 200 alone is an ack."""

    status: int = 200
    body: dict[str, Any] | None = None
