"""Two hundred seeded runs: a small load and one fault each, on programs that go on running.

A failure names the seed and the run; `python -m tests.faults --seed …` plays it again. SAYSO_FAULT_SEED and
SAYSO_FAULT_RUNS choose others.
"""

from __future__ import annotations

import os
import secrets

import aiohttp
import pytest

from tests.faults.campaign import Campaign
from tests.faults.faults import FAULTS
from tests.faults.world import World

pytestmark = pytest.mark.faults

RUNS = int(os.environ.get("SAYSO_FAULT_RUNS", "200"))


async def test_whatever_fails_what_was_acknowledged_is_there_once(
    world: World, session: aiohttp.ClientSession
) -> None:
    seed = int(os.environ.get("SAYSO_FAULT_SEED") or secrets.randbits(32))
    campaign = Campaign(world, session, seed)
    try:
        report = await campaign.run(RUNS)
    finally:
        print(campaign.report)
    assert report.runs == RUNS
    assert report.acknowledged >= RUNS  # the load was one
    assert report.failed_tries > 0  # the faults were felt
    if RUNS >= 200:
        assert len(report.faults) == len(FAULTS)
