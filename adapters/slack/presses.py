"""A press of somebody of whom Slack has to be asked: kept, acknowledged, and decided when it is known.

Slack waits three seconds for the acknowledgement, and may take longer to say who pressed. So a press that is
not decided at once is written down, then acknowledged, and tried until Slack answers. The person is told
that it is kept, and in the end why it did not count, if it did not. One that its gateway can't finish
(it was stopped or killed) is taken over by whichever looks next; the press's own key makes it count once.

There is one for a person and a request: who presses another button meanwhile has changed their mind.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Protocol

from adapters.languages.catalogue import Words
from adapters.slack.inflight import InFlight
from adapters.slack.press import Press, dump, load
from adapters.slack.receive import Place
from adapters.views import Person, Receipt
from host.store.documents import Document, Documents
from host.store.records import StoreUnavailable

_log = logging.getLogger(__name__)

KIND: Final = "slack.press"
GRACE: float = 0.05  # seconds that a press may take before it is written down
KNOWN_GRACE: float = 1.0  # the same for somebody of whom Slack need not be asked
LEASE_MS: Final = 10_000  # longer than one try takes
PATIENCE_MS: Final = 600_000
LOOK_SECONDS: float = 5.0
DELAYS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
_AWAY: Final = "sayso.unavailable"
_PAGE: Final = 100
_PAGES: Final = 20  # looked at in one round


class Side(Protocol):
    """The workspace that a press came to."""

    async def decide(self, press: Press) -> Receipt:
        """Answer with it. Never raises `Refusal`."""

    async def note(self, place: Place, sentence: str) -> None:
        """Tell one person, and nobody else."""

    async def words(self, person: Person) -> Words:
        """The words for somebody."""


Sides = Callable[[tuple[str, ...]], Awaitable[Side | None]]
"""The workspace of these ids (see `origin`), or None where the app is not installed any more."""


class Presses:
    """Of all workspaces. `clock` gives milliseconds; `known` says of whom Slack need not be asked now."""

    def __init__(
        self,
        documents: Documents,
        clock: Callable[[], int],
        inflight: InFlight,
        known: Callable[[str], bool],
    ) -> None:
        self._documents = documents
        self._clock = clock
        self._inflight = inflight
        self._known = known
        self._stopping = asyncio.Event()

    async def take(self, press: Press, side: Side) -> None:
        """Returns when it is decided, or kept."""
        trying = asyncio.ensure_future(side.decide(press))
        grace = KNOWN_GRACE if self._known(press.person.id) else GRACE
        done, _ = await asyncio.wait({trying}, timeout=grace)
        if done and trying.result().code != _AWAY:
            await self._tell(press, trying.result(), side)
            return
        try:
            version = await self._put(press, self._clock() + LEASE_MS)
        except StoreUnavailable:
            await self._tell(press, await trying, side)
            return
        assert version is not None
        self._inflight.start(self._see_to(press, version, side, trying))

    async def watch(self, sides: Sides) -> None:
        """Take over what others left, for ever."""
        while True:
            try:
                await self.take_over(sides)
            except StoreUnavailable:
                _log.info("slack: presses that were kept could not be looked at")
            except Exception:
                _log.exception("slack: presses that were kept could not be taken over")
            await asyncio.sleep(LOOK_SECONDS)

    async def take_over(self, sides: Sides) -> None:
        """Once. Raises `StoreUnavailable`."""
        after = ""
        for _ in range(_PAGES):
            found = await self._documents.list(KIND, self._clock(), after=after, limit=_PAGE)
            for document in found:
                await self._take_over(document, sides)
            if len(found) < _PAGE:
                return
            after = found[-1].key

    async def _take_over(self, document: Document, sides: Sides) -> None:
        press = load(document.value)
        if press is None or document.value.get("until", 0) > self._clock():
            return
        side = await sides(press.origin)
        if side is None:
            return
        until = self._clock() + LEASE_MS
        version = await self._put(press, until, expected=document.version)
        if version is not None:
            self._inflight.start(self._see_to(press, version, side, side.decide(press)))

    def stop(self) -> None:
        """Hand back what waits."""
        self._stopping.set()

    async def _see_to(
        self, press: Press, version: int, side: Side, trying: Awaitable[Receipt]
    ) -> None:
        """Try until it is decided, somebody else has it, or the time is over."""
        for number, delay in enumerate(self._delays(press)):
            receipt = await trying
            if receipt.code != _AWAY:
                break
            if number == 0:
                await side.note(press.place, (await side.words(press.person))("slack.kept"))
            until = self._clock() + round(delay * 1000) + LEASE_MS
            if (extended := await self._extended(press, version, until)) is None:
                return
            version = extended
            if await self._stopped(delay):
                await self._extended(press, version, 0)
                return
            if not await self._is_ours(press, version):
                return
            trying = side.decide(press)
        else:
            receipt = await trying
        await self._over(press, version)
        await self._tell(press, receipt, side)

    def _delays(self, press: Press) -> Iterator[float]:
        """The seconds between two tries, while there is time."""
        number = 0
        while (delay := DELAYS[min(number, len(DELAYS) - 1)]) and (
            self._clock() + delay * 1000 < press.since + PATIENCE_MS
        ):
            yield delay
            number += 1

    async def _tell(self, press: Press, receipt: Receipt, side: Side) -> None:
        if not receipt.ok:
            self._inflight.start(side.note(press.place, receipt.message))

    async def _stopped(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _extended(self, press: Press, version: int, until: int) -> int | None:
        """The new version; None when it is somebody else's, or another button was pressed."""
        try:
            return await self._put(press, until, expected=version)
        except StoreUnavailable:
            return version

    async def _is_ours(self, press: Press, version: int) -> bool:
        try:
            found: Document | None = await self._documents.get(KIND, _key(press), self._clock())
        except StoreUnavailable:
            return True
        return found is not None and found.version == version

    async def _over(self, press: Press, version: int) -> None:
        try:
            await self._documents.delete(KIND, _key(press), expected=version)
        except StoreUnavailable:
            _log.info("slack: a press that is decided is still kept; it will be seen to again")

    async def _put(self, press: Press, until: int, expected: int | None = None) -> int | None:
        return await self._documents.put(
            KIND,
            _key(press),
            {**dump(press), "until": until},
            self._clock(),
            expected=expected,
            expires_at=press.since + PATIENCE_MS + LEASE_MS,
        )


def _key(press: Press) -> str:
    """One for a person and a request. Ids of requests may be long."""
    request = hashlib.sha256(press.interrupt_id.encode()).hexdigest()[:32]
    return f"{press.person.id}|{request}"
