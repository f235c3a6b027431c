"""The people directory: principals, their groups and roles, and their names in each channel."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

Locale = Annotated[str, Field(pattern=r"^([a-z]{2,3}([-_][A-Za-z0-9]{2,8})*)?$")]


def _is_a_zone(name: str) -> str:
    try:
        if name:
            ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("must be a time zone like Europe/Berlin, or UTC") from None
    return name


Zone = Annotated[str, AfterValidator(_is_a_zone)]


class Person(BaseModel):
    """One person. `slack` holds `<team>/<user>`, `email` plain addresses. `locale` and `timezone`
    are how they are spoken to; `endings`: whether they get the mail that says how a question ended."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[^\s/]{1,256}$")]
    name: str = ""
    slack: tuple[Annotated[str, Field(pattern=r"^[A-Z0-9]+/[A-Z0-9]+$")], ...] = ()
    email: tuple[Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")], ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    override: bool = False
    locale: Locale = ""
    timezone: Zone = ""
    endings: bool = True

    @field_validator("id")
    @classmethod
    def _not_a_programs(cls, value: str) -> str:
        """API keys, tokens, webhook sources and users of sessions have principals of their own."""
        if value.startswith(("key:", "token:", "hook:", "session:")):
            raise ValueError("a person's id may not begin with key:, token:, hook: or session:")
        return value

    @field_validator("email")
    @classmethod
    def _lower(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(address.lower() for address in value)


class Group(BaseModel):
    """A group whose members a channel knows: Slack user groups, as `S0123`, `@handle`, or either behind
    `<team>/` where there are several workspaces."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slack: tuple[
        Annotated[
            str, Field(pattern=r"^([TE][A-Z0-9]{2,20}/)?(S[A-Z0-9]{2,20}|@[a-z0-9._-]{1,80})$")
        ],
        ...,
    ] = ()
