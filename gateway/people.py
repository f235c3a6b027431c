"""Who is who: from a channel's person, or a principal's id, to a principal of the host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adapters.accounts import Account
from adapters.languages.catalogue import DEFAULT, closest
from adapters.views import Person, Reader
from config.people import Person as Entry
from host.decisions.state import Interrupt, Principal


class People:
    """The directory in memory. Implements `host.directory.Directory`.

    Groups and roles are read from here at every decision; nothing is remembered with a principal.
    `reader` is how those are spoken to of whom nothing else is known.
    """

    def __init__(self, entries: Iterable[Entry], reader: Reader | None = None) -> None:
        self._reader = reader or Reader()
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
        asked = person.channel == "web" or bool(_addresses(person) & set(interrupt.notify))
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

    def vouched(self, person: Person, account: Account, interrupt: Interrupt) -> Principal:
        """The same with what the channel itself says of an account that the directory may not list.

        Somebody is known by any spelling of their account and by the address that the channel has
        confirmed. Who is in no list keeps the account's id, whatever the address: an address is the
        person's own to change, and would be a second vote.
        """
        base = self.of(person, interrupt)
        named = {f"{person.channel}:{name}" for name in account.names}
        email = f"email:{account.email}" if account.email else ""
        known = (self._by_name.get(name) for name in (*sorted(named), email))
        entry = next((one for one in known if one is not None), None)
        names = base.names | named | ({email} if email else set())
        if base.known:  # the operator's word alone, and not what the profile says beside it
            return replace(base, names=base.names | named)
        if entry is None:
            outsider = account.standing != "member"
            return replace(base, names=names, outsider=outsider)
        found = _principal(entry, interrupt.tenant)
        called = entry.name or person.name or entry.id
        return replace(found, name=called, names=found.names | names, asked=base.asked)

    def reader(self, person: Person | None = None) -> Reader:
        """How a person is spoken to: as the directory says, else as their channel knows (what their
        browser or Slack says), else as everybody is. None is a room, and whoever is in it."""
        if person is None:
            return self._reader
        name = f"{person.channel}:{person.id}"
        entry = self._by_name.get(_folded(name)) or self._by_id.get(
            person.id if person.channel == "principal" else ""
        )
        own = (entry.locale, entry.timezone) if entry is not None else ("", "")
        locale = closest(own[0], person.locale, self._reader.locale) or DEFAULT
        return Reader(locale, own[1] or person.zone or self._reader.zone)

    def members(self, groups: Iterable[str], roles: Iterable[str], tenant: str) -> list[Principal]:
        """Those of the directory who are in one of these groups or have one of these roles."""
        wanted, held = frozenset(groups), frozenset(roles)
        return [
            _principal(entry, tenant)
            for entry in self._by_id.values()
            if wanted & set(entry.groups) or held & set(entry.roles)
        ]

    def same(self, one: Person, other: Person) -> bool:
        """Whether two accounts belong to one person of the directory."""
        found = self._by_name.get(_folded(f"{one.channel}:{one.id}"))
        return found is not None and found is self._by_name.get(
            _folded(f"{other.channel}:{other.id}")
        )

    def names(self) -> dict[str, str]:
        """What people are called, by principal id."""
        return {entry.id: entry.name or entry.id for entry in self._by_id.values()}


def _addresses(person: Person) -> set[str]:
    """The addresses of `notify` that are this one person's, and nobody else's."""
    place, _, account = person.id.rpartition("/")
    found = {f"{person.channel}:{person.id}", f"{person.channel}:@{account}"}
    return found | ({f"{person.channel}:{place}/@{account}"} if place else set())


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
