"""The command `sayso`."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from config.settings import Settings, SettingsError, load
from gateway import logs
from gateway.cli import api_keys, audit, db, hooks, keys, mail, operate, slack

app = typer.Typer(
    name="sayso",
    help="Carries a running program's question to the people who can answer it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(keys.app, name="keys")
app.add_typer(api_keys.app, name="api-keys")
app.add_typer(audit.app, name="audit")
app.add_typer(hooks.app, name="hooks")
app.add_typer(slack.app, name="slack")
app.add_typer(mail.app, name="mail")
app.add_typer(db.app, name="db")
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
    from gateway.cli.serve import run_dev

    settings = _settings(config)
    logs.configure(settings.log_level, pretty=True)
    _run(run_dev(settings, sample))


@app.command()
def serve(config: Config = None) -> None:
    """Start a gateway with a configuration file. Its API keys are those of the configuration."""
    from gateway.cli.serve import run_serve

    settings = _settings(config)
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
    """Print the digest of an API key, for `[[api_keys]]` in the configuration."""
    from gateway.auth import digest

    if len(key) < 24:
        errors.print("[red]An API key has at least 24 characters. Make one with a generator.[/red]")
        raise typer.Exit(2)
    print(digest(key))


def _settings(config: Path | None) -> Settings:
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
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def main() -> None:
    """Entry point of the console script."""
    app()


if __name__ == "__main__":
    main()
