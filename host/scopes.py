"""At most one active run of a scope: `OpenWOP-Dedup: enforce` with a `scopeId` (OpenWOP: runs).

The runs of a scope are numbered, and a run's id is made of the scope and its number. So the log itself, where
an id begins once, lets one of two creators through, and no crash can leave a scope taken by nobody. A
document remembers the newest number, written before the run that has it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.errors import Refusal
from schemas.runs import TERMINAL

if TYPE_CHECKING:
    from host.host import Host

KIND: Final = "run-scope"
_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True)
class Place:
    """What the next run of a scope is called."""

    run_id: str
    key: str
    number: int


async def next_place(host: Host, tenant: str, scope: str) -> Place:
    """Where the scope's next run goes. Raises `Refusal` (`run_already_active`)."""
    documents, name = host.store.documents, hashlib.sha256(scope.encode()).hexdigest()[:40]
    key = f"{tenant}:{name}"
    for _ in range(_ATTEMPTS):
        now = host.clock()
        known = await documents.get(KIND, key, now)
        number = known.value["number"] if known is not None else 0
        place = Place(f"{tenant}/scope-{name}-{number}", key, number)
        run = await host.store.log.run(place.run_id)
        if run is None and not (known is not None and known.value["made"]):
            return place
        if run is not None and run.status not in TERMINAL:
            raise already_active(run.run_id)
        after = {"number": number + 1, "made": False}
        await documents.put(KIND, key, after, now, expected=known.version if known else 0)
    raise Refusal("sayso.unavailable", "This scope changes too fast right now. Try again.")


async def made(host: Host, place: Place) -> None:
    """The run is there. Once its log is removed (retention), its number isn't used again."""
    now = host.clock()
    known = await host.store.documents.get(KIND, place.key, now)
    if known is None or known.value == {"number": place.number, "made": False}:
        value, expected = {"number": place.number, "made": True}, known.version if known else 0
        await host.store.documents.put(KIND, place.key, value, now, expected=expected)


def already_active(run_id: str) -> Refusal:
    """The refusal that names the run that is active."""
    return Refusal(
        "run_already_active", "A run of this scope is active: wait for its end.", runId=run_id
    )
