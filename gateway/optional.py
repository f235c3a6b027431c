"""Parts that few gateways have, each imported only where it is set up: together with their libraries they
would be a good part of a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.egress import Egress
from config.settings import Settings
from gateway.intake import Intake
from gateway.links import AnswerLinks
from gateway.people import People
from host.host import Host

if TYPE_CHECKING:
    from adapters.email.inbound.app import Lent
    from adapters.pickers.picker import Pickers
    from host.pauses import Pauses


def picking(settings: Settings, egress: Egress) -> Pickers | None:
    """Where the choices of dynamic lists come from. Raises `ValueError` with the key of what is wrong."""
    if not settings.pickers:
        return None
    from gateway.pickers import pickers

    return pickers(settings, egress)


def registered(settings: Settings, host: Host) -> Pauses | None:
    """Registered interrupts, whose answers are then checked against each other as well. Raises
    `ValueError` with the key of what is wrong."""
    if settings.symfonic.jwt_secret is None and not settings.registrations:
        return None
    from gateway.registrations import pauses

    found = pauses(settings, host)
    host.cross_check = found.cross_check
    return found


def receiving(
    settings: Settings, host: Host, people: People, intake: Intake, links: AnswerLinks
) -> Lent | None:
    """What mail that comes in needs. Raises `ValueError` when its libraries are not installed."""
    inbound = settings.email.inbound
    if not inbound.address:
        return None
    try:
        from gateway.replies import lent
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"email.inbound: replies by mail need {missing.name}: pip install 'sayso-gateway[mail]'"
        ) from missing
    return lent(host, people, intake, links, inbound.policy)
