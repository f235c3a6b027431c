"""What Slack asks while a person types in an external menu, and the options that it is given."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from adapters.channel import Intake
from adapters.slack import inputs, receive
from adapters.slack.acks import Ack
from schemas.errors import Refusal

_log = logging.getLogger(__name__)

MOST: Final = 100
"""Options of one answer; Slack shows nothing at all when there are more."""


async def suggest(intake: Intake, payload: Mapping[str, Any], team: str) -> Ack:
    """The options for what was typed so far. An empty list when there are none, when they can't be looked
    up now, or when this person may not answer: Slack has no room to say why."""
    typed = payload.get("value")
    try:
        found = receive.view_submission(payload, team)
        if isinstance(found, receive.Unknown):
            return _menu([])
        field_id = str(payload.get("block_id", "")).rpartition(".")[2]
        binding = found.binding
        options = await intake.options(
            binding.interrupt_id,
            found.person,
            binding.action,
            field_id,
            typed if isinstance(typed, str) else "",
        )
        shown = [inputs.suggestion(option) for option in options]
        return _menu([option for option in shown if option is not None][:MOST])
    except Refusal as refusal:
        _log.warning("slack: options could not be looked up: %s", refusal.code)
        return _menu([])
    except Exception:
        _log.exception("slack: options could not be looked up")
        return _menu([])


def _menu(options: list[Any]) -> Ack:
    return Ack(body={"options": options})
