"""`sayso api-keys`: keys of programs that are kept in the store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from gateway.cli.store import configured, fail, now_ms, with_store
from gateway.stored_keys import make, record
from host.store.sqlite.beside import Beside
from schemas.api_keys import USUAL_SCOPES
from schemas.errors import Refusal

app = typer.Typer(help="API keys in the store: create, list, revoke.", no_args_is_help=True)
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]
Tenant = Annotated[str, typer.Option(help="Whose. The configuration's tenant if left out.")]
_LIFE = re.compile(r"([1-9]\d{0,4})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is called; its principal is key:NAME.")],
    tenant: Tenant = "",
    scope: Annotated[list[str] | None, typer.Option(help="Again for each scope.")] = None,
    expires: Annotated[str, typer.Option(help="90d, 12h, 4w. Left out: never.")] = "",
    config: Config = None,
) -> None:
    """Make a key and print it, this once. A running gateway takes it from the next request on."""
    settings = configured(config)
    life = life_ms(expires)

    async def work(store: Beside) -> int:
        scopes = scope or USUAL_SCOPES
        keys = store.api_keys
        _, text = await make(keys, name, tenant or settings.tenant, scopes, now_ms(), life)
        print(text)
        return 0

    with_store(settings, work, make=True)


@app.command("list")
def list_keys(tenant: Tenant = "", config: Config = None) -> None:
    """Show the keys, never what opens."""
    settings = configured(config)

    async def work(store: Beside) -> int:
        now = now_ms()
        table = Table("name", "status", "scopes", "created", "expires", "last used")
        for key in await store.api_keys.of(tenant or settings.tenant):
            shown = record(key, now)
            days = [shown.get(n, "")[:10] for n in ("createdAt", "expiresAt", "lastUsedOn")]
            table.add_row(key.key_id, shown["status"], " ".join(key.scopes), *days)
        Console(soft_wrap=True).print(table)
        return 0

    with_store(settings, work)


@app.command()
def revoke(name: str, tenant: Tenant = "", config: Config = None) -> None:
    """Let a key open nothing any more, from the next request on."""
    settings = configured(config)

    async def work(store: Beside) -> int:
        whose = tenant or settings.tenant
        if await store.api_keys.revoke(whose, name, now_ms()):
            return 0
        raise Refusal(
            "not_found", f"The tenant {whose} has no key {name}; `sayso api-keys list` shows them."
        )

    with_store(settings, work)


def life_ms(text: str) -> int | None:
    """`90d` as milliseconds; None for "". Ends the program for anything else."""
    if not text:
        return None
    found = _LIFE.fullmatch(text)
    if found is None:
        fail(f"--expires {text[:20]!r} is not a time like 90d, 12h or 4w.", 2)
    return int(found[1]) * _SECONDS[found[2]] * 1000
