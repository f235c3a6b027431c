"""What was typed -> a text, a number, a date or a time, as one field wants it; and what is wrong with it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from urllib.parse import urlsplit

from adapters.form_schema import is_number
from adapters.languages.catalogue import Words
from adapters.views import Field

_NUMBER_LENGTH: Final = 60
_LARGEST: Final = 2**63 - 1  # what every JSON library of ours can carry
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_TIME: Final = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?")


class Wrong(Exception):
    """A value that can't be the answer: the key of the sentence for the person, and what is put
    into it. With a `count` in it the sentence has plural forms."""

    def __init__(self, key: str, **values: Any) -> None:
        super().__init__(key)
        self.key = key
        self.values = values

    def sentence(self, words: Words) -> str:
        """What the person reads beside the field."""
        values = dict(self.values)
        if self.key == "point":
            values["sentence"] = words(f"wrong.{values['sentence']}")
        count = values.pop("count", None)
        if isinstance(count, int):
            return words.count(f"wrong.{self.key}", count, **{**values, "count": f"{count:,}"})
        return words(f"wrong.{self.key}", **values)


def text(field: Field, words: str) -> str:
    """Words of a length that the field takes. Raises `Wrong`."""
    if field.min_length is not None and len(words) < field.min_length:
        raise Wrong("at_least", count=field.min_length)
    if field.max_length is not None and len(words) > field.max_length:
        over = len(words) - field.max_length
        raise Wrong("at_most", count=field.max_length, over=over)
    return words


def _email(field: Field, raw: str) -> str:
    if not _EMAIL.fullmatch(raw):
        raise Wrong("email")
    return text(field, raw)


def _url(field: Field, raw: str) -> str:
    try:
        good = bool(urlsplit(raw).scheme) and not re.search(r"\s", raw)
    except ValueError:
        good = False
    if not good:
        raise Wrong("url")
    return text(field, raw)


def _boolean(field: Field, raw: str) -> bool:
    if raw not in ("true", "false"):
        raise Wrong("boolean")
    return raw == "true"


def _integer(field: Field, raw: str) -> int:
    number = _decimal(raw, "integer")
    if number != number.to_integral_value():
        raise Wrong("integer")
    return int(_in_bounds(field, number))


def _number(field: Field, raw: str) -> int | float:
    number = _in_bounds(field, _decimal(raw, "number"))
    whole = number == number.to_integral_value()
    return int(number) if whole else float(number)


def _decimal(raw: str, sentence: str) -> Decimal:
    raw = raw.replace("−", "-")
    if "," in raw:
        raise Wrong("point", sentence=sentence)
    try:
        number = Decimal(raw) if len(raw) <= _NUMBER_LENGTH and "_" not in raw else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise Wrong(sentence)
    if number.adjusted() > 18 or abs(number) > _LARGEST:
        raise Wrong("too_large")
    if number and number.adjusted() < -300:
        raise Wrong("too_small")
    return number


def _in_bounds(field: Field, number: Decimal) -> Decimal:
    more, less = _limit(field, "exclusiveMinimum"), _limit(field, "exclusiveMaximum")
    if field.minimum is not None and number < Decimal(str(field.minimum)):
        raise Wrong("minimum", limit=field.minimum)
    if field.maximum is not None and number > Decimal(str(field.maximum)):
        raise Wrong("maximum", limit=field.maximum)
    if more is not None and number <= Decimal(str(more)):
        raise Wrong("more", limit=more)
    if less is not None and number >= Decimal(str(less)):
        raise Wrong("less", limit=less)
    step = _limit(field, "multipleOf")
    if step is not None and step > 0:
        ratio = number / Decimal(str(step))
        if ratio.is_finite() and ratio != ratio.to_integral_value():
            raise Wrong("multiple", limit=step)
    return number


def _limit(field: Field, word: str) -> int | float | None:
    limit = field.schema.get(word)
    return limit if is_number(limit) and math.isfinite(limit) else None  # type: ignore[arg-type]


def _date(field: Field, raw: str) -> str:
    try:
        if len(raw) != 10:
            raise ValueError(raw)
        return date.fromisoformat(raw).isoformat()
    except ValueError:
        raise Wrong("date") from None


def _time(field: Field, raw: str) -> str:
    """RFC 3339 `full-time` needs an offset; a bare `HH:MM` is in UTC, as the hint says."""
    match = _TIME.fullmatch(raw)
    try:
        if match is None:
            raise ValueError(raw)
        time.fromisoformat(raw)
    except ValueError:
        raise Wrong("time") from None
    seconds = "" if match[1] else ":00"
    return f"{raw[:5]}{match[1] or ''}{seconds}{match[3] or 'Z'}"


def _datetime(field: Field, raw: str) -> str:
    try:
        if len(raw) < 16 or raw[10] not in "Tt ":
            raise ValueError(raw)
        moment = datetime.fromisoformat(raw.upper())
    except ValueError:
        raise Wrong("datetime") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    words = moment.isoformat()
    return words.removesuffix("+00:00") + "Z" if words.endswith("+00:00") else words


def plain(number: int | float) -> str:
    """A number without an exponent, which input fields of numbers refuse."""
    words = format(Decimal(str(number)), "f") if math.isfinite(number) else ""
    return words.rstrip("0").rstrip(".") if "." in words else words


SCALARS: Final[dict[str, Callable[[Field, str], Any]]] = {
    "email": _email,
    "url": _url,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "date": _date,
    "time": _time,
    "datetime": _datetime,
}
"""How the text of one field is read, by its kind. Each raises `Wrong`."""
