"""Where everything is kept, and what coordinates several gateways."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, SecretStr, field_validator

from config.section import Section


class StoreSettings(Section):
    """Where everything is kept. Without a `url`, in one SQLite file in the data folder; several
    gateways share a `postgresql://user:password@host:5432/database`. Runs that are over and have not
    changed for `keep_days` are removed; an idempotency key is known for `keep_key_hours`."""

    url: SecretStr = SecretStr("")
    keep_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    keep_key_hours: Annotated[int, Field(ge=26, le=366 * 24)] = 26

    @field_validator("url")
    @classmethod
    def _is_postgresql(cls, value: SecretStr) -> SecretStr:
        if not re.match(r"(postgres(ql)?://\S+)?$", value.get_secret_value()):
            raise ValueError("must look like postgresql://user:password@host:5432/database")
        return value


class Redis(Section):
    """Coordination. Without a `url` a private Valkey is started in the data folder."""

    url: SecretStr | None = None
    prefix: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")] = "sayso"
