"""The port of pickers' options, and the check of an answer against them.

The options of a picker stay with whoever has them: the gateway asks a source that its operator configured,
while a person searches and once more before an answer counts. A picker without a source takes any option:
then only the asking program can judge it (kortyx: requests).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from host.decisions.picking import picks
from host.decisions.state import Interrupt
from schemas.errors import Refusal


@dataclass(frozen=True, slots=True)
class OfferedOption:
    """One option of a picker, as a person reads it. `id` is what the answer holds."""

    id: str
    label: str
    description: str = ""


class OptionsUnavailable(Exception):
    """The source of a picker did not answer, or not as it should. The text is for the log."""


class Options(Protocol):
    """The pickers that have a source here."""

    def known(self, picker: str) -> bool: ...

    async def search(self, picker: str, tenant: str, query: str, limit: int) -> list[OfferedOption]:
        """The best matches of what was typed; "" for the first ones. Raises `OptionsUnavailable`."""

    async def missing(self, picker: str, tenant: str, ids: Collection[str]) -> set[str]:
        """Those of `ids` that are no options now. Raises `OptionsUnavailable`."""


async def check_picked(options: Options, interrupt: Interrupt, value: object) -> None:
    """Refuse an answer with something in it that its picker doesn't have.

    Raises `Refusal`: `validation_error` with `details.errors`; `sayso.unavailable` when a source can't be
    asked: an answer that can't be checked is not taken.
    """
    schema = interrupt.payload.get("resumeSchema")
    if schema is None:
        return
    found = [pick for pick in picks(schema, value) if options.known(pick.picker)]
    errors = []
    for picker in dict.fromkeys(pick.picker for pick in found):
        asked = {pick.option for pick in found if pick.picker == picker}
        try:
            gone = await options.missing(picker, interrupt.tenant, asked)
        except OptionsUnavailable:
            raise Refusal(
                "sayso.unavailable",
                "The choices can't be looked up right now, so nothing was recorded. Try again.",
            ) from None
        for pick in found:
            if pick.picker == picker and pick.option in gone:
                message = "is not one of the choices any more: pick another one"
                errors.append({"path": list(pick.path), "message": message})
    if errors:
        where = ".".join(str(step) for step in errors[0]["path"]) or "the answer"
        raise Refusal("validation_error", f"{where} {errors[0]['message']}.", errors=errors[:20])
