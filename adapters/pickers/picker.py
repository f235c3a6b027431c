"""Pickers: options by source, read, searched, kept for a while, and asked for once more before they count.

A search may be answered from what was kept; whether an answer's option exists is always asked anew.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import structlog

from adapters.pickers.sources import Asked, Source
from host.options import OfferedOption, OptionsUnavailable

log = structlog.get_logger(__name__)

MOST_LISTED: Final = 5_000
MOST_KEPT: Final = 256
LONGEST_ID: Final = 512
LONGEST_QUERY: Final = 200
_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class Picker:
    """One source, and how its answers are read. `mapping` is the operator's expression, compiled."""

    source: Source
    search: Literal["source", "here"] = "source"
    cache_seconds: float = 30.0
    mapping: Callable[[Any], Any] | None = None


class Pickers:
    """Implements `host.options.Options`. `clock` gives seconds that only rise."""

    def __init__(
        self, pickers: Mapping[str, Picker], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pickers = dict(pickers)
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str, str], tuple[float, list[OfferedOption]]] = (
            OrderedDict()
        )
        self._running: dict[tuple[str, str, str], asyncio.Task[list[OfferedOption]]] = {}

    def known(self, picker: str) -> bool:
        return picker in self._pickers

    async def search(self, picker: str, tenant: str, query: str, limit: int) -> list[OfferedOption]:
        one = self._pickers[picker]
        typed = " ".join(query.split())[:LONGEST_QUERY]
        if one.search == "here":
            whole = await self._listed(picker, Asked(tenant, "", MOST_LISTED))
            return matching(whole, typed)[:limit]
        return (await self._listed(picker, Asked(tenant, typed, limit)))[:limit]

    async def missing(self, picker: str, tenant: str, ids: Collection[str]) -> set[str]:
        one = self._pickers[picker]
        wanted = tuple(sorted(ids))
        asked = Asked(tenant, ids=wanted)
        if one.search == "here":
            asked = Asked(tenant, "", MOST_LISTED)
        there = {option.id for option in await self._fetch(picker, asked)}
        return set(wanted) - there

    async def _listed(self, picker: str, asked: Asked) -> list[OfferedOption]:
        """From what was kept, else asked once however many want it now."""
        key = (picker, asked.tenant, f"{asked.limit} {asked.q.casefold()}")
        kept = self._kept.get(key)
        if kept is not None and self._clock() < kept[0]:
            self._kept.move_to_end(key)
            return kept[1]
        running = self._running.get(key)
        if running is None:
            running = asyncio.create_task(self._ask(key, picker, asked))
            self._running[key] = running
            running.add_done_callback(lambda task: self._settle(key, task))
        # Shielded: one who gives up must not take the answer from the others.
        return await asyncio.shield(running)

    def _settle(self, key: tuple[str, str, str], task: asyncio.Task[list[OfferedOption]]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # looked at, for the case that everybody who waited has gone

    async def _ask(
        self, key: tuple[str, str, str], picker: str, asked: Asked
    ) -> list[OfferedOption]:
        found = await self._fetch(picker, asked)
        self._kept[key] = (self._clock() + self._pickers[picker].cache_seconds, found)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found

    async def _fetch(self, picker: str, asked: Asked) -> list[OfferedOption]:
        one = self._pickers[picker]
        try:
            raw = await one.source.fetch(asked)
            return read_options(raw if one.mapping is None else one.mapping(raw))
        except OptionsUnavailable as away:
            log.warning("picker unavailable", picker=picker, reason=str(away))
            raise


def read_options(raw: Any) -> list[OfferedOption]:
    """The options in a source's answer: a list, or an object with one in `options`. Each is an object with
    an `id` (and a `label`, a `description`), or a string. What is none is left out, and so is the second
    one of an id. Raises `OptionsUnavailable` when there is no list."""
    rows = raw.get("options") if isinstance(raw, dict) else raw
    if not isinstance(rows, list):
        raise OptionsUnavailable("its answer is no list of options")
    found: dict[str, OfferedOption] = {}
    for row in rows[:MOST_LISTED]:
        one = _option(row)
        if one is not None:
            found.setdefault(one.id, one)
    return list(found.values())


def _option(row: Any) -> OfferedOption | None:
    if isinstance(row, str):
        row = {"id": row}
    if not isinstance(row, dict):
        return None
    name = row.get("id")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_ID:
        return None
    label, about = row.get("label"), row.get("description")
    return OfferedOption(
        name,
        label[:_TEXT] if isinstance(label, str) and label.strip() else name[:_TEXT],
        about[:_TEXT] if isinstance(about, str) else "",
    )


def matching(options: list[OfferedOption], typed: str) -> list[OfferedOption]:
    """Those that have every word that was typed; the ones whose label begins with it come first."""
    words = typed.casefold().split()
    if not words:
        return options
    found = [
        one
        for one in options
        if all(word in f"{one.label} {one.id} {one.description}".casefold() for word in words)
    ]
    first = typed.casefold()
    return sorted(found, key=lambda one: not one.label.casefold().startswith(first))
