"""One field's raw value -> JSON, and back. What is wrong is said in a sentence beside the field.

Raw values are what every channel can produce: strings, and lists of strings for several choices.
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from adapters.form_scalars import SCALARS, Wrong, plain, text
from adapters.form_schema import bound, identity, is_number
from adapters.views import Field

MARK: Final = "x-sayso-form"

EMPTY: Final = object()
_JSON_LENGTH: Final = 262_144  # characters of JSON text in one field
_JSON_DEPTH: Final = 64
TEXTS: Final = frozenset({"text", "longtext", "email", "url"})

Raw = str | list[str]


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
        return text(field, words) if words.strip() else EMPTY
    raw = raw.strip()
    return _READERS[field.kind](field, raw) if raw else EMPTY


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


_READERS: Final = {**SCALARS, "choice": _choice, "list": _list, "json": _json}


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
            return plain(value) if is_number(value) else ""
        case "time":
            return value.removesuffix("Z").removesuffix(":00") if isinstance(value, str) else ""
        case "json" | "constant":
            return json.dumps(value, ensure_ascii=False, indent=2)
        case _:
            return value if isinstance(value, str) else ""


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
