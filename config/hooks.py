"""Sources of signed events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from config.section import Section


class Hook(Section):
    """A source of signed events at `/hooks/<name>`. Expressions are JMESPath over the event.

    `several`: what an event does that several runs wait for; `exactlyOne` parks it for an operator.
    `keep_seconds`: how long an event that nobody waits for may still match.
    """

    provider: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,40}$")]
    secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1, max_length=8)]
    event_type: str = ""
    correlation: dict[str, str] = {}
    event_id: str = ""
    payload: str = ""
    tolerance: Annotated[int, Field(ge=1, le=86_400)] | None = None
    mode: Literal["live", "test", ""] = ""
    several: Literal["all", "exactlyOne"] = "all"
    keep_seconds: Annotated[int, Field(ge=60, le=366 * 86_400)] = 30 * 86_400
    public_url: Annotated[str, Field(pattern=r"^(https?://[^\s#]+)?$")] = ""
    max_body: Annotated[int, Field(ge=1024, le=25 * 2**20)] = 2**20
    signature: dict[str, str] = {}
    tenant: str = ""
