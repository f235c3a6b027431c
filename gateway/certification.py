"""The certification document: what this gateway serves, and each obligation that its operator relaxed.

A relaxation is a setting with a reason, written down here and never in discovery (interrupt specification,
section 'Approver enforcement').
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from config.settings import Settings

_OBLIGATIONS = {"approver-lists": "interrupt.approver-enforcement"}


def document(settings: Settings) -> dict[str, Any]:
    """The document as JSON."""
    return {
        "implementation": {"name": "sayso-gateway", "version": version("sayso-gateway")},
        "protocol": settings.protocol.version,
        "relaxations": relaxations(settings),
    }


def relaxations(settings: Settings) -> list[dict[str, str]]:
    """Each relaxed obligation with its reason."""
    found = [
        {"obligation": _OBLIGATIONS[name], "durability": "permanent", "reason": reason}
        for name, reason in settings.relaxations.items()
    ]
    for address in settings.egress.allow:
        reason = f"the operator named {address} as an exception"
        found.append(
            {"obligation": "webhooks.egress-guard", "durability": "permanent", "reason": reason}
        )
    if settings.conformance_seed:
        reason = "conformance mode: fixtures, named voters, loopback receivers"
        found.append({"obligation": "test-seams", "durability": "ephemeral", "reason": reason})
    return found
