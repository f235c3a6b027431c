"""Braintree: a form with `bt_payload`, XML in base64, and `bt_signature`, `public key|HMAC` pairs.

The HMAC is SHA-1, keyed with the SHA-1 of the private API key. A source's secret is
`PUBLIC_KEY:PRIVATE_KEY`. Before it accepts a URL Braintree sends `GET ?bt_challenge=…`, to be
answered with `public key|HMAC of the challenge`. Notifications have no id: their digest, of kind,
time and subject, names them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode
from xml.etree.ElementTree import Element, ParseError, fromstring

from adapters.webhooks.providers.provider import FORM, Greeted, Greeting, Provider
from adapters.webhooks.verify import (
    MAX_SIGNATURES,
    Arrival,
    SignatureRefused,
    one_secret,
    raw_bytes,
)

_CHALLENGE: Final = re.compile(r"[a-f0-9]{20,32}")
_PAYLOAD: Final = re.compile(rb"[A-Za-z0-9+/=\n]+")
_MOST_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class FormSignature:
    """`verify.Proof` of Braintree."""

    min_key: int = 16

    @property
    def needs_url(self) -> bool:
        return False

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`."""
        form = _form(arrival.body)
        payload, pairs = (
            form.get("bt_payload", "").encode(),
            form.get("bt_signature", "").split("&"),
        )
        if not payload or not any(pairs):
            raise SignatureRefused("missing")
        if len(pairs) > MAX_SIGNATURES or not _PAYLOAD.fullmatch(payload):
            raise SignatureRefused("malformed")
        matched = False
        for secret in secrets:
            public, private = _keys(secret)
            for offered in (p[len(public) + 1 :] for p in pairs if p.startswith(f"{public}|")):
                for text in (payload, payload + b"\n"):
                    matched |= hmac.compare_digest(_mac(private, text), raw_bytes(offered))
        if not matched:
            raise SignatureRefused("mismatch")

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """See `verify.Proof`. `body` is the XML."""
        public, private = _keys(one_secret(secrets))
        payload = base64.encodebytes(body)
        form = {
            "bt_signature": f"{public}|{_mac(private, payload).decode()}",
            "bt_payload": payload,
        }
        return Arrival({"Content-Type": FORM}, urlencode(form).encode(), url)

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        public, private = _keys(secret)
        if not public or not private or any(c in public for c in "|&"):
            raise ValueError("give PUBLIC_KEY:PRIVATE_KEY, both of the same API key")
        return private.encode()


def _keys(secret: str) -> tuple[str, str]:
    public, _, private = secret.partition(":")
    return public, private


def _mac(private: str, text: bytes) -> bytes:
    key = hashlib.sha1(private.encode()).digest()  # noqa: S324 - Braintree's choice
    return hmac.digest(key, text, "sha1").hex().encode()


def _form(body: bytes) -> dict[str, str]:
    pairs = parse_qsl(body.decode("ascii"), max_num_fields=8)
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a field twice")
    return dict(pairs)


def _greet(
    secrets: Sequence[str], query: Mapping[str, str], _: Mapping[str, str]
) -> Greeted | None:
    challenge = query.get("bt_challenge", "")
    if not _CHALLENGE.fullmatch(challenge):
        return None
    public, private = _keys(secrets[0])  # the current one: old secrets stand behind it
    return Greeted({}, f"{public}|{_mac(private, challenge.encode()).decode()}")


def _read(_: Mapping[str, str], body: bytes) -> list[Any]:
    return [_value(_xml(base64.b64decode(_form(body)["bt_payload"])), 1)]


def _xml(text: bytes) -> Element:
    """Only a document type can define entities, so one is refused: no expansion, nothing external."""
    if b"<!" in text:
        raise ValueError("the XML has a document type or a comment")
    try:
        return fromstring(text.strip())  # noqa: S314
    except ParseError:
        raise ValueError("bt_payload is not XML") from None


def _value(node: Element, depth: int) -> Any:
    """Braintree's XML as JSON: types as they are marked, dates as text, `-` in names as `_`."""
    if depth > _MOST_DEPTH:
        raise ValueError(f"nested more than {_MOST_DEPTH} deep")
    kind, text = node.get("type"), (node.text or "").strip()
    if kind == "array":
        return [_value(child, depth + 1) for child in node]
    if len(node):
        members: dict[str, list[Any]] = {}
        for child in node:
            name = child.tag.replace("-", "_")
            members.setdefault(name, []).append(_value(child, depth + 1))
        return {name: found[0] if len(found) == 1 else found for name, found in members.items()}
    if node.get("nil") == "true":
        return None
    if kind == "boolean":
        return text in ("true", "1")
    return int(text) if kind == "integer" and re.fullmatch(r"-?[0-9]{1,18}", text) else text


BRAINTREE: Final = Provider(
    FormSignature(),
    event_type="kind",
    read=_read,
    media=(FORM,),
    greeting=Greeting("GET", _greet),
)
