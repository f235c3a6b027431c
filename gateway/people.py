"""Who is who: from a channel's person, or a principal's id, to a principal of the host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adapters.views import Person
from config.people import Person as Entry
from host.decisions.state import Interrupt, Principal


class People:
    """The directory in memory. Implements `host.directory.Directory`.

    Groups and roles are read from here at every decision; nothing is remembered with a principal.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._by_id = {entry.id: entry for entry in entries}
        self._by_name: dict[str, Entry] = {}
        for entry in self._by_id.values():
            for name in _names(entry):
                self._by_name[name] = entry

    def principal(self, principal_id: str, tenant: str) -> Principal:
        """By id or by any channel name (`email:ada@example.com`)."""
        entry = self._by_id.get(principal_id) or self._by_name.get(_folded(principal_id))
        if entry is None:
            return Principal(
                id=principal_id, tenant=tenant, names=frozenset({principal_id}), known=False
            )
        return _principal(entry, tenant)

    def of(self, person: Person, interrupt: Interrupt) -> Principal:
        """Somebody whom a channel vouches for, about one interrupt of one tenant."""
        if person.channel == "principal":  # the holder of a token: the host has said who that is
            found = self.principal(person.id, interrupt.tenant)
            return replace(found, name=found.name or person.name, asked=True)
        spelled = f"{person.channel}:{person.id}"
        name = _folded(spelled)
        entry = self._by_name.get(name)
        asked = person.channel == "web" or bool(
            {spelled, f"{person.channel}:@{person.id.rpartition('/')[2]}"} & set(interrupt.notify)
        )
        if entry is None:
            return Principal(
                id=name.replace("/", ":"),
                tenant=interrupt.tenant,
                name=person.name or person.id,
                names=frozenset({spelled, name, name.replace("/", ":")}),
                known=False,
                asked=asked,
            )
        principal = _principal(entry, interrupt.tenant)
        return replace(principal, name=entry.name or person.name or entry.id, asked=asked)

    def names(self) -> dict[str, str]:
        """What people are called, by principal id."""
        return {entry.id: entry.name or entry.id for entry in self._by_id.values()}


def _folded(name: str) -> str:
    """A mail address is one person's in whatever case it's written; other names are as they are."""
    return name.lower() if name.startswith("email:") else name


def _names(entry: Entry) -> list[str]:
    return [*(f"slack:{s}" for s in entry.slack), *(f"email:{e}" for e in entry.email)]


def _principal(entry: Entry, tenant: str) -> Principal:
    return Principal(
        id=entry.id,
        tenant=tenant,
        name=entry.name or entry.id,
        names=frozenset({entry.id, *_names(entry)}),
        groups=frozenset(entry.groups),
        roles=frozenset(entry.roles),
        override=entry.override,
    )
