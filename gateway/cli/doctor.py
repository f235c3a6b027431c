"""`sayso doctor`: everything that can be checked, one line each. It changes nothing."""

from __future__ import annotations

import asyncio
from collections import Counter

from rich.console import Console

from config.settings import Settings
from gateway.doctor import configured, machine, services, slack
from gateway.doctor.finding import Finding

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def examine(settings: Settings) -> int:
    """Print each finding. Exit code 0 when nothing failed, else 1."""
    return show(asyncio.run(findings(settings)))


def show(found: list[Finding]) -> int:
    """Print findings and their sums. Exit code 0 when nothing failed, else 1."""
    console = Console(highlight=False, soft_wrap=True)
    for one in found:
        console.print(f"{one.level:4}", style=_STYLES[one.level], end="  ")
        console.print(f"{one.subject}: {one.sentence}", markup=False)
        if one.do:
            console.print(f"      {one.do}", markup=False)
    counts = Counter(one.level for one in found)
    print(f"{counts['ok']} ok, {counts['warn']} warnings, {counts['fail']} failures")
    return 1 if counts["fail"] else 0


async def findings(settings: Settings) -> list[Finding]:
    """Of all checks, in the order in which they are read."""
    found: list[Finding] = []
    for local in (
        machine.folder,
        machine.secrets,
        machine.database,
        machine.disk,
        configured.strength,
        configured.public_url,
        configured.wiring,
        configured.parts,
        configured.relaxed,
        configured.programs,
        configured.people,
    ):
        found.extend(local(settings))
    asked = (
        services.coordination,
        services.postgres,
        slack.slack_app,
        services.mail,
        services.running,
    )
    for part in await asyncio.gather(*(services.in_time(a(settings), a.__name__) for a in asked)):
        found.extend(part)
    return found
