"""One field's raw value -> JSON, and back. What is wrong is said in a sentence beside the field.

Raw values are what every channel can produce: strings, and lists of strings for several choices.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from adapters.form_schema import bound, identity, is_number
from adapters.views import Field

MARK: Final = "x-sayso-form"

EMPTY: Final = object()
_JSON_LENGTH: Final = 262_144  # characters of JSON text in one field
_JSON_DEPTH: Final = 64
_NUMBER_LENGTH: Final = 60
_LARGEST: Final = 2**63 - 1  # what every JSON library of ours can carry
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_TIME: Final = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?")
TEXTS: Final = frozenset({"text", "longtext", "email", "url"})

Raw = str | list[str]


class Wrong(Exception):
    """A value that can't be the answer; its text is the sentence for the person."""


def read(field: Field, raw: Any) -> Any:
    """The JSON value of one field, `EMPTY` when it was not answered. Raises `Wrong`."""
    if field.kind == "choices":
        if isinstance(raw, str):
            raw = [raw] if raw else []
        return _choices(field, raw or [])
    if raw is None or raw == "":
        return EMPTY
    if not isinstance(raw, str):
        raise Wrong("This field takes one value.")
    if field.kind in ("text", "longtext"):
        words = raw.replace("\r\n", "\n")
        return _text(field, words) if words.strip() else EMPTY
    raw = raw.strip()
    return _READERS[field.kind](field, raw) if raw else EMPTY


def _text(field: Field, words: str) -> str:
    if field.min_length is not None and len(words) < field.min_length:
        raise Wrong(f"Write at least {_count(field.min_length, 'character')}.")
    if field.max_length is not None and len(words) > field.max_length:
        over = len(words) - field.max_length
        raise Wrong(f"Write at most {_count(field.max_length, 'character')} ({over} too many).")
    return words


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _email(field: Field, raw: str) -> str:
    if not _EMAIL.fullmatch(raw):
        raise Wrong("Write an email address, like name@example.com.")
    return _text(field, raw)


def _url(field: Field, raw: str) -> str:
    try:
        good = bool(urlsplit(raw).scheme) and not re.search(r"\s", raw)
    except ValueError:
        good = False
    if not good:
        raise Wrong("Write a whole address, like https://example.com/page.")
    return _text(field, raw)


def _boolean(field: Field, raw: str) -> bool:
    if raw not in ("true", "false"):
        raise Wrong("Choose yes or no.")
    return raw == "true"


def _integer(field: Field, raw: str) -> int:
    number = _decimal(raw, "Write a whole number, like 12.")
    if number != number.to_integral_value():
        raise Wrong("Write a whole number, like 12.")
    return int(_in_bounds(field, number))


def _number(field: Field, raw: str) -> int | float:
    number = _in_bounds(field, _decimal(raw, "Write a number, like 12 or 3.5."))
    whole = number == number.to_integral_value()
    return int(number) if whole else float(number)


def _decimal(raw: str, sentence: str) -> Decimal:
    raw = raw.replace("−", "-")
    if "," in raw:
        raise Wrong(f"{sentence} Use a point for decimals and nothing between thousands.")
    try:
        number = Decimal(raw) if len(raw) <= _NUMBER_LENGTH and "_" not in raw else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise Wrong(sentence)
    if number.adjusted() > 18 or abs(number) > _LARGEST:
        raise Wrong("This number is too large.")
    if number and number.adjusted() < -300:
        raise Wrong("This number is too small.")
    return number


def _in_bounds(field: Field, number: Decimal) -> Decimal:
    more, less = _limit(field, "exclusiveMinimum"), _limit(field, "exclusiveMaximum")
    if field.minimum is not None and number < Decimal(str(field.minimum)):
        raise Wrong(f"It must be {field.minimum} or more.")
    if field.maximum is not None and number > Decimal(str(field.maximum)):
        raise Wrong(f"It must be {field.maximum} or less.")
    if more is not None and number <= Decimal(str(more)):
        raise Wrong(f"It must be more than {more}.")
    if less is not None and number >= Decimal(str(less)):
        raise Wrong(f"It must be less than {less}.")
    step = _limit(field, "multipleOf")
    if step is not None and step > 0:
        ratio = number / Decimal(str(step))
        if ratio.is_finite() and ratio != ratio.to_integral_value():
            raise Wrong(f"It must be a multiple of {step}.")
    return number


def _limit(field: Field, word: str) -> int | float | None:
    limit = field.schema.get(word)
    return limit if is_number(limit) and math.isfinite(limit) else None  # type: ignore[arg-type]


def _choice(field: Field, raw: str) -> Any:
    if not (raw.isascii() and raw.isdecimal() and len(raw) < 7 and int(raw) < len(field.choices)):
        raise Wrong("Choose one of the options.")
    return field.choices[int(raw)].value


def _choices(field: Field, raw: Any) -> Any:
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        raise Wrong("Choose from the options.")
    for item in raw:
        _choice(field, item)
    picked = sorted({int(item) for item in raw})
    if not picked:
        return EMPTY
    return _items(field, [field.choices[index].value for index in picked], "Choose")


