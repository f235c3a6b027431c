"""Scrubbing: secrets by the name of their field and by the look of their text, wherever they stand."""

from __future__ import annotations

import io
import logging
import string
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp.http_exceptions import BadStatusLine
from hypothesis import given
from hypothesis import strategies as st

from gateway.logs import ScrubbingFormatter, scrub

MARK = st.text(string.ascii_letters + string.digits, min_size=12, max_size=40)
AROUND = st.text(" ,;:\"'()[]{}<>\n", max_size=4)
LOOKS: tuple[Callable[[str], str], ...] = (
    lambda m: f"ow2.hs256.k.{m}.{m}",
    lambda m: f"eyJ{m}.eyJ{m}.{m}",
    lambda m: f"postgresql://db.example.com/sayso?user=sayso&password={m}",
    lambda m: f"xoxb-{m}",
    lambda m: f"xapp-1-{m}",
    lambda m: f"whsec_{m}",
    lambda m: f"sayso_key_{m}",
    lambda m: f"sayso_dev_{m}",
    lambda m: f"https://sayso.example.com/a/{m}",
    lambda m: f"Authorization: Bearer {m}",
    lambda m: f"smtps://user:{m}@mail.example.com",
    lambda m: f"redis://:{m}@redis.example.com:6379/0",
)
NAMES = ("authorization", "cookie", "client_secret", "password", "token", "idempotency_key",
         "api_key", "handle", "signature", "Authorization")  # fmt: skip
Nested = Callable[[str], Any]
PLACES: tuple[Nested, ...] = (
    lambda text: text,
    lambda text: [text],
    lambda text: {"inner": text},
    lambda text: {"inner": [{"deeper": (text,)}]},
    lambda text: {text: 1},
    ValueError,
    lambda text: text.encode(),
)


@given(MARK, st.sampled_from(LOOKS), AROUND, AROUND, st.sampled_from(PLACES))
def test_what_looks_like_a_secret_is_cut_out(
    mark: str, look: Callable[[str], str], before: str, after: str, place: Nested
) -> None:
    event = {
        "event": f"x{before}{look(mark)}{after}",
        "note": place(f"{before}{look(mark)}{after}"),
    }
    assert mark not in repr(scrub(None, "info", event))


@given(MARK, st.sampled_from(NAMES), st.sampled_from(PLACES))
def test_what_is_named_like_a_secret_is_cut_out(mark: str, name: str, place: Nested) -> None:
    assert mark not in repr(scrub(None, "info", {"event": "x", name: place(mark)}))
    assert mark not in repr(scrub(None, "info", {"event": "x", "headers": {name: place(mark)}}))


@given(st.text(string.ascii_lowercase + " ", min_size=1, max_size=80))
def test_what_is_none_stays(text: str) -> None:
    event = {"event": text, "reason": text, "count": 3, "by": ["ada"]}
    assert scrub(None, "info", dict(event)) == event


@pytest.mark.parametrize("look", LOOKS)
def test_the_standard_librarys_logs_are_scrubbed_too(look: Callable[[str], str]) -> None:
    out = io.StringIO()
    logger = logging.Logger("library")
    handler = logging.StreamHandler(out)
    handler.setFormatter(ScrubbingFormatter())
    logger.addHandler(handler)
    mark = "aB3dE6gH9jK2mN5p"
    try:
        raise ValueError(look(mark))
    except ValueError:
        logger.exception("failed for %s", look(mark))
    assert "failed for" in out.getvalue()
    assert "Traceback" in out.getvalue()
    assert mark not in out.getvalue()


def test_a_request_that_could_not_be_parsed_is_not_quoted() -> None:
    record = logging.LogRecord("aiohttp.server", 40, "", 0, "Error handling request", (), None)
    try:
        raise BadStatusLine("GET /nowhere/not-of-any-form HTTP/9.9")
    except BadStatusLine as error:
        record.exc_info = (BadStatusLine, error, error.__traceback__)
    text = ScrubbingFormatter().format(record)
    assert "BadStatusLine" in text
    assert "not-of-any-form" not in text
