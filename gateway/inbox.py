"""What waits for one person, for the channels that show it. Implements `adapters.inbox.Inbox`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from adapters.cards import card_of
from adapters.inbox import Listing
from adapters.views import Card, Person
from gateway.accounts import Accounts
from gateway.people import People
from host.decisions.state import Interrupt, Principal
from host.host import Host
from host.inbox import Inbox as OpenRequests
from host.store.records import StoreUnavailable
from schemas.errors import Refusal


class Inbox:
    """Cards of the requests of a person's tenant; who may decide what is the host's rule.

    `tenants` says whose requests the people of a place see (`slack:T0123`); all others see `tenant`'s.
    """

    def __init__(
        self,
        host: Host,
        tenant: str,
        tenants: Mapping[str, str],
        people: People,
        accounts: Accounts,
    ) -> None:
        self._tenant, self._tenants = tenant, tenants
        self._requests = {name: OpenRequests(host, name) for name in {tenant, *tenants.values()}}
        self._people = people
        self._accounts = accounts

    async def waiting(self, person: Person, *, since: float | None = None) -> Listing:
        try:
            found = await self._of(person).waiting(self._who(person), since=since)
        except StoreUnavailable as away:
            raise _away() from away
        return Listing(tuple(self._cards(found.interrupts, person)), found.more)

    async def decided(self, person: Person, most: int = 5) -> tuple[Card, ...]:
        try:
            found = await self._of(person).decided(self._who(person), most)
        except StoreUnavailable as away:
            raise _away() from away
        return tuple(self._cards(found, person))

    async def find(self, text: str, person: Person) -> Card | None:
        try:
            found = await self._of(person).find(text, self._who(person))
        except StoreUnavailable as away:
            raise _away() from away
        return None if found is None else self._card(found, person)

    def _of(self, person: Person) -> OpenRequests:
        place = f"{person.channel}:{person.id.partition('/')[0]}"
        return self._requests[self._tenants.get(place, self._tenant)]

    def _who(self, person: Person) -> Callable[[Interrupt], Awaitable[Principal]]:
        async def who(interrupt: Interrupt) -> Principal:
            return await self._accounts.of(person, interrupt)

        return who

    def _cards(self, interrupts: Iterable[Interrupt], person: Person) -> Iterable[Card]:
        return (self._card(interrupt, person) for interrupt in interrupts)

    def _card(self, interrupt: Interrupt, person: Person) -> Card:
        return card_of(interrupt, self._people.names(), reader=self._people.reader(person))


def _away() -> Refusal:
    return Refusal("sayso.unavailable", "The store is away. Please try again.")
