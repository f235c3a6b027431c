"""`sayso mail`: what people would get, without sending it."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from adapters.languages.catalogue import closest, locales
from adapters.views import Person, Reader
from config.settings import Settings
from gateway import channels
from gateway.cli import mail_in
from gateway.cli.store import configured, fail, now_ms, open_beside
from gateway.people import People
from host.decisions.evolve import evolve
from host.decisions.request import Ask, request, start_run
from host.decisions.state import Interrupt, Policy, Principal, Run, State
from host.store.records import StoreUnavailable
from schemas.errors import Refusal
from schemas.payloads import check_payload
from schemas.runs import EXTERNAL_WORKFLOW

app = typer.Typer(help="Mail: see what people get.", no_args_is_help=True)
for command in (mail_in.doctor, mail_in.stopped, mail_in.resume):
    app.command()(command)
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]

_MOST: Final = 2**21
"""Bytes of a file with a payload: what the API takes."""


@app.callback()
def _mail() -> None:
    """Mail: see what people get."""


@app.command()
def preview(
    what: Annotated[
        str,
        typer.Argument(metavar="INTERRUPT|FILE", help="An interrupt's id, or a JSON payload."),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write into.")] = Path("mail-preview"),
    to: Annotated[str, typer.Option(help="Whom it is for.")] = "ada@example.com",
    locale: Annotated[str, typer.Option(help="Their language, like de. Unset: theirs.")] = "",
    timezone: Annotated[str, typer.Option(help="Their zone. Unset: theirs.")] = "",
    config: Config = None,
) -> None:
    """Write the mail about an interrupt as .eml, .txt and .html files. Nothing is sent or stored.

    Of an interrupt that is over, the mail that says how it ended. The link in it leads nowhere.
    """
    settings = configured(config)
    if locale and not closest(locale):
        fail(f"There is no language {locale!r}; there are: {', '.join(locales())}.", 2)
    interrupt = _read(Path(what), settings) if Path(what).is_file() else _find(what, settings)
    people = People(settings.people, channels.everybody(settings))
    reader = people.reader(Person("email", to))
    reader = replace(reader, locale=closest(locale, reader.locale), zone=timezone or reader.zone)
    try:
        files = _drawn(interrupt, people, reader, to, settings)
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (out / name).write_bytes(content)
            print(out / name)
    except (ValueError, OSError) as error:
        fail(f"The mail can't be written: {error}", 1)


def _read(file: Path, settings: Settings) -> Interrupt:
    """An interrupt made of a payload, by the same rules as a real one."""
    try:
        if file.stat().st_size > _MOST:
            fail(f"{file} has more than {_MOST:,} bytes.", 2)
        raw: Any = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        fail(f"Cannot read {file}: {error}", 2)
    if isinstance(raw, dict) and isinstance(raw.get("payload"), dict):
        raw = raw["payload"]
    now, policy = now_ms(), Policy()
    tenant = settings.tenant
    try:
        wire = check_payload(raw).wire()
        run = Run(f"{tenant}/preview", EXTERNAL_WORKFLOW, created_at=now)
        state = evolve(State(run), start_run(run, None), now)
        agent = Principal("your-program", tenant, name="your-program", kind="workload")
        ask = Ask(f"{tenant}/preview-PREVIEW1", "gate", wire, (), agent, None)
        return evolve(state, request(state, ask, now, policy), now).interrupt
    except Refusal as refusal:
        fail(refusal.message, 2)


def _find(name: str, settings: Settings) -> Interrupt:
    """An interrupt of the gateway, by its id."""

    async def look() -> Interrupt | None:
        async with open_beside(settings) as store:
            return await store.interrupt(name)

    try:
        found = asyncio.run(look())
    except (StoreUnavailable, ValueError, OSError) as error:
        fail(str(error), 1)
    if found is None:
        fail(f"There is no file and no interrupt {name!r}.", 2)
    return found


def _drawn(
    interrupt: Interrupt, people: People, reader: Reader, to: str, settings: Settings
) -> dict[str, bytes]:
    """The files by name. Raises `ValueError` for an address that is none."""
    from adapters.cards import card_of, thread_of
    from adapters.channel import Delivery
    from adapters.email import render
    from adapters.email.address import canonical
    from adapters.email.handles import derive, reply_address
    from adapters.email.message import Envelope, message_id, serialise
    from adapters.email.offers import offer_of

    home = settings.http.public_url or "https://sayso.example.com"
    card = card_of(interrupt, people.names(), f"{home}/a/preview", reader)
    delivery = Delivery(
        canonical(to), card, thread=thread_of(interrupt, "", reader), link=card.link
    )
    inbound = settings.email.inbound
    handle = derive(b"preview", "reply", interrupt.interrupt_id, "email", to)
    replies = bool(inbound.address) and inbound.policy != "off"
    if card.state == "open":
        kind, offer = "asked", offer_of(card, handle if replies else "", inbound.policy)
        mail = render.question(delivery, home, offer)
    else:
        kind, mail = "ended", render.ending(delivery, home, replies=replies)
    envelope = Envelope(
        sender_name="Sayso",
        sender="sayso@example.com",
        recipient=canonical(to),
        message_id=message_id("example.com", kind, interrupt.interrupt_id, to),
        reply_to=reply_address(handle, inbound.address) if replies else "",
        language=reader.locale,
    )
    name = re.sub(r"[^A-Za-z0-9-]", "", card.reference)[:20] or "mail"
    name = f"{name}.{kind}.{reader.locale}"
    return {
        f"{name}.eml": serialise(mail, envelope, datetime.now(UTC)),
        f"{name}.txt": f"Subject: {mail.subject}\n\n{mail.text}".encode(),
        f"{name}.html": mail.html.encode(),
    }
