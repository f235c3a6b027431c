"""Settings of registered interrupts and of the symfonic profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr

from config.section import Section


class RegistrationSettings(Section):
    """A registered interrupt. A schema is a table, the path of a JSON file, or `package.module:Model`.

    `check` is JMESPath over `{response, payload}` that has to be true; `validator` is a Python function,
    `package.module:function`, called with both.
    """

    payload_schema: dict[str, Any] | Path
    response_schema: dict[str, Any] | Path
    check: Annotated[str, Field(max_length=512)] = ""
    validator: Annotated[str, Field(pattern=r"^([\w.]+:\w+)?$")] = ""
    cross_scope_allowed: bool = False
    metadata: dict[str, Any] = {}


class Symfonic(Section):
    """The symfonic profile: served when `jwt_secret` is set. `ttl_seconds` is the life of a pause."""

    jwt_secret: SecretStr | None = None
    ttl_seconds: Annotated[int, Field(ge=30, le=86_400)] = 600


def with_symfonic_names(data: Any) -> Any:
    """The raw settings with symfonic's own variable, where ours is not set."""
    if not isinstance(data, dict) or not os.environ.get("JWT_SECRET"):
        return data
    symfonic = dict(data.get("symfonic") or {})
    symfonic.setdefault("jwt_secret", os.environ["JWT_SECRET"])
    return {**data, "symfonic": symfonic}
