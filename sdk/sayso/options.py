"""What a question may be given beside itself. Each option is the member of a request body that its comment
names, and `tests/unit/test_sdk_options.py` compares the two, so that none is missing here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypedDict

Action = Literal["accept", "reject", "refine", "edit-accept", "ask"]
Question = str | Mapping[str, Any]
"""A question in words, or the JSON Schema of its answer (its `title` is the question then)."""
Notify = str | Sequence[str] | None
"""Who is asked, and where: "slack:#finance", "email:ada@example.com", or several."""
Timeout = float | timedelta | None
"""Seconds, or a timedelta; more than 0. None: no deadline."""
Replies = Literal["off", "comment", "decide"]
RejectionPolicy = Literal["single-veto", "majority"]


class Asking(TypedDict, total=False):
    """How a question is asked. All questions take these, by name.

    `key`: the question's name in its run; derived from what is asked where unset.
    `notify`: who is asked and where; unset, as the gateway's routing says.
    `fallback`: who is asked, one after the other, when nobody of `notify` can be reached.
    `timeout`: after which the question expires for good.
    `replies`: how far a reply by mail may go, where the gateway allows as much: "decide", no further
    than a "comment", or "off".
    """

    key: str | None
    notify: Notify
    fallback: Notify
    timeout: Timeout
    replies: Replies | None


class Beginning(TypedDict, total=False):
    """What a run begins with. Said with the run's first question, and part of what its key names: the
    same key with other values is refused (`idempotency_key_mismatch`).

    `inputs` and `metadata`: JSON objects that are kept with the run and shown with it; `tags`: at most
    100, by which webhooks choose runs. `callback_url`: where the gateway sends notice of the run's
    questions and their ends, signed, if its operator set `egress.callback_secret`.
    `scope`: at most one run of a scope is active at a time; another one is refused
    (`run_already_active`). `escalation_threshold` (0 to 1): how sure an agent has to be for `ratify`
    to ask nobody. `parent`: the id of the run that called this one: what this one asks is shown there
    too, and it's cancelled with it.
    """

    inputs: Mapping[str, Any] | None
    tags: Sequence[str]
    metadata: Mapping[str, Any] | None
    callback_url: str | None
    scope: str | None
    escalation_threshold: float | None
    parent: str | None
