"""Structured logs that hold no secret: what looks like one is cut out before a line is written."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_SECRET_NAMES = re.compile(
    r"(authorization|cookie|secret|password|token|idempotency|api_?key|handle|signature)", re.I
)
_SECRET_TEXT = re.compile(
    r"ow2\.[\w.~-]+|xox[a-z]-[\w-]+|xapp-[\w-]+|whsec_[\w+/=-]+|sayso_[a-z]+_[\w-]+"
    r"|(?<=/a/)[\w.~-]+|(?<=Bearer )\S+|(?<=://)[^/@\s:]+:[^/@\s]+(?=@)",
)


def scrub(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: secrets by the name of their field and by the look of their text."""
    for name, value in event.items():
        if name != "event" and _SECRET_NAMES.search(name):
            event[name] = "[scrubbed]"
        elif isinstance(value, str):
            event[name] = _SECRET_TEXT.sub("[scrubbed]", value)
    return event


class _ScrubbingFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = _SECRET_TEXT.sub("[scrubbed]", record.getMessage())
        record.args = ()
        return True


def configure(level: str, pretty: bool) -> None:
    """Set up structlog and the standard library's logging, both to standard error."""
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if pretty
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            scrub,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_ScrubbingFilter())
    handler.setFormatter(logging.Formatter("%(asctime)s [%(levelname)s] %(name)s: %(message)s"))
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[handler], force=True)
