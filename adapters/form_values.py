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
from adapters.languages.catalogue import Words
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


def read(field: Field, raw: Any) -> Any:
    """The JSON value of one field, `EMPTY` when it was not answered. Raises `Wrong`."""
    if field.kind == "choices":
        if isinstance(raw, str):
            raw = [raw] if raw else []
        return _choices(field, raw or [])
    if raw is None or raw == "":
        return EMPTY
    if not isinstance(raw, str):
        raise Wrong("one_value")
    if field.kind in ("text", "longtext"):
        words = raw.replace("\r\n", "\n")
        return _text(field, words) if words.strip() else EMPTY
    raw = raw.strip()
    return _READERS[field.kind](field, raw) if raw else EMPTY


def _text(field: Field, words: str) -> str:
    if field.min_length is not None and len(words) < field.min_length:
        raise Wrong("at_least", count=field.min_length)
    if field.max_length is not None and len(words) > field.max_length:
        over = len(words) - field.max_length
        raise Wrong("at_most", count=field.max_length, over=over)
    return words


def _email(field: Field, raw: str) -> str:
    if not _EMAIL.fullmatch(raw):
        raise Wrong("email")
    return _text(field, raw)


def _url(field: Field, raw: str) -> str:
    try:
        good = bool(urlsplit(raw).scheme) and not re.search(r"\s", raw)
    except ValueError:
        good = False
    if not good:
        raise Wrong("url")
    return _text(field, raw)


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


def _choice(field: Field, raw: str) -> Any:
    if not (raw.isascii() and raw.isdecimal() and len(raw) < 7 and int(raw) < len(field.choices)):
        raise Wrong("choice")
    return field.choices[int(raw)].value


def _choices(field: Field, raw: Any) -> Any:
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        raise Wrong("choices")
    for item in raw:
        _choice(field, item)
    picked = sorted({int(item) for item in raw})
    if not picked:
        return EMPTY
    return _items(field, [field.choices[index].value for index in picked], "choose")


def _items(field: Field, items: list[Any], verb: str) -> list[Any]:
    least = bound(field.schema, "minItems") or 0
    if len(items) < least:
        raise Wrong(f"{verb}_least", count=least)
    if field.max_items is not None and len(items) > field.max_items:
        raise Wrong(f"{verb}_most", count=field.max_items)
    return items


def _list(field: Field, raw: str) -> Any:
    items = [line.strip() for line in raw.splitlines() if line.strip()]
    if field.schema.get("uniqueItems") is True and len(set(items)) < len(items):
        twice = next(item for item in items if items.count(item) > 1)
        raise Wrong("twice", item=twice[:60])
    inner = field.schema.get("items")
    least, most = (bound(inner, w) if isinstance(inner, dict) else None for w in _ITEM_BOUNDS)
    for item in items:
        if least is not None and len(item) < least:
            raise Wrong("item_short", count=least, item=item[:60])
        if most is not None and len(item) > most:
            raise Wrong("item_long", count=most, item=item[:60])
    return _items(field, items, "write")


_ITEM_BOUNDS: Final = ("minLength", "maxLength")


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


def _json(field: Field, raw: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise Wrong("json_word", word=word)

    if len(raw) > _JSON_LENGTH:
        raise Wrong("json_length", count=_JSON_LENGTH)
    try:
        value = json.loads(raw, parse_constant=refuse)
        raw.encode()
    except json.JSONDecodeError as error:
        raise Wrong("json_syntax", line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError):
        raise Wrong("json_limit") from None
    if _depth(value) > _JSON_DEPTH:
        raise Wrong("json_depth", count=_JSON_DEPTH)
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
