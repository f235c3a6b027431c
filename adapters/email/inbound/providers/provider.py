"""What every provider's webhook comes to: the raw mail, and whom the envelope said it is for; or what became
of a mail of ours."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

from adapters.email.inbound.bounds import Budget, Unreadable
from adapters.email.inbound.machines import Bounce, Complaint
from adapters.email.inbound.mime import parameters_of, parse

MAX_FIELDS: Final = 500


class NotProven(Exception):
    """The request isn't known to come from the provider. Its text is for an operator's log."""


class NotUsable(Exception):
    """It is proven, and holds no mail that could be read: what the operator has to change."""


@dataclass(frozen=True, slots=True)
class Brought:
    """One mail. `mail_from` is None where the provider doesn't say it. `verdict` is what it found out
    about the sender. `once` names the delivery, "" where the provider has no name for it."""

    raw: bytes
    recipients: tuple[str, ...]
    mail_from: str | None = None
    verdict: Literal["", "pass", "fail"] = ""
    once: str = ""


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of one mail that went out. `mark` is what it was sent with (`Envelope.mark`), "" for a
    mail that isn't ours; `machine` None when nothing is wrong with it. `once` as in `Brought`."""

    mark: str
    machine: Bounce | Complaint | None
    once: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A webhook request. `headers` have lower-case names; `now` is Unix seconds."""

    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    now: float = 0.0


def same(one: str, other: str) -> bool:
    """Compared in constant time. Characters beyond ASCII are as different as any."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def form_of(asked: Asked, limit: int) -> dict[str, bytes]:
    """The fields of a form post, multipart or not. Of a name that is there twice, the last one.

    Raises `NotUsable`.
    """
    kind, parameters = parameters_of(
        asked.headers.get("content-type", "").encode("latin-1", "replace")
    )
    if kind == "application/x-www-form-urlencoded":
        try:
            pairs = parse_qsl(
                asked.body.decode("ascii"),
                keep_blank_values=True,
                max_num_fields=MAX_FIELDS,
                encoding="latin-1",
            )
        except ValueError:
            raise NotUsable("the form can't be read") from None
        return {name: value.encode("latin-1") for name, value in pairs}
    if kind != "multipart/form-data" or not parameters.get("boundary"):
        raise NotUsable("it is no form")
    boundary = parameters["boundary"].encode("latin-1", "replace")
    head = b'Content-Type: multipart/form-data; boundary="' + boundary + b'"\r\n\r\n'
    try:
        root = parse(head + asked.body, Budget())
    except Unreadable as why:
        raise NotUsable(f"the form can't be read: {why}") from None
    found: dict[str, bytes] = {}
    for part in root.children:
        _, named = parameters_of(part.head.first("content-disposition"))
        if "name" in named and not part.children:
            found[named["name"]] = part.content(limit)
    return found


def object_in(body: bytes) -> dict[str, Any]:
    """The JSON object that a body is. Raises `NotUsable`."""
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        raise NotUsable("it is no JSON") from None
    if not isinstance(members, dict):
        raise NotUsable("it is no JSON object")
    return members


def map_in(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A member that is an object, an empty one for any other."""
    found = members.get(name)
    return found if isinstance(found, dict) else {}


def text_in(members: Mapping[str, Any], name: str) -> str:
    """A member that is a string, "" for any other."""
    found = members.get(name)
    return found if isinstance(found, str) else ""
