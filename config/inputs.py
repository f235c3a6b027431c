"""Settings of requests for input: named contracts, pickers, what is captured, the kortyx profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, model_validator

from config.section import Section
from schemas.contracts import DEFAULT_TTL_MS, LONGEST_TTL_MS


class ContractSettings(Section):
    """A named contract. A schema is a table, or the path of a JSON file."""

    description: Annotated[str, Field(min_length=1, max_length=3000)]
    schema_id: Annotated[str, Field(max_length=256)] = ""
    schema_version: Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,64}$")] = "1"
    request_schema: dict[str, Any] | Path
    response_schema: dict[str, Any] | Path
    timeout_seconds: Annotated[int, Field(ge=1, le=LONGEST_TTL_MS // 1000)] | None = None


class PickerSettings(Section):
    """Where the choices of a picker come from: an HTTP source, or a command.

    `search`: whether the `source` looks for what was typed, or Sayso filters `here` what it lists.
    """

    url: Annotated[str, Field(max_length=2048)] = ""
    command: Annotated[tuple[str, ...], Field(max_length=64)] = ()
    headers: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")], SecretStr] = {}
    options: str = ""
    search: Literal["source", "here"] = "source"
    timeout_seconds: Annotated[float, Field(gt=0, le=30)] = 2.5
    cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 30.0

    @model_validator(mode="after")
    def _one_source(self) -> PickerSettings:
        if bool(self.url) == bool(self.command):
            raise ValueError("set either url or command")
        if self.headers and not self.url:
            raise ValueError("headers go with a url")
        return self


class Capture(Section):
    """Whether events hold what programs ask and what people answer. The lifecycle is always there."""

    requests: bool = True
    answers: bool = True


class Kortyx(Section):
    """The kortyx profile. `late`: what an answer that is too late does: it is refused, or taken as a new
    message, as their version 0.15 did."""

    workflow: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~:-]{0,128}$")] = ""
    ttl_ms: Annotated[int, Field(ge=1, le=LONGEST_TTL_MS)] = DEFAULT_TTL_MS
    wait_seconds: Annotated[float, Field(ge=0, le=300)] = 25.0
    late: Literal["refuse", "new-turn"] = "refuse"


def with_kortyx_names(data: Any) -> Any:
    """The raw settings with kortyx' own variables, where ours are not set."""
    if not isinstance(data, dict):
        return data
    kortyx = dict(data.get("kortyx") or {})
    for name in ("KORTYX_FRAMEWORK_TTL_MS", "KORTYX_TTL_MS"):
        if os.environ.get(name) and "ttl_ms" not in kortyx:
            kortyx["ttl_ms"] = os.environ[name]
    return {**data, "kortyx": kortyx} if kortyx else data
