"""Adyen, standard (payment) webhooks: each item of the body carries its own signature.

`additionalData.hmacSignature` is an HMAC-SHA256 over eight values of the item, joined by colons.
Nothing else is signed, `additionalData`, `reason`, `eventDate` and the `live` beside the items
included, so what an item says apart from those eight is taken away: a run only ever sees what
Adyen signed. Every item has to hold; their own helper looks at the first alone.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.strict_json import parse
from adapters.webhooks.verify import Arrival, SignatureRefused, one_secret, raw_bytes

MOST_ITEMS: Final = 100
_TEXTS: Final = (
    "pspReference", "originalReference", "merchantAccountCode", "merchantReference",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ItemSignatures:
    """`verify.Proof` of Adyen's items."""

    min_key: int = 16

    @property
    def needs_url(self) -> bool:
        return False

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`. All items are looked at, whichever fails."""
        held = True
        for item in _items(parse(arrival.body)):
            signed = item.get("additionalData", {}).get("hmacSignature")
            if not signed:
                raise SignatureRefused("missing")
            matched = False
            for secret in secrets:
                matched |= hmac.compare_digest(_mac(secret, item), raw_bytes(signed))
            held &= matched
        if not held:
            raise SignatureRefused("mismatch")

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """See `verify.Proof`. The signatures are put into the items."""
        secret, whole = one_secret(secrets), parse(body)
        try:
            for item in _items(whole):
                more = item.setdefault("additionalData", {})
                more["hmacSignature"] = _mac(secret, item).decode()
        except (SignatureRefused, AttributeError, KeyError, TypeError):
            raise ValueError("not a standard notification: notificationItems with items") from None
        return Arrival({}, orjson.dumps(whole), url)

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        try:
            return bytes.fromhex(secret)
        except ValueError:
            raise ValueError("the secret is not usable as hex; copy the HMAC key") from None


def _items(whole: Any) -> list[dict[str, Any]]:
    items = [entry["NotificationRequestItem"] for entry in whole["notificationItems"]]
    if not 1 <= len(items) <= MOST_ITEMS or not all(isinstance(item, dict) for item in items):
        raise SignatureRefused("malformed")
    return items


def _mac(secret: str, item: Mapping[str, Any]) -> bytes:
    return base64.b64encode(hmac.digest(bytes.fromhex(secret), _base(item), "sha256"))


def _base(item: Mapping[str, Any]) -> bytes:
    """The signed text. Raises `SignatureRefused` for values that could be written in two ways."""
    texts = [item.get(name) or "" for name in _TEXTS]
    amount = item["amount"]
    value = amount["value"]
    if type(value) is not int:
        raise SignatureRefused("malformed")
    texts += [str(value), amount["currency"], item["eventCode"], item["success"]]
    if not all(isinstance(text, str) for text in texts):
        raise SignatureRefused("malformed")
    return ":".join(texts).encode()


def _events(_: Mapping[str, str], body: bytes) -> list[Any]:
    """The signed part of each item, and the body's unsigned word on whether it is live."""
    whole = parse(body)
    kept = (*_TEXTS, "amount", "eventCode", "success")
    events = []
    for item in _items(whole):
        event = {name: item[name] for name in kept if name in item}
        amount = event["amount"]
        event["amount"] = {"value": amount["value"], "currency": amount["currency"]}
        events.append(event | {"live": whole.get("live")})
    return events


ADYEN: Final = Provider(
    ItemSignatures(),
    event_type="eventCode",
    event_id="join(':', [eventCode, pspReference, success])",
    mode="live",
    read=_events,
)
