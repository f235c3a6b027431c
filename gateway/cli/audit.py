"""`sayso audit`: who asked, voted, decided and cancelled, exported and verified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import orjson
import typer
from rich.console import Console

from gateway.cli.store import configured, fail, with_store
from host.audit import Entry, Flaw, compare, fact_of, verify
from host.decisions.state import iso
from host.store.sqlite.beside import Beside

app = typer.Typer(help="The audit trail: export, verify.", no_args_is_help=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]
Tenant = Annotated[str, typer.Option(help="Whose. All tenants if left out.")]

_PAGE: Final = 1000
_MOST_SHOWN: Final = 20


@app.command()
def export(tenant: Tenant = "", config: Config = None) -> None:
    """Print entries as JSON, one a line, oldest first. The last hash goes to standard error."""
    settings = configured(config)

    async def work(store: Beside) -> int:
        for name in [tenant] if tenant else await store.audit.tenants():
            last: Entry | None = None
            async for last in _entries(store, name):
                print(orjson.dumps({**asdict(last), "at": iso(last.at)}).decode())
            if last is not None:
                errors.print(f"{name} ends with {last.number}:{last.hash}", markup=False)
        return 0

    with_store(settings, work)


@app.command("verify")
def verify_trail(
    tenant: Tenant = "",
    head: Annotated[
        str, typer.Option(help="NUMBER:HASH that the chain had (needs --tenant).")
    ] = "",
    config: Config = None,
) -> None:
    """Find a changed, missing, added or reordered entry. Exit code 1 when there is one."""
    settings = configured(config)
    pinned = _pinned(head, tenant)

    async def work(store: Beside) -> int:
        flawed = False
        facts = await _facts(store)
        for name in [tenant] if tenant else sorted({*facts, *await store.audit.tenants()}):
            entries = [entry async for entry in _entries(store, name)]
            flaws = [
                *verify(name, entries),
                *_against(pinned, entries),
                *compare(entries, facts.get(name, ())),
            ]
            for flaw in flaws[:_MOST_SHOWN]:
                errors.print(f"{name}: {flaw.sentence}", style="red", markup=False)
            if len(flaws) > _MOST_SHOWN:
                errors.print(f"{name}: {len(flaws) - _MOST_SHOWN} more", markup=False)
            if not flaws:
                end = f", ends with {entries[-1].number}:{entries[-1].hash}" if entries else ""
                print(f"{name}: {len(entries)} entries, whole{end}")
            flawed = flawed or bool(flaws)
        return 1 if flawed else 0

    with_store(settings, work)


def _pinned(head: str, tenant: str) -> tuple[int, str] | None:
    if not head:
        return None
    number, _, digest = head.partition(":")
    if not tenant or not number.isdecimal() or len(number) > 18 or len(digest) != 64:
        fail("--head is NUMBER:HASH, as `sayso audit export` says, and needs --tenant.", 2)
    return int(number), digest


def _against(pinned: tuple[int, str] | None, entries: list[Entry]) -> list[Flaw]:
    """What a head that was written down elsewhere says: the one thing that nobody here can rewrite."""
    if pinned is None:
        return []
    number, digest = pinned
    found = next((e.hash for e in entries if e.number == number), None)
    if found is None:
        return [Flaw(number, f"entry {number} is missing: the end was cut off")]
    return [] if found == digest else [Flaw(number, f"entry {number} is not the one written down")]


async def _entries(store: Beside, tenant: str) -> AsyncIterator[Entry]:
    after = 0
    while page := await store.audit.entries(tenant, after, _PAGE):
        for entry in page:
            yield entry
        after = max(entry.number for entry in page)


async def _facts(store: Beside) -> dict[str, list[Entry]]:
    """By tenant, what the trail must know: of the log up to the trail's position, and no further."""
    until, after = await store.audit.position(), 0
    found: dict[str, list[Entry]] = defaultdict(list)
    while page := await store.feed.read(after, _PAGE):
        for commit in page:
            if commit.position > until:
                return found
            for fact in map(fact_of, commit.events):
                if fact is not None:
                    found[fact.tenant].append(fact)
        after = page[-1].position
    return found
