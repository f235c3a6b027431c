"""The people directory: principals, their groups and roles, and their names in each channel."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator


class Person(BaseModel):
    """One person. `slack` holds `<team>/<user>`, `email` plain addresses."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[^\s/]{1,256}$")]
    name: str = ""
    slack: tuple[Annotated[str, Field(pattern=r"^[A-Z0-9]+/[A-Z0-9]+$")], ...] = ()
    email: tuple[Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")], ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    override: bool = False

    @field_validator("id")
    @classmethod
    def _not_a_programs(cls, value: str) -> str:
        """API keys, tokens and webhook sources have principals of their own."""
        if value.startswith(("key:", "token:", "hook:")):
            raise ValueError("a person's id may not begin with key:, token: or hook:")
        return value

    @field_validator("email")
    @classmethod
    def _lower(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(address.lower() for address in value)
