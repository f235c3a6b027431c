"""Settings of branching sessions, and of the agents whose workers decide in them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator

from config.section import Section


class SessionAgent(Section):
    """An agent: where its worker is, and who answers its interrupts.

    `secret` signs what the worker is sent. `notify` (`channel:address`) is told of every interrupt;
    `approvers` and `approver_groups` restrict who may answer. `thread` (`channel:address`) is where each of
    its sessions has a thread of its own, unless the program that begins one names another place.
    """

    url: Annotated[str, Field(pattern=r"^https?://[^\s#]+$", max_length=2048)]
    secret: SecretStr | None = None
    notify: Annotated[tuple[str, ...], Field(max_length=50)] | None = None
    thread: Annotated[str, Field(max_length=512)] = ""
    approvers: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    approver_groups: Annotated[tuple[str, ...], Field(max_length=100)] = ()

    @field_validator("notify", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class Substructure(Section):
    """The substructure profile. `several`: whether more than one interrupt may park a branch at once.

    `timeout_seconds`: how long a worker may take for one answer; after `attempts` deliveries without a
    usable answer the question fails.
    """

    several: bool = True
    timeout_seconds: Annotated[int, Field(ge=1, le=600)] = 30
    attempts: Annotated[int, Field(ge=1, le=100)] = 10
    agents: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9._~:-]{1,128}$")], SessionAgent] = {}
