"""A form post -> a `Response`, or what is wrong with it. Pure: the caller opens the nonce."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import parse_qsl

from adapters.channel import Response, Visitor
from adapters.forms import read_values
from adapters.languages.catalogue import ENGLISH, Words
from adapters.views import Action, Field, Form
from adapters.web import login, press
from adapters.web.offers import FIND, QUERY_PREFIX
from adapters.web.settings import WebSettings, is_loopback

MAX_BODY: Final = 256 * 1024
"""Bytes of a form post that are read at all."""

MAX_MEMBERS: Final = 2000
"""Names in a form post: more than any form here has."""

CONFIRMED: Final = "confirmed"
"""The box that stands before an action of high risk; its error comes back under this name."""

ActionId = Literal["accept", "reject", "refine", "edit-accept", "ask", "answer"]
_ACTIONS: Final = frozenset(get_args(ActionId)) | login.ACTIONS
_VALUE_PREFIX: Final = "v."
_LOCAL_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?")


@dataclass(frozen=True, slots=True)
class Submission:
    """A form post, taken apart. `values` maps `Field.id` to everything posted under it."""

    nonce: str = field(repr=False)
    action: ActionId | Literal["code", "login"]
    confirmed: bool = False
    press: str = ""
    code: str = field(default="", repr=False)
    find: str = ""
    queries: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """What a submission amounts to: a response, or a sentence for each field that is wrong."""

    response: Response | None
    errors: dict[str, str] = field(default_factory=dict)


def parse_submission(body: bytes) -> Submission:
    """Take apart an `application/x-www-form-urlencoded` body.

    Raises `ValueError` for one that no page of ours can have sent.
    """
    try:
        members = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_MEMBERS,
        )
    except ValueError:  # UnicodeDecodeError is one too
        raise ValueError("the form is damaged") from None
    single: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    queries: dict[str, str] = {}
    for name, value in members:
        if name.startswith(_VALUE_PREFIX):
            # Browsers send line breaks as CRLF; in an answer a line ends as everywhere else.
            values.setdefault(name[len(_VALUE_PREFIX) :], []).append(value.replace("\r\n", "\n"))
        elif name.startswith(QUERY_PREFIX):
            queries[name[len(QUERY_PREFIX) :]] = value[:200]
        elif name == press.FIELD:
            single[name] = value or single.get(name, "")
        elif single.setdefault(name, value) != value:
            raise ValueError("the form says two things at once")
    if single.get("action") not in _ACTIONS:
        raise ValueError("the form names no choice")
    return Submission(
        nonce=single.get("nonce", ""),
        action=cast(ActionId, single["action"]),
        confirmed=single.get(CONFIRMED) == "yes",
        press=single.get(press.FIELD, ""),
        code="".join(single.get(login.CODE, "").split())[:20],
        find=single.get(FIND, ""),
        queries=queries,
        values=values,
    )


def from_our_page(
    origins: Sequence[str], fetch_sites: Sequence[str], host: str, settings: WebSettings
) -> bool:
    """Whether the browser says that a page of this very origin sent the post.

    `origins` and `fetch_sites` are all `Origin` and `Sec-Fetch-Site` headers of the request, `host`
    its `Host`. Our pages have `Referrer-Policy: no-referrer`, which makes a browser send
    `Origin: null` (Fetch standard, "append a request Origin header"); then Sec-Fetch-Site, which no
    page can forge, decides. `host` is believed on loopback alone: elsewhere only `public_url` is.
    """
    if len(origins) > 1 or len(fetch_sites) > 1:
        return False
    if not origins or origins[0] == "null":
        return list(fetch_sites) == ["same-origin"]
    if origins[0] in settings.origins:
        return True
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return is_loopback(name) and origins[0] in {f"http://{host}", f"https://{host}"}


def raw_values(form: Form, submission: Submission) -> dict[str, Any]:
    """The posted values of this form's fields, as `adapters.forms.read_values` takes them."""
    return {
        each.id: _raw(each, submission.values[each.id])
        for each in form.fields
        if each.id in submission.values
    }


def read_response(
    submission: Submission,
    *,
    visitor: Visitor,
    action: Action | None,
    form: Form | None,
    nonce_id: str,
    version: int,
    words: Words = ENGLISH,
) -> Read:
    """The response that a submission makes, or the field errors that keep it from being one.

    `action` is None when the card offers nothing any more; then the decision is the intake's, which
    knows whether this is the same press again.
    """
    errors: dict[str, str] = {}
    value: Any = {}
    if form is not None:
        value, errors = read_values(form, raw_values(form, submission), words)
    if action is not None and action.confirm and not submission.confirmed:
        errors = {**errors, CONFIRMED: words("form.tick")}
    if errors:
        return Read(None, errors)
    handle = visitor.handle
    return Read(
        Response(
            interrupt_id=visitor.interrupt_id,
            person=visitor.person,
            action=cast(ActionId, submission.action),
            value=value,
            dedupe=dedupe_key(nonce_id, submission),
            version=version,
            token=handle if handle.startswith("ow2.") else "",
        )
    )


def dedupe_key(nonce_id: str, submission: Submission) -> str:
    """One key for one press: the same for a double click, another one for other words."""
    said = json.dumps([submission.action, sorted(submission.values.items())], ensure_ascii=True)
    return "web:" + hashlib.sha256(f"{nonce_id}\n{said}".encode()).hexdigest()[:40]


def _raw(each: Field, posted: list[str]) -> str | list[str]:
    if each.kind == "choices":
        return posted
    if each.picker and each.kind == "list":
        return "\n".join(posted)
    value = posted[0]
    if each.kind == "datetime" and _LOCAL_MINUTE.fullmatch(value):
        # The browser's control knows no zone; its label says that UTC is meant.
        return f"{value}Z" if value.count(":") > 1 else f"{value}:00Z"
    return value