def _items(field: Field, items: list[Any], verb: str) -> list[Any]:
    least = bound(field.schema, "minItems") or 0
    if len(items) < least:
        raise Wrong(f"{verb} at least {least}.")
    if field.max_items is not None and len(items) > field.max_items:
        raise Wrong(f"{verb} at most {field.max_items}.")
    return items


def _list(field: Field, raw: str) -> Any:
    items = [line.strip() for line in raw.splitlines() if line.strip()]
    if field.schema.get("uniqueItems") is True and len(set(items)) < len(items):
        twice = next(item for item in items if items.count(item) > 1)
        raise Wrong(f"Write each item once: “{twice[:60]}” is there twice.")
    inner = field.schema.get("items")
    least, most = (bound(inner, w) if isinstance(inner, dict) else None for w in _ITEM_BOUNDS)
    for item in items:
        if least is not None and len(item) < least:
            raise Wrong(f"“{item[:60]}” is shorter than {_count(least, 'character')}.")
        if most is not None and len(item) > most:
            raise Wrong(f"“{item[:60]}” is longer than {_count(most, 'character')}.")
    return _items(field, items, "Write")


_ITEM_BOUNDS: Final = ("minLength", "maxLength")


def _date(field: Field, raw: str) -> str:
    try:
        if len(raw) != 10:
            raise ValueError(raw)
        return date.fromisoformat(raw).isoformat()
    except ValueError:
        raise Wrong("Write a date as year-month-day, like 2030-01-31.") from None


def _time(field: Field, raw: str) -> str:
    """RFC 3339 `full-time` needs an offset; a bare `HH:MM` is in UTC, as the hint says."""
    match = _TIME.fullmatch(raw)
    try:
        if match is None:
            raise ValueError(raw)
        time.fromisoformat(raw)
    except ValueError:
        raise Wrong("Write a time as hours:minutes, like 09:30.") from None
    seconds = "" if match[1] else ":00"
    return f"{raw[:5]}{match[1] or ''}{seconds}{match[3] or 'Z'}"


def _datetime(field: Field, raw: str) -> str:
    try:
        if len(raw) < 16 or raw[10] not in "Tt ":
            raise ValueError(raw)
        moment = datetime.fromisoformat(raw.upper())
    except ValueError:
        raise Wrong("Write a date and time, like 2030-01-31T09:30:00Z.") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    words = moment.isoformat()
    return words.removesuffix("+00:00") + "Z" if words.endswith("+00:00") else words


def _json(field: Field, raw: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise Wrong(f"{word} is not JSON.")

    if len(raw) > _JSON_LENGTH:
        raise Wrong(f"Write at most {_JSON_LENGTH:,} characters.")
    try:
        value = json.loads(raw, parse_constant=refuse)
        raw.encode()
    except json.JSONDecodeError as error:
        raise Wrong(
            f"This is not JSON: line {error.lineno}, column {error.colno}. "
            'Texts need quotes, like "this".'
        ) from None
    except (ValueError, RecursionError):
        raise Wrong("This JSON can't be read: it is nested too deeply or too large.") from None
    if _depth(value) > _JSON_DEPTH:
        raise Wrong(f"Nest at most {_JSON_DEPTH} levels.")
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
    return depth


_READERS: Final[dict[str, Any]] = {
    "email": _email,
    "url": _url,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "choice": _choice,
    "list": _list,
    "date": _date,
    "time": _time,
    "datetime": _datetime,
    "json": _json,
}


def raw_of(field: Field, value: Any) -> Raw:
    """A JSON value as this field's raw value. One that doesn't fit gives what `read` refuses."""
    match field.kind:
        case "choice":
            return next(iter(_indices(field, [value])), "")
        case "choices":
            return _indices(field, value if isinstance(value, list) else [])
        case "list":
            return "\n".join(str(item) for item in value) if isinstance(value, list) else ""
        case "boolean":
            return {True: "true", False: "false"}.get(value, "") if value in (True, False) else ""
        case "integer" | "number":
            return _plain(value) if is_number(value) else ""
        case "time":
            return value.removesuffix("Z").removesuffix(":00") if isinstance(value, str) else ""
        case "json" | "constant":
            return json.dumps(value, ensure_ascii=False, indent=2)
        case _:
            return value if isinstance(value, str) else ""


def _plain(number: int | float) -> str:
    """A number without an exponent, which input fields of numbers refuse."""
    words = format(Decimal(str(number)), "f") if math.isfinite(number) else ""
    return words.rstrip("0").rstrip(".") if "." in words else words


def _indices(field: Field, values: list[Any]) -> list[str]:
    wanted = {identity(value) for value in values}
    return [str(i) for i, choice in enumerate(field.choices) if identity(choice.value) in wanted]


def fits(field: Field, value: Any) -> bool:
    """Whether the field can be prefilled with this value and gives the same one back."""
    try:
        back = read(field, raw_of(field, value))
    except (Wrong, ValueError, TypeError, RecursionError):
        return False
    if isinstance(value, str):
        value = value.replace("\r\n", "\n")
    return back is not EMPTY and identity(back) == identity(value)
