"""`sayso keys`: the signing keys of interrupt tokens."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from config.settings import SettingsError, load
from gateway.keyring import Keyring, KeyringError, KeyringFile

app = typer.Typer(help="Signing keys of tokens: add, promote, retire.", no_args_is_help=True)
errors = Console(stderr=True, highlight=False)
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]


@app.command("list")
def list_keys(config: Config = None) -> None:
    """Show the keys, never their secrets."""
    keyring = _file(config).read()
    table = Table("kid", "state", "added")
    for kid, key in keyring.keys.items():
        state = "signs" if kid == keyring.current else "verifies"
        if key.until is not None:
            state = f"retired, verifies until {_day(key.until)}"
        table.add_row(kid, state, _day(key.added))
    Console().print(table)


@app.command()
def add(config: Config = None) -> None:
    """Make a new key that verifies; promote it when every replica has it."""
    file = _file(config)
    keyring, kid = file.read().add(_now())
    file.write(keyring)
    print(kid)


@app.command()
def promote(kid: str, config: Config = None) -> None:
    """Sign with this key from now on."""
    _change(config, lambda ring: ring.promote(kid))


@app.command()
def retire(kid: str, config: Config = None) -> None:
    """Let a key verify until its last token has expired, and no longer."""
    _change(config, lambda ring: ring.retire(kid, _now()))


def _change(config: Path | None, change: object) -> None:
    file = _file(config)
    assert callable(change)
    try:
        changed: Keyring = change(file.read())
    except KeyringError as error:
        errors.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from None
    file.write(changed)


def _file(config: Path | None) -> KeyringFile:
    try:
        return KeyringFile(load(config).data_dir)
    except SettingsError as error:
        errors.print(str(error), style="red", markup=False)
        raise typer.Exit(2) from None


def _now() -> int:
    return time.time_ns() // 1_000_000


def _day(ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(ms / 1000))
