"""Named contracts: those of the operator's configuration, and those that programs register.

A version of a contract never changes: what was asked under it is answered under it. The operator's contracts
are every tenant's and can't be replaced. What an interrupt needs of its contract is copied into it when it
is asked, so an open question doesn't depend on this registry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from host import contract_use, contracts
from host.decisions import contracts as rules
from host.decisions.state import Principal, iso
from host.host import Host, Requested
from host.journal import MakeReply
from schemas.contracts import DEFAULT_TTL_MS, AskForInput, Contract
from schemas.errors import Refusal
from schemas.payloads import check_payload

KIND: Final = "contract"
MOST: Final = 1000
"""Contracts that the programs of one tenant may register, versions counted."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A contract and where it comes from. `at` is when a program registered it (ms)."""

    contract: Contract
    at: int | None = None

    def wire(self) -> dict[str, Any]:
        """A `ContractRecord`."""
        source = "configuration" if self.at is None else "api"
        found: dict[str, Any] = {**self.contract.wire(), "source": source}
        if self.at is not None:
            found["registeredAt"] = iso(self.at)
        return found


class Contracts:
    """The contracts of one host. `ttl_ms` is the life of a request that says nothing of its own."""

    def __init__(
        self, host: Host, configured: Iterable[Contract] = (), ttl_ms: int = DEFAULT_TTL_MS
    ) -> None:
        self._host = host
        self._ttl_ms = ttl_ms
        self._configured = {one.name: one for one in configured}
        for one in self._configured.values():
            check_contract(one)

    async def register(self, tenant: str, contract: Contract) -> tuple[Registered, bool]:
        """The contract as it is kept, and whether it is new.

        Raises `Refusal`: `validation_error` for a schema that can't be used;
        `sayso.contract_conflict` when the name is the operator's, or the version says something else.
        """
        check_contract(contract)
        if contract.name in self._configured:
            raise Refusal(
                "sayso.contract_conflict",
                f"{contract.name} is a contract of this gateway's configuration. Use another name.",
            )
        now = self._host.clock()
        known = await self._host.store.documents.list(KIND, now, prefix=f"{tenant}/", limit=MOST)
        key = _key(tenant, contract)
        if len(known) >= MOST and all(one.key != key for one in known):
            raise Refusal(
                "validation_error", f"This tenant has {MOST} contracts already, versions counted."
            )
        value = {"contract": contract.wire(), "at": now}
        written = await self._host.store.documents.put(KIND, key, value, now, expected=0)
        if written is not None:
            return Registered(contract, now), True
        old = await self._host.store.documents.get(KIND, key, now)
        if old is None or old.value["contract"] != value["contract"]:
            raise Refusal(
                "sayso.contract_conflict",
                f"Version {contract.schema_version} of {contract.name} says something else. "
                "A version never changes: register the new one under a new version.",
            )
        return _registered(old.value), False

    async def listing(self, tenant: str) -> list[Registered]:
        """All that this tenant may ask under, by name and version."""
        kept = await self._host.store.documents.list(
            KIND, self._host.clock(), prefix=f"{tenant}/", limit=MOST
        )
        found = [Registered(one) for one in self._configured.values()]
        found += [
            one
            for one in (_registered(document.value) for document in kept)
            if one.contract.name not in self._configured
        ]
        return sorted(found, key=lambda one: (one.contract.name, one.contract.schema_version))

    async def find(self, tenant: str, name: str, version: str | None = None) -> Contract:
        """A contract, in the version named, else in the one that was registered last.

        Raises `Refusal` (`not_found`).
        """
        configured = self._configured.get(name)
        if configured is not None:
            if version in (None, configured.schema_version):
                return configured
            raise _unknown(name, version)
        kept = await self._host.store.documents.list(
            KIND, self._host.clock(), prefix=f"{tenant}/{name}@", limit=MOST
        )
        found = [_registered(document.value) for document in kept]
        if version is not None:
            found = [one for one in found if one.contract.schema_version == version]
        if not found:
            raise _unknown(name, version)
        return max(found, key=lambda one: one.at or 0).contract

    async def ask(
        self,
        principal: Principal,
        run_id: str,
        ask: AskForInput,
        notify: tuple[str, ...],
        reply: MakeReply | None = None,
    ) -> Requested:
        """Ask for input. Raises as `Host.request` does; `not_found` for an unknown contract,
        `validation_error` for a request that it refuses, `run_state_conflict` beyond the run's limit."""
        contract = None
        if ask.contract is not None:
            contract = await self.find(principal.tenant, ask.contract, ask.schema_version)
        payload = rules.payload_of(ask, contract, contracts.validate, self._ttl_ms)
        name = ask.contract

        async def may_ask(run: Any) -> None:
            if name is not None:
                await contract_use.check_may_ask(self._host.store.log, run, name)

        return await self._host.request(
            principal,
            run_id,
            ask.node_id,
            check_payload(payload),
            notify,
            self_approval=ask.self_approval,
            reply=reply,
            may_ask=may_ask,
        )


def check_contract(contract: Contract) -> None:
    """Refuse a contract whose schemas can't be used. Raises `Refusal` (`validation_error`)."""
    contracts.check_schema(contract.request_schema, where="requestSchema")
    contracts.check_schema(contract.response_schema, where="responseSchema")


def _key(tenant: str, contract: Contract) -> str:
    return f"{tenant}/{contract.name}@{contract.schema_version}"


def _registered(value: dict[str, Any]) -> Registered:
    return Registered(Contract.model_validate(value["contract"]), value["at"])


def _unknown(name: str, version: str | None) -> Refusal:
    which = f" in version {version}" if version else ""
    return Refusal(
        "not_found",
        f"No contract {name}{which} is registered here. Register it with POST /host/sayso/contracts.",
        field="contract",
    )
