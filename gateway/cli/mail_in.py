"""`sayso mail doctor`, `stopped` and `resume`: the incoming half of mail, for its operator."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from adapters.email.address import canonical
from config.settings import Settings
from gateway.cli.store import configured, fail, now_ms, with_store
from gateway.doctor.finding import Finding
from host.store.sqlite.beside import Beside

Config = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file.")]


def doctor(config: Config = None) -> None:
    """Check what replies by mail need: the settings, where the address leads, the mailbox."""
    from gateway.cli.doctor import show

    settings = configured(config)
    raise typer.Exit(show(asyncio.run(findings(settings))))


def stopped(config: Config = None) -> None:
    """List the addresses that no mail is sent to any more, and why."""

    async def work(store: Beside) -> int:
        from adapters.email.inbound.ledger import Ledger

        found = await Ledger(store.documents, now_ms).all_suppressed()
        for each in sorted(found, key=lambda one: int(one["at"])):
            at = datetime.fromtimestamp(each["at"] / 1000, UTC)
            print(f"{at:%Y-%m-%d %H:%M}  {each['shown']}  {each['reason']}")
        if not found:
            print("No address is stopped.")
        return 0

    with_store(configured(config), work)


def resume(
    address: Annotated[str, typer.Argument(help="A mail address that is good again.")],
    config: Config = None,
) -> None:
    """Send to an address again that bounced or complained."""
    try:
        wanted = canonical(address)
    except ValueError as wrong:
        fail(f"{wrong}.", 2)

    async def work(store: Beside) -> int:
        from adapters.email.inbound.ledger import Ledger

        lifted = await Ledger(store.documents, now_ms).lift(wanted)
        print("Mails go there again." if lifted else "This address was not stopped.")
        return 0 if lifted else 1

    with_store(configured(config), work)


async def findings(settings: Settings) -> list[Finding]:
    """What can be checked of `[email.inbound]` from here."""
    if not settings.email.inbound.address:
        do = "Set email.inbound.address and a way in: docs/email-replies.md."
        return [Finding("warn", "replies", "replies by mail are not taken", do)]
    try:
        from gateway.doctor import mail_in
    except ModuleNotFoundError as missing:
        do = "pip install 'sayso-gateway[mail]'"
        return [Finding("fail", "replies", f"they need {missing.name}", do)]
    return await mail_in.check(settings)
