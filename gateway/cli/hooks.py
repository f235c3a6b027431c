"""`sayso hooks`: webhook sources, tried out before a provider is told of them."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from config.settings import Settings
from gateway import channels
from gateway.cli.store import configured, fail, open_beside
from host.decisions.request import match_key
from host.store.records import StoreUnavailable

if TYPE_CHECKING:
    from adapters.channel import InboundEvent
    from adapters.webhooks.settings import HookSource
    from adapters.webhooks.verify import Arrival

app = typer.Typer(help="Webhook sources: try one out.", no_args_is_help=True)
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]

_MOST_SHOWN: Final = 20


@app.callback()
def _hooks() -> None:
    """Webhook sources: try one out."""


@app.command("test")
def try_out(
    source: Annotated[str, typer.Argument(help="The name of a source: [hooks.<name>].")],
    file: Annotated[Path, typer.Argument(help="A sample body, as the provider's page shows it.")],
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="'X-GitHub-Event: push'")
    ] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Leave the signature out; show the rest, unverified.")
    ] = False,
    config: Config = None,
) -> None:
    """Sign a sample as the provider would, and show its verification, its mapping and whom it would answer.

    Where only the provider can sign, --unsigned shows the rest. Nothing is stored and nobody is answered.
    Exit code 1 when the sample can't be signed, or the event would not be mapped.
    """
    from adapters.webhooks.verify import Arrival

    settings = configured(config)
    try:
        sources = channels.hook_sources(settings)
    except ValueError as error:
        fail(str(error), 2)
    if source not in sources:
        fail(f"There is no [hooks.{source}]; there are: {', '.join(sources) or 'none'}.", 2)
    try:
        body = file.read_bytes()
    except OSError as error:
        fail(f"Cannot read {file}: {error.strerror}.", 2)
    plain = {"content-type": "application/json", **_headers(header or [])}
    arrival = Arrival(plain, body) if unsigned else _sealed(sources[source], body, plain)
    if len(body) > sources[source].max_body:
        fail(f"The body has {len(body)} bytes, above max_body: HTTP 413.", 1)
    if unsigned:
        print("signature   NOT VERIFIED, left out by --unsigned: no such request is believed.")
        print("            What follows is what the sample would do had the provider sent it")
    if not _show_events(settings, sources[source], arrival):
        raise typer.Exit(1)


def _headers(given: list[str]) -> dict[str, str]:
    headers = {}
    for text in given:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            fail("--header is 'Name: value'.", 2)
        headers[name.strip().lower()] = value.strip()
    return headers


def _sealed(source: HookSource, body: bytes, plain: dict[str, str]) -> Arrival:
    """The sample as it would arrive. Ends the command where nobody but the provider can sign."""
    from adapters.webhooks.verify import Arrival

    try:
        sent = source.scheme.seal(
            source.secrets[:1],
            body,
            now=time.time(),
            message_id="msg_sample",
            url=source.public_url,
        )
    except ValueError as error:
        print(f"signature   not made: {error}")
        print("            --unsigned shows what this sample would do, without a verification")
        raise typer.Exit(1) from None
    lower = {name.lower(): value for name, value in sent.headers.items()}
    arrival = Arrival(plain | lower, sent.body, sent.url)
    _show_verification(source, arrival)
    return arrival


def _show_verification(source: HookSource, arrival: Arrival) -> None:
    from adapters.webhooks.verify import SignatureRefused, verify

    try:
        verify(
            source.scheme, source.secrets, arrival.headers, arrival.body, time.time(), arrival.url
        )
    except SignatureRefused as refused:
        print(f"signature   refused ({refused.reason}): HTTP 401")
        return
    print(f"signature   holds, made as {source.provider} makes it with the first secret")


def _show_events(settings: Settings, source: HookSource, arrival: Arrival) -> bool:
    """Whether all of them are mapped."""
    from adapters.webhooks.receive import receive_all

    found = receive_all(source, arrival.headers, arrival.body)
    mapped = all(one.mapped for one in found)
    if not found:
        print("events      none in this body: HTTP 200, nothing is kept")
    for one in found[:_MOST_SHOWN]:
        event = one.event
        if not one.mapped:
            print(f"mapping     fails: {event.payload['key']}: {event.payload['reason']}")
            print("            HTTP 200, kept as failed; nobody is answered")
            continue
        print(f"event       {event.event_type}, id {event.event_id}")
        print(f"correlation {json.dumps(event.correlation, ensure_ascii=False)}")
        print(f"answer      {_short(event.payload)}")
        print(f"waits       {_waits(settings, source, event)}")
    if len(found) > _MOST_SHOWN:
        print(f"            and {len(found) - _MOST_SHOWN} more")
    return mapped


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 500 else f"{text[:500]}… ({len(text)} characters)"


def _waits(settings: Settings, source: HookSource, event: InboundEvent) -> str:
    """Which open interrupts the event would end, in words."""
    key = match_key(source.tenant, event.event_type, event.correlation)
    embedded = not settings.store.url.get_secret_value()
    if embedded and not (settings.data_dir / "sayso.db").exists():
        return "none: there is no database yet"

    async def ask() -> list[str]:
        async with open_beside(settings) as store:
            return await store.shelf.waits(key)

    try:
        found = asyncio.run(ask())
    except (StoreUnavailable, ValueError, OSError) as error:
        return f"not known: {error}"
    several = settings.hooks[source.id].several
    if not found:
        return "none now: it would be kept until one comes"
    if len(found) > 1 and several == "exactlyOne":
        return f"{len(found)}, and exactly one may: it would be parked ({', '.join(found[:5])})"
    return f"would end {', '.join(found[:_MOST_SHOWN])}"
