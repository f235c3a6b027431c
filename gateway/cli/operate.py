"""What an operator does beside a gateway: examine, back up, restore, read the log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from config.settings import SettingsError, load
from gateway.cli.store import configured, fail

Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]


def doctor(config: Config = None) -> None:
    """Check everything that can be checked, and say what to do. Exit code 1 when something fails."""
    from gateway.cli.doctor import examine

    try:
        settings = load(config)
    except SettingsError as error:
        Console(highlight=False, soft_wrap=True).print(f"fail  {error}", markup=False)
        raise typer.Exit(1) from None
    code = examine(settings)
    if code:
        raise typer.Exit(code)


def backup(
    file: Annotated[Path, typer.Argument(help="Where to write it. It must not exist yet.")],
    config: Config = None,
) -> None:
    """Copy database, secrets and token keys into one file, while the gateway runs. It is a secret."""
    from gateway.backup import BackupError
    from gateway.backup import backup as write

    settings = configured(config)
    _embedded(settings.store.url.get_secret_value())
    try:
        manifest = write(settings.data_dir, file)
    except BackupError as error:
        fail(str(error), 1)
    print(f"{file}: {', '.join(manifest['parts'])}. Keep it where only you can read it.")


def restore(
    file: Annotated[Path, typer.Argument(help="What `sayso backup` wrote.")],
    config: Config = None,
) -> None:
    """Fill an empty data folder from a backup."""
    from gateway.backup import BackupError
    from gateway.backup import restore as fill

    settings = configured(config)
    _embedded(settings.store.url.get_secret_value())
    try:
        manifest = fill(file, settings.data_dir)
    except BackupError as error:
        fail(str(error), 1)
    print(f"{settings.data_dir} is as it was at {manifest['madeAt']}.")


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    run: Annotated[str, typer.Option(help="Only this run.")] = "",
    tenant: Annotated[str, typer.Option(help="Only this tenant.")] = "",
    form: Annotated[
        Literal["text", "jsonl"], typer.Option("--format", help="jsonl has everything.")
    ] = "text",
    url: Annotated[
        str, typer.Option(help="Ask a gateway (with SAYSO_API_KEY) instead of its store.")
    ] = "",
    config: Config = None,
) -> None:
    """Print events: all that there are, in order, and with --follow those that come."""
    from gateway.cli.events import Wanted, print_from_gateway, print_from_store

    wanted = Wanted(follow, run, tenant, form)
    if url:
        print_from_gateway(wanted, url)
        return
    settings: Any = configured(config)
    print_from_store(wanted, settings)


def _embedded(url: str) -> None:
    if url:
        fail(
            "The store is PostgreSQL: back it up with pg_dump, and copy the data folder's files.", 2
        )
