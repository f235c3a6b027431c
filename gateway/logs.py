"""Structured logs that hold no secret: what looks like one is cut out before a line is written."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, TextIO

import structlog
from aiohttp.http_exceptions import HttpProcessingError

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being served, or ""."""

_SECRET_NAMES: Final = re.compile(
    r"(authorization|cookie|secret|password|token|idempotency|api_?key|handle|signature)", re.I
)
_SECRET_TEXT: Final = re.compile(
    r"ow2\.[\w.~-]+|eyJ[\w-]+\.[\w-]+\.[\w-]+|xox[a-z]-[\w-]+|xapp-[\w-]+|whsec_[\w+/=-]+|sayso_[a-z]+_[\w-]+"
    r"|(?<=/a/)[\w.~-]+|(?<=Bearer )\S+|(?<=password=)[^&\s]+|(?<=://)[^/@\s:]*:[^/@\s]+(?=@)",
)
_CUT: Final = "[scrubbed]"
_DEEPEST: Final = 8


def scrub(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: secrets by the name of their field and by the look of their text, at any
    depth."""
    for name, value in event.items():
        named = name != "event" and _is_secret(name)
        event[name] = _CUT if named else _clean(value)
    return event


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAMES.search(name) is not None


def _clean(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _SECRET_TEXT.sub(_CUT, value)
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {
            _SECRET_TEXT.sub(_CUT, str(name)): _CUT
            if _is_secret(str(name))
            else _clean(inner, depth + 1)
            for name, inner in value.items()
        }
    if depth < _DEEPEST and isinstance(value, list | tuple | set | frozenset):
        return [_clean(inner, depth + 1) for inner in value]
    return _SECRET_TEXT.sub(_CUT, repr(value))


class ScrubbingFormatter(logging.Formatter):
    """For the logs of libraries: the whole text is looked through, with its traceback.

    Of a request that could not be parsed only the kind of mistake is told: aiohttp's error quotes the
    bytes, and no look tells what in them is secret.
    """

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # what another handler's formatter left there
        text = super().format(record)
        return str(_SECRET_TEXT.sub(_CUT, text))

    def formatException(self, ei: Any) -> str:
        if isinstance(ei[1], HttpProcessingError):
            return type(ei[1]).__name__
        return super().formatException(ei)


def _name_request(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the request that a line belongs to."""
    found = request_id.get()
    if found:
        event.setdefault("request_id", found)
    return event


def configure(level: str, pretty: bool, stream: TextIO | None = None) -> None:
    """Set up structlog and the standard library's logging, both to `stream` (standard error)."""
    out = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=out.isatty())
        if pretty
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            _name_request,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            scrub,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(ScrubbingFormatter("%(asctime)s [%(levelname)s] %(name)s: %(message)s"))
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[handler], force=True)
