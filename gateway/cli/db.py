"""`sayso db`: the schema of the store."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from config.settings import Settings
from gateway import stores
from gateway.cli.store import configured, fail
from gateway.listening import StartError, sole
from host.store.records import StoreUnavailable

app = typer.Typer(help="The store's schema: show it, upgrade it.", no_args_is_help=True)
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]


@app.command()
def status(config: Config = None) -> None:
    """Show the schema that the store has. Changes nothing. Exit code 1 when it is not this program's."""
    found, known = _run(stores.schema(configured(config)))
    print(f"schema {found}, this Sayso knows {known}")
    if found != known:
        raise typer.Exit(1)


@app.command()
def upgrade(config: Config = None) -> None:
    """Bring the store up to date, as the start of a gateway does. Back up first: an older Sayso can't start
    on it afterwards. With PostgreSQL gateways may run meanwhile; with SQLite none may."""
    settings = configured(config)
    before, after = _run(_upgrade(settings))
    print(f"schema {before} -> {after}" if before != after else f"schema {after}, nothing to do")


async def _upgrade(settings: Settings) -> tuple[int, int]:
    embedded = not settings.store.url.get_secret_value()
    if embedded:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with sole(settings.data_dir) if embedded else nullcontext():
        before, _ = await stores.schema(settings)
        store = stores.choose(settings)
        await store.start()
        await store.stop()
        after, _ = await stores.schema(settings)
    return before, after


def _run(work: Coroutine[Any, Any, tuple[int, int]]) -> tuple[int, int]:
    try:
        return asyncio.run(work)
    except (StartError, StoreUnavailable, ValueError, OSError) as error:
        fail(str(error), 1)
