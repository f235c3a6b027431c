"""Many runs, one after the other, on programs that go on running.

A run is a small load and one fault, both drawn from `seed` and the run's number. The load of a run is checked
when it is done, while later runs go on: faults meet all of it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp

from tests.acceptance.program import until
from tests.faults.checker import Checker
from tests.faults.faults import Fault, drawn
from tests.faults.load import STYLES, Case, Client, Play, Violation
from tests.faults.world import World

_CASES = 5  # of each run
_AT_ONCE = 8  # runs whose load or check is under way
_DRAWS = 60.0  # seconds a fault may last


@dataclass
class Report:
    """What a campaign did."""

    seed: int
    runs: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    cases: list[Case] = field(default_factory=list)
    failed_tries: int = 0
    slowest: tuple[float, str] = (
        0.0,
        "none",
    )  # seconds from the mending to the checked end, and which

    @property
    def acknowledged(self) -> int:
        return sum(len(case.won) for case in self.cases)

    def settled(self, seconds: float, what: str) -> None:
        """Note how long a run took to be right again."""
        self.slowest = max(self.slowest, (seconds, what))

    def __str__(self) -> str:
        drawn = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        return (
            f"seed {self.seed}: {self.runs} runs, {len(self.cases)} interrupts, "
            f"{self.acknowledged} acknowledged answers, {self.failed_tries} failed tries, "
            f"slowest to settle {self.slowest[0]:.1f} s ({self.slowest[1]}); {drawn}"
        )


class Campaign:
    """Runs on one world. `faults` narrows what is drawn."""

    def __init__(
        self,
        world: World,
        session: aiohttp.ClientSession,
        seed: int,
        faults: Sequence[Fault] = (),
    ) -> None:
        self._world = world
        self._session = session
        self._faults = faults
        self.report = Report(seed)

    async def run(self, runs: int, first: int = 0) -> Report:
        """Raises `Violation` that names the seed and the run."""
        plays: set[asyncio.Task[None]] = set()
        try:
            for number in range(first, first + runs):
                plays.add(await self._one(number))
                self.report.runs += 1
                plays = await _at_most(_AT_ONCE - 1, plays)
            await _at_most(0, plays)
            await self._at_the_end()
        finally:
            for play in plays:
                play.cancel()
            await asyncio.gather(*plays, return_exceptions=True)
        return self.report

    async def _one(self, number: int) -> asyncio.Task[None]:
        """Begin the load, do the harm in its middle, mend it. The task that is left plays to the end
        and checks."""
        seed = self.report.seed
        chance = random.Random(f"{seed}/{number}")
        fault = drawn(chance, self._faults)
        self.report.faults[fault.__name__] += 1
        cases = [Case(f"s{seed}-r{number}-c{n}", chance.choice(STYLES)) for n in range(_CASES)]
        self.report.cases += cases
        client = Client(self._session, self._world.key, lambda: self._world.urls)
        what = f"--seed {seed} --first {number} --runs 1 ({fault.__name__})"
        playing = asyncio.create_task(self._play(what, client, cases, random.Random(number)))
        begins = chance.randint(0, 3 * _CASES)
        await until(
            lambda: client.told >= begins or playing.done(), f"{begins} answers of {what}", _DRAWS
        )

        async def felt(failures: int) -> None:
            goal = client.failed + failures
            await until(
                lambda: client.failed >= goal or client.told >= 3 * _CASES or playing.done(),
                f"{failures} tries to fail or the load to be done, of {what}",
                _DRAWS,
            )

        try:
            await fault(self._world, chance, felt)
        except BaseException:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
            raise
        mended = time.monotonic()
        playing.add_done_callback(
            lambda _: self.report.settled(time.monotonic() - mended, what),
        )
        return playing

    async def _play(
        self, what: str, client: Client, cases: list[Case], chance: random.Random
    ) -> None:
        play = Play(client, chance)
        try:
            async with asyncio.TaskGroup() as group:
                for case in cases:
                    group.create_task(play.case(case))
            await Checker(self._world, client).cases(cases, chance)
        except BaseExceptionGroup as several:
            raise Violation(f"{what}: {several.exceptions[0]!r}") from several
        except Violation as violation:
            raise Violation(f"{what}: {violation}") from violation
        finally:
            self.report.failed_tries += client.failed

    async def _at_the_end(self) -> None:
        client = Client(self._session, self._world.key, lambda: self._world.urls)
        try:
            await Checker(self._world, client).nothing_was_made_twice(self.report.cases)
        except Violation as violation:
            raise Violation(f"--seed {self.report.seed}, at the end: {violation}") from violation


async def _at_most(count: int, plays: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Wait until no more than so many are under way; those. Raises what one of them found."""
    while True:
        over = {play for play in plays if play.done()}
        found = [error for play in over if (error := play.exception()) is not None]
        if found:
            raise found[0]
        plays = plays - over
        if len(plays) <= count:
            return plays
        await asyncio.wait(plays, return_when=asyncio.FIRST_COMPLETED)
