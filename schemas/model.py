"""The bases of the wire models: closed, immutable, camelCase outside and snake_case inside."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel


class Closed(BaseModel):
    """A closed object: a member that the model does not name is refused (OpenWOP: closed objects)."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
    )

    def wire(self) -> dict[str, object]:
        """This object as it goes over the wire: camelCase, members that were never set left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Exact(Closed):
    """A closed object whose optional members are left out, never null.

    No closed schema of the protocol admits null for a member that may be missing, and what a caller
    sends is repeated verbatim in events: a null let in here would come out in a log that is never
    rewritten. Members of type `Any` may be null.
    """

    @model_validator(mode="before")
    @classmethod
    def _left_out_not_null(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for name in _optional(cls):
                if name in data and data[name] is None:
                    raise ValueError(f"{name} must be left out, not null")
        return data


@cache
def _optional(model: type[Exact]) -> tuple[str, ...]:
    """The members, by wire name, that may be missing and may not be null."""
    return tuple(
        field.alias or name
        for name, field in model.model_fields.items()
        if not field.is_required() and field.default is None and field.annotation is not Any
    )
