"""`sayso dev` and `sayso serve`: run a gateway until it is told to stop."""

from __future__ import annotations

import asyncio
import signal

from rich.console import Console

from adapters.cards import card_of
from adapters.channel import DeliveryFailed
from adapters.views import Person
from config.settings import Settings
from gateway import stores, weak_secrets
from gateway.auth import Key, digest
from gateway.cli.store import open_beside
from gateway.lifecycle import Gateway
from gateway.listening import StartError
from gateway.secrets import dev_api_key, write_private
from host.decisions.state import SOMEBODY, Interrupt, Principal
from host.store.records import StoreUnavailable
from schemas.api_keys import SCOPES
from schemas.errors import Refusal
from schemas.payloads import check_payload
from schemas.runs import EXTERNAL_WORKFLOW, CreateRun

_NO_KEYS = (
    "No [[api_keys]] in the configuration and none in the store, so no program could use this gateway. "
    "Make one (`sayso api-keys create NAME`), or use `sayso dev` to try things out."
)
_MOST_LINKS = 5  # that are printed for one question
console = Console(highlight=False, soft_wrap=True, emoji=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


async def run_serve(settings: Settings) -> int:
    """Exit code. The gateway serves until SIGTERM or SIGINT."""
    weak = weak_secrets.found_in(settings)
    try:
        if not weak and not settings.api_keys and not await _has_stored_keys(settings):
            weak = [_NO_KEYS]
    except (StoreUnavailable, ValueError, OSError) as error:
        errors.print(f"Sayso can't start. {error}", style="red", markup=False)
        return 1
    for sentence in weak:
        errors.print(sentence, style="red", markup=False)
    if weak:
        return 2
    gateway = Gateway(settings, [])
    return await _until_stopped(gateway, None, dev=False)


async def _has_stored_keys(settings: Settings) -> bool:
    found, known = await stores.schema(settings)
    if 0 < found < known:
        return True  # it is for the start to bring it up to date, with whatever keys it has
    async with open_beside(settings, make=True) as store:
        return bool(await store.api_keys.of(settings.tenant))


async def run_dev(settings: Settings, sample: bool) -> int:
    """Like `run_serve`, with a development API key and a sample approval."""
    data = settings.data_dir
    key = dev_api_key(data)
    approvals = settings.approvals
    if "unlisted" not in approvals.model_fields_set:
        approvals = approvals.model_copy(update={"unlisted": "anyone"})
        settings = settings.model_copy(update={"approvals": approvals})
    if "notify" not in settings.model_fields_set:
        settings = settings.model_copy(update={"notify": ("web:",)})
    gateway = Gateway(settings, [Key("dev", digest(key), settings.tenant, SCOPES)])
    return await _until_stopped(gateway, _Sample(gateway) if sample else None, dev=True)


async def _until_stopped(gateway: Gateway, sample: _Sample | None, dev: bool) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await gateway.start()
    except (Refusal, DeliveryFailed) as error:
        reason = error.message if isinstance(error, Refusal) else error.reason
        errors.print(f"Sayso can't start. {reason}", style="red", markup=False)
        return 1
    except (StartError, StoreUnavailable, ValueError, OSError, RuntimeError) as error:
        errors.print(f"Sayso can't start. {error}", style="red", markup=False)
        return 1
    write_private(gateway.settings.data_dir / "url", gateway.url + "\n")
    _greet(gateway, dev)
    showing = [asyncio.create_task(sample.show())] if sample else []
    if dev:
        showing.append(asyncio.create_task(_show_links(gateway)))
    await stop.wait()
    console.print("Stopping …")
    for task in showing:
        task.cancel()
    await gateway.stop()
    return 0


def _greet(gateway: Gateway, dev: bool) -> None:
    data = gateway.settings.data_dir
    console.print(f"\n[bold]Sayso[/bold] listens on [bold]{gateway.url}[/bold]")
    console.print(f"  data folder  {data.resolve()}")
    if dev:
        console.print(f"  API key      {dev_api_key(data)}")
    console.print(f"  channels     {', '.join(sorted(gateway.channels))}")
    if "slack" in gateway.channels and not any(
        place.startswith("slack:") for place in gateway.settings.notify
    ):
        console.print(
            '  Slack is connected. Invite the bot to a channel and set SAYSO_NOTIFY="slack:#channel"'
            " to post the sample there.",
            markup=False,
        )


async def _show_links(gateway: Gateway) -> None:
    """Print the answer page of each question that a program asks on the web from now on."""
    tenant = gateway.settings.tenant
    log = gateway.host.store.log
    page = await log.interrupts(tenant, "open", 50, None)
    seen = {asked.interrupt_id for asked in page.interrupts}
    with gateway.host.waiters.on("messages") as changed:
        while True:
            await changed.wait()
            changed.clear()
            page = await log.interrupts(tenant, "open", 50, None)
            for asked in reversed(page.interrupts):
                if asked.interrupt_id in seen or "web:" not in asked.notify:
                    continue
                seen.add(asked.interrupt_id)
                if asked.key != "sample":
                    console.print(f"Question: {card_of(asked).title}", markup=False)
                    for line in await answer_links(gateway, asked):
                        console.print(f"  {line}", markup=False)


async def answer_links(gateway: Gateway, asked: Interrupt) -> list[str]:
    """A link for each of those who may answer, the first few by name; one for anybody if none is named."""
    groups, roles = (asked.data.get(f"approver{kind}Refs") or () for kind in ("Group", "Role"))
    members = gateway.people.members(groups, roles, asked.tenant)
    listed = dict.fromkeys((*(asked.data.get("approversList") or ()), *(one.id for one in members)))
    if not listed and (groups or roles):
        named = ", ".join((*groups, *roles))
        return [f"Nobody here is in {named}: give [[people]] of the configuration groups or roles."]
    if not listed:
        return [await gateway.links.make(asked.interrupt_id, Person("web", "dev", SOMEBODY))]
    called = gateway.people.names()
    return [
        f"as {called.get(one, one)}: "
        + await gateway.links.make(
            asked.interrupt_id, Person("principal", one, called.get(one, one))
        )
        for one in list(listed)[:_MOST_LINKS]
    ]


class _Sample:
    """The sample approval: raised at start unless one is open, reported when it is answered."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._principal = Principal(
            "dev", gateway.settings.tenant, name="dev", kind="workload", names=frozenset({"dev"})
        )

    async def show(self) -> None:
        interrupt = await self._interrupt()
        link = await self._gateway.links.make(
            interrupt.interrupt_id, Person("web", "dev", SOMEBODY)
        )
        console.print("\nA sample approval waits for you. Answer it here:")
        console.print(f"  {link}\n")
        while interrupt.status == "open":
            interrupt = await self._gateway.host.wait(
                self._principal, interrupt.interrupt_id, 3600.0
            )
        outcome = interrupt.outcome
        if outcome is not None:
            word = {"accept": "approved", "reject": "rejected"}.get(
                outcome.action, interrupt.status
            )
            console.print(
                f"The sample was [bold]{word}[/bold] by {outcome.name} via {outcome.via}."
            )

    async def _interrupt(self) -> Interrupt:
        host, tenant = self._gateway.host, self._gateway.settings.tenant
        page = await host.store.log.interrupts(tenant, "open", 100, None)
        for found in page.interrupts:
            if found.key == "sample" and found.node_id == "sample":
                return found
        run = await host.runs.start(self._principal, CreateRun(workflow_id=EXTERNAL_WORKFLOW))
        payload = check_payload(
            {
                "kind": "approval",
                "key": "sample",
                "data": {
                    "artifactId": "4711",
                    "artifactType": "refund",
                    "title": "Refund 4,000.00 € to Acme Ltd",
                    "description": "The customer sent the machine back within the return period. "
                    "(This is a sample: nothing is refunded.)",
                    "artifactData": {"order": "4711", "amount": 4000.0, "currency": "EUR"},
                    "actions": ["accept", "reject"],
                },
            }
        )
        notify = dict.fromkeys((*self._gateway.addresses.check(None), "web:"))
        requested = await host.request(
            self._principal, run.run_id, "sample", payload, tuple(notify)
        )
        return requested.interrupt
