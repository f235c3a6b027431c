"""How a run uses contracts, and which run it was called from: what its `configurable` declares.

Counted from the run's log, read right after its head: an append is conditional on that head's version, so
a count that is out of date is never acted on.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from host.decisions import contracts as rules
from host.decisions.state import Run
from host.store.port import Log
from schemas.contracts import ContractUse, ParentRun
from schemas.errors import Refusal
from schemas.payloads import problems

CONTRACTS: Final = "sayso.contracts"
PARENT: Final = "sayso.parent"
_PAGE: Final = 1000
M = TypeVar("M", bound=BaseModel)


def use_of(configurable: dict[str, Any] | None) -> ContractUse | None:
    """What a run declares to ask under. Raises `Refusal` (`validation_error`)."""
    return _declared(configurable, CONTRACTS, ContractUse)


def parent_of(configurable: dict[str, Any] | None) -> ParentRun | None:
    """The run that it was called from. Raises `Refusal` (`validation_error`)."""
    return _declared(configurable, PARENT, ParentRun)


def _declared(configurable: dict[str, Any] | None, name: str, model: type[M]) -> M | None:
    raw = ((configurable or {}).get("extensions") or {}).get(name)
    if raw is None:
        return None
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        found = problems(error, ("configurable", "extensions", name))
        where = ".".join(str(step) for step in found[0]["path"])
        raise Refusal(
            "validation_error", f"{where}: {found[0]['message']}.", errors=found
        ) from None


async def asked_under(log: Log, run: Run) -> list[str]:
    """The contracts of all the requests that this run has made, in order."""
    found: list[str] = []
    after = -1
    while page := await log.events(run.run_id, after, _PAGE):
        for event in page:
            if event.type == "interrupt.requested":
                payload = (event.record or {}).get("asked", event.payload)
                asked = rules.input_request(payload)
                if asked is not None and asked.get("contract"):
                    found.append(asked["contract"])
        after = page[-1].sequence
    return found


async def check_may_ask(log: Log, run: Run, contract: str) -> None:
    """Raises `Refusal` (`run_state_conflict`) when this run may not ask under `contract` (again)."""
    use = use_of(run.configurable)
    if use is not None:
        rules.check_may_ask(use, await asked_under(log, run), contract)


async def check_has_asked(log: Log, run: Run) -> None:
    """Raises `Refusal` (`run_state_conflict`) when this run had to ask somebody and has not."""
    use = use_of(run.configurable)
    if use is not None and use.mode == "required":
        rules.check_has_asked(use, await asked_under(log, run))
