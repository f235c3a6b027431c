"""The port through which the host asks who somebody is. The gateway hands in the implementation."""

from __future__ import annotations

from typing import Protocol

from host.decisions.state import Interrupt, Principal


class Directory(Protocol):
    """People, their groups and roles, resolved now: at decision time, never from a cache of the past."""

    def principal(self, principal_id: str, tenant: str) -> Principal:
        """The principal of an id, with today's groups and roles. An unknown id is a stranger
        (`known=False`), never an error."""

    async def at_decision(self, principal: Principal, interrupt: Interrupt) -> Principal:
        """The same with those groups of the request that somebody else knows the members of. Raises
        `Refusal` (`sayso.unavailable`) when they can't say, and it depends on them."""
