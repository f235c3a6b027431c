"""How a request for input reads on a card: its question is the title, its request the evidence. Pure."""

from __future__ import annotations

from typing import Any, Final

from host.decisions.contracts import input_request
from host.decisions.state import Interrupt

_TITLE: Final = 200


def input_heading(interrupt: Interrupt) -> tuple[str, str] | None:
    """Title and body of a request for input, or None when the interrupt is none."""
    asked = input_request(interrupt.payload)
    if asked is None:
        return None
    question = asked["question"].strip()
    title = question.splitlines()[0][:_TITLE] if question else asked.get("contract", "")
    return title, question if question != title else ""


def shown_data(interrupt: Interrupt) -> dict[str, Any]:
    """The interrupt's data as a card shows it: of a request for input only what the program wrote."""
    asked = input_request(interrupt.payload)
    if asked is None:
        return interrupt.data
    request = asked.get("request")
    if isinstance(request, dict):
        request = {name: value for name, value in request.items() if name != "question"} or None
    return {**interrupt.data, "payload": request}
