"""`python -m tests.faults --runs 5000 --seed 7`: as many runs as one likes, by hand."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import tempfile
import time
from pathlib import Path

import aiohttp

from tests.faults.campaign import Campaign
from tests.faults.faults import FAULTS
from tests.faults.world import World


async def main() -> None:
    known = {fault.__name__: fault for fault in FAULTS}
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    parser.add_argument("--seed", type=int, default=None, help="drawn when left out")
    parser.add_argument("--fault", action="append", choices=sorted(known), help="only this; again")
    chosen = parser.parse_args()
    seed = secrets.randbits(32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    faults = [known[name] for name in chosen.fault or ()]
    with tempfile.TemporaryDirectory(prefix="sayso-faults-") as folder:
        world = World(Path(folder))
        try:
            await world.start()
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
                campaign = Campaign(world, session, seed, faults)
                began = time.monotonic()
                try:
                    print(await campaign.run(chosen.runs, chosen.first))
                except BaseException:
                    print(f"until then: {campaign.report}")
                    for replica in world.replicas:
                        print("\n".join(replica.program.lines[-40:]))
                    raise
                finally:
                    print(f"{time.monotonic() - began:.0f} s")
        finally:
            await world.stop()


if __name__ == "__main__":
    asyncio.run(main())
