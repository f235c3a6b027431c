"""Mollie, classic webhooks: a form `id=tr_…`, unsigned. The object of that id is fetched, and is the event.

Anybody may call, so a call says nothing but "look at this": what is believed is what Mollie's API answers to
the source's secret, which is an API key of Mollie's (`live_…`, `test_…`) or an access token. Payments (`tr_`)
and orders (`ord_`) can be fetched by their id alone. A subscription (`sub_`) can't, without its customer;
its payments call with ids of their own.

An event is named by id and status: a call without a change of the status is a duplicate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from adapters.webhooks.providers.provider import FORM, Asked, Lookup, Provider
from adapters.webhooks.verify import Arrival, SignatureRefused

_ORIGIN: Final = "https://api.mollie.com"
_RESOURCES: Final = {"tr": "payments", "ord": "orders"}
_ID: Final = re.compile(r"(tr|ord)_[A-Za-z0-9]{4,64}")
_KEY: Final = re.compile(r"(live|test|access)_[A-Za-z0-9]{24,128}")
_MOST_FIELDS: Final = 4


@dataclass(frozen=True, slots=True)
class Unsigned:
    """`verify.Proof` of what has none: no request is ever its own proof."""

    min_key: int = 29

    @property
    def needs_url(self) -> bool:
        return False

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """Always raises `SignatureRefused`: only what was fetched counts."""
        raise SignatureRefused("missing")

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """Always raises `ValueError`."""
        raise ValueError(
            "Mollie signs nothing and sends an id alone; the gateway asks Mollie's API for the object. "
            "Give that object, as the API answers, as the sample"
        )

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        if not _KEY.fullmatch(secret):
            raise ValueError("give an API key of Mollie's: live_… or test_…, or an access_… token")
        return secret.encode()


def _read(body: bytes) -> Asked:
    """Raises `ValueError` for anything but one id that can be fetched."""
    pairs = parse_qsl(body.decode("ascii"), strict_parsing=True, max_num_fields=_MOST_FIELDS)
    ids = [value for name, value in pairs if name == "id"]
    found = _ID.fullmatch(ids[0]) if len(ids) == 1 else None
    if found is None:
        raise ValueError("is not id=tr_… or id=ord_…")
    return Asked(found[0], f"/v2/{_RESOURCES[found[1]]}/{found[0]}")


MOLLIE_CLASSIC: Final = Provider(
    Unsigned(),
    event_type="join('.', [resource, status])",
    event_id="join(':', [id, status])",
    mode="mode",
    media=(FORM,),
    lookup=Lookup(_ORIGIN, _read),
)
