"""Checks of the configuration: what it says, without asking anybody."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from adapters.egress import Egress
from config.mail import Email
from config.settings import Settings
from config.slack import Slack
from gateway import certification, channels, inputs, registrations, weak_secrets, workflows
from gateway.addresses import Addresses
from gateway.callbacks import check_secret
from gateway.chosen import ring_of
from gateway.doctor.finding import Finding, fail, ok, warn
from gateway.pickers import pickers
from schemas.errors import Refusal

_NOWHERE: Any = None
_DOORS: Final = channels.Doors(_NOWHERE, _NOWHERE, _NOWHERE, _NOWHERE)
_URL: Final = "http://127.0.0.1"


def strength(settings: Settings) -> Iterator[Finding]:
    """Placeholders and short secrets."""
    weak = weak_secrets.found_in(settings)
    for sentence in weak:
        what, _, do = sentence.partition(". ")
        yield fail("secrets", what, do)
    if not weak:
        yield ok("secrets", "none of the configuration is a placeholder or too short")


def public_url(settings: Settings) -> Iterator[Finding]:
    """The address that people see: answer links are secrets and begin with it."""
    url, host = settings.http.public_url, settings.http.host
    if not url:
        if _is_loopback(host):
            yield ok(
                "public_url", "unset: links lead to this machine, and nobody else can open them"
            )
        else:
            yield warn(
                "public_url",
                f"unset, and the gateway listens on {host}: links name the address listened on",
                "Set http.public_url to the https address that people reach.",
            )
        return
    parts = urlsplit(url)
    if parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        yield fail(
            "public_url", "is plain http, and answer links are secrets", "Set the https address."
        )
    elif parts.username or parts.password:
        yield fail("public_url", "holds a user or a password", "Take them out: links show them.")
    else:
        yield ok("public_url", url)


def wiring(settings: Settings) -> Iterator[Finding]:
    """Each channel and each webhook source, built as at a start."""
    bare = settings.model_copy(update={"slack": Slack(), "email": Email(), "hooks": {}})
    parts: list[tuple[str, Settings]] = []
    if settings.slack.is_on:
        parts.append(("slack", bare.model_copy(update={"slack": settings.slack})))
    if settings.email.is_on:
        parts.append(("email", bare.model_copy(update={"email": settings.email})))
    for name, hook in settings.hooks.items():
        parts.append((f"hooks.{name}", bare.model_copy(update={"hooks": {name: hook}})))
    for name, part in parts:
        try:
            channels.build(part, settings.http.public_url or _URL, "f" * 48, _DOORS)
        except ValueError as error:
            yield fail(name, str(error), "Correct it in the configuration.")
            continue
        if name.startswith("hooks.") and not part.hooks[name.removeprefix("hooks.")].correlation:
            yield warn(
                name,
                "has no correlation, so its events match only waits without one",
                f"Set [{name}] correlation to what tells one order from another.",
            )
        else:
            yield ok(name, "its settings are right")
    try:
        found = workflows.load(settings.workflows, inputs.contracts(settings))
        if found:
            yield ok("workflows", f"{len(found)} loaded")
    except ValueError as error:
        yield fail("workflows", str(error), "Correct the file named.")


def parts(settings: Settings) -> Iterator[Finding]:
    """What a start refuses beside the channels: keys that can't sign, sources that can't be asked."""

    def way_out() -> Egress:
        check_secret(settings.egress.callback_secret.get_secret_value())
        return Egress(settings.egress.allow)

    profile = settings.symfonic.jwt_secret is not None or settings.registrations
    attempts: dict[str, Callable[[], object]] = {
        "egress": way_out,
        "tokens": lambda: settings.tokens.keys and ring_of(settings, _NOWHERE, 0),
        "registrations": lambda: profile and registrations.pauses(settings, _NOWHERE),
        "pickers": lambda: settings.pickers and pickers(settings, Egress()),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except ValueError as error:
            yield fail(name, str(error), "Correct it in the configuration.")


def relaxed(settings: Settings) -> Iterator[Finding]:
    """What the operator switched off of what protects them."""
    for one in certification.relaxations(settings):
        sentence = f"{one['obligation']}: {one['reason']}"
        yield warn("relaxed", sentence, "Take it out of the configuration, unless it is meant.")


def programs(settings: Settings) -> Iterator[Finding]:
    """Who may call."""
    if settings.api_keys:
        yield ok("api_keys", f"{len(settings.api_keys)} in the configuration")
    else:
        yield warn(
            "api_keys",
            "none in the configuration",
            "Make one: sayso api-keys create NAME. Without any, serve does not start.",
        )


def people(settings: Settings) -> Iterator[Finding]:
    """Who can't be reached, and where requests would go that name nobody."""
    unreachable = 0
    for person in settings.people:
        slack = person.slack and settings.slack.is_on
        if slack or (person.email and settings.email.is_on):
            continue
        unreachable += 1
        off = person.slack or person.email
        why = "has an address only in channels that are off" if off else "has no address"
        yield warn("people", f"{person.id} {why}", "Add an address, or turn the channel on.")
    if settings.people and not unreachable:
        yield ok("people", f"all {len(settings.people)} can be reached")
    if not settings.people and settings.approvals.unlisted == "known":
        yield warn(
            "people",
            "nobody is in the directory, and only people of it may answer",
            'Add [[people]], or set approvals.unlisted = "anyone".',
        )
    try:
        built = channels.build(settings, settings.http.public_url or _URL, "f" * 48, _DOORS)
        Addresses(built, settings.notify).check(None)
    except ValueError:
        return  # told by `wiring`
    except Refusal as refusal:
        yield fail("notify", refusal.message, "Correct SAYSO_NOTIFY, or turn the channel on.")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
