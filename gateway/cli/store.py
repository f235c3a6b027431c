"""The store as commands use it: beside a gateway that may be running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console

from config.settings import Settings, SettingsError, load
from gateway import stores
from host.store.records import StoreUnavailable
from host.store.sqlite.beside import Beside, beside
from schemas.errors import Refusal

errors = Console(stderr=True, highlight=False, soft_wrap=True)


@asynccontextmanager
async def open_beside(settings: Settings, *, make: bool = False) -> AsyncIterator[Beside]:
    """The parts of the configured store that a command may use. An older schema is not migrated; `make`
    says whether an empty PostgreSQL database gets its tables. Raises `StoreUnavailable`, `ValueError`."""
    if not settings.store.url.get_secret_value():
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        async with beside(settings.data_dir / "sayso.db") as found:
            yield found
        return
    store = stores.postgres(settings)  # any number of processes may use this one
    await store.start_beside(make=make)
    try:
        yield Beside(
            store.api_keys,
            store.feed,
            store.audit,
            store.shelf,
            store.documents,
            store.log.interrupt,
        )
    finally:
        await store.stop()


def configured(config: Path | None) -> Settings:
    """The settings, or the end of the program with every mistake."""
    try:
        return load(config)
    except SettingsError as error:
        fail(str(error), 2)


def with_store(
    settings: Settings, work: Callable[[Beside], Awaitable[int]], *, make: bool = False
) -> None:
    """Run `work` on the store, and end the program with its exit code. `make` as in `open_beside`."""

    async def run() -> int:
        async with open_beside(settings, make=make) as store:
            return await work(store)

    try:
        code = asyncio.run(run())
    except Refusal as refusal:
        fail(refusal.message, 1)
    except (StoreUnavailable, ValueError, OSError) as error:
        fail(str(error), 1)
    except KeyboardInterrupt:
        code = 130
    if code:
        raise typer.Exit(code)


def fail(sentence: str, code: int) -> NoReturn:
    """Say why, and end the program."""
    errors.print(sentence, style="red", markup=False)
    raise typer.Exit(code) from None


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
