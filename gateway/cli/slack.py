"""`sayso slack`: the app's manifest, who may install it, and what is wrong with it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.settings import Settings
from gateway import channels
from gateway.cli.store import configured, fail, open_beside
from gateway.secrets import own_secrets
from host.store.records import StoreUnavailable

if TYPE_CHECKING:
    from adapters.slack.installations import Installation
    from gateway.doctor.finding import Finding

app = typer.Typer(help="The Slack app: its manifest, its installations.", no_args_is_help=True)
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]


@app.command()
def manifest(
    socket: Annotated[
        bool | None,
        typer.Option("--socket/--http", help="How Slack reaches us. Else as configured."),
    ] = None,
    oauth: Annotated[
        bool | None,
        typer.Option("--oauth/--one-workspace", help="For several workspaces. Else as configured."),
    ] = None,
    url: Annotated[str, typer.Option(help="The https address. Else http.public_url.")] = "",
    name: Annotated[str, typer.Option(help="What the app is called in Slack.")] = "Sayso",
    config: Config = None,
) -> None:
    """Print the app's manifest. Paste it at api.slack.com/apps: Create New App, From a manifest, JSON."""
    from adapters.slack import manifest as made

    settings = configured(config)
    slack = settings.slack
    public = (url or settings.http.public_url).rstrip("/")
    by_socket = socket if socket is not None else slack.app_token is not None or not public
    several = oauth if oauth is not None else bool(slack.client_id)
    if not 1 <= len(name) <= 35:
        fail("--name has 1 to 35 characters: Slack takes no longer one.", 2)
    try:
        print(
            json.dumps(made.manifest(public, socket=by_socket, oauth=several, name=name), indent=2)
        )
    except ValueError as error:
        fail(f"{error}.", 2)


@app.command()
def doctor(
    post: Annotated[
        str, typer.Option(help="Post a test card there: '#ops', 'C0123', '@U0123'.")
    ] = "",
    config: Config = None,
) -> None:
    """Check tokens, scopes, the signing secret, the socket, channels and user groups, and say what to do.

    Exit code 1 when something fails.
    """
    from gateway.cli.doctor import show

    settings = configured(config)
    code = show(asyncio.run(_examined(settings, post.removeprefix("slack:"))))
    if code:
        raise typer.Exit(code)


@app.command("install-link")
def install_link(config: Config = None) -> None:
    """Print a link that installs the app in one workspace. It is good once, for an hour."""
    from adapters.slack.install import PATH, ticket

    settings = configured(config)
    if not settings.slack.client_id:
        fail("Set SLACK_CLIENT_ID and SLACK_CLIENT_SECRET first (Basic Information).", 2)
    try:
        base = settings.http.public_url or (settings.data_dir / "url").read_text().strip()
        secret = own_secrets(settings.data_dir).forms
    except (OSError, ValueError) as error:
        fail(f"Start the gateway once, and set http.public_url. ({type(error).__name__})", 1)
    print(f"{base}{PATH}?ticket={ticket(secret.encode())}")


@app.command()
def installations(config: Config = None) -> None:
    """List where the app is installed."""
    settings = configured(config)
    found = asyncio.run(_installed(settings))
    for one in found:
        until = "does not expire"
        if one.expires_at:
            until = "token until " + time.strftime("%F %H:%M", time.gmtime(one.expires_at / 1000))
        kind = "organisation" if one.is_org else "workspace"
        print(f"{one.key}  {one.name}  {kind}, {until}")
    if not found:
        print("Nowhere yet. `sayso slack install-link` prints the link to begin with.")


async def _examined(settings: Settings, post: str) -> list[Finding]:
    from gateway.doctor import slack

    installed = await _installed(settings) if settings.slack.client_id else []
    tokens = [(one.name or one.key, one.token) for one in installed]
    return [finding async for finding in slack.everything(settings, tokens, post)]


async def _installed(settings: Settings) -> list[Installation]:
    """Ends the program when the store can't be read."""
    from adapters.slack.installations import Installations
    from host.sealing import Sealer

    if not (settings.data_dir / "secrets.json").exists():
        return []  # nothing has run yet
    try:
        sealer = Sealer(channels.sealing(settings, own_secrets(settings.data_dir).links))
        async with open_beside(settings) as store:
            kept = Installations(store.documents, sealer, lambda: time.time_ns() // 1_000_000)
            return await kept.all()
    except (StoreUnavailable, ValueError, OSError) as error:
        fail(str(error), 1)
