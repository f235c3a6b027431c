"""The command `sayso`."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Coroutine
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from typer.core import TyperGroup

from config.settings import Settings, SettingsError, load, misspelt
from gateway.cli import operate

_GROUPS: Final = ("keys", "api-keys", "audit", "hooks", "slack", "mail", "db")


class _Commands(TyperGroup):
    """Ours and, by name, those of `gateway.cli.<name>`, which is imported when it is called: a start of
    the gateway pays for none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *_GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _GROUPS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"gateway.cli.{cmd_name.replace('-', '_')}")
        group = typer.main.get_group(module.app)
        group.name = cmd_name
        return group


app = typer.Typer(
    cls=_Commands,
    name="sayso",
    help="Carries a running program's question to the people who can answer it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (operate.doctor, operate.backup, operate.restore, operate.events):
    app.command()(command)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

Config = Annotated[
    Path | None, typer.Option("--config", "-c", help="A TOML file. Also SAYSO_CONFIG.")
]


@app.command()
def dev(
    config: Config = None,
    sample: Annotated[bool, typer.Option(help="Raise one sample approval.")] = True,
) -> None:
    """Start a gateway for development: everything embedded, one API key, a sample approval."""
    settings = _settings(config)
    gc.disable()  # what imports make is no garbage: looking through it would be a tenth of the start
    from gateway import logs
    from gateway.cli.serve import run_dev

    logs.configure(settings.log_level, pretty=True)
    _run(run_dev(settings, sample))


@app.command()
def serve(config: Config = None) -> None:
    """Start a gateway with a configuration file. Its API keys are those of the configuration."""
    settings = _settings(config)
    gc.disable()
    from gateway import logs
    from gateway.cli.serve import run_serve

    logs.configure(settings.log_level, pretty=False)
    _run(run_serve(settings))


@app.command()
def ask(
    title: Annotated[str, typer.Argument(help="What has to be decided.")],
    notify: Annotated[
        list[str] | None, typer.Option(help="slack:#ops, email:ada@example.com, web:")
    ] = None,
    approver: Annotated[list[str] | None, typer.Option(help="Who may decide.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds until it expires.")] = None,
) -> None:
    """Ask for an approval and wait. Exit code 0 when approved, 1 when not."""
    from gateway.cli.ask import ask_and_wait

    raise typer.Exit(ask_and_wait(title, notify, approver, timeout))


@app.command()
def certify(config: Config = None) -> None:
    """Print the certification document: what is served, and every relaxed obligation with its reason."""
    from gateway.certification import document

    print(json.dumps(document(_settings(config)), indent=2))


@app.command("hash-key")
def hash_key(key: Annotated[str, typer.Option(prompt=True, hide_input=True)]) -> None:
    """Print the digest of an API key, for the `api_keys` of the configuration."""
    from gateway.auth import digest

    if len(key) < 24:
        errors.print("[red]An API key has at least 24 characters. Make one with a generator.[/red]")
        raise typer.Exit(2)
    print(digest(key))


def _settings(config: Path | None) -> Settings:
    for said in misspelt():
        errors.print(said, style="yellow", markup=False)
    try:
        return load(config)
    except SettingsError as error:
        errors.print(str(error), style="red", markup=False)
        raise typer.Exit(2) from None


def _run(work: Coroutine[Any, Any, int]) -> None:
    _fewer_collections()
    try:
        import uvloop
    except ImportError:
        code = asyncio.run(work)
    else:
        code = uvloop.run(work)
    if code:
        raise typer.Exit(code)


def _fewer_collections() -> None:
    """What the imports have made stays; a gateway's own values are frozen records without cycles, which
    counting frees at once. So the collector looks rarely."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def main() -> None:
    """Entry point of the console script."""
    app()


if __name__ == "__main__":
    main()
