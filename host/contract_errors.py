"""A validator's errors as sentences that a person who fills in a form understands.

The library's own words quote the whole value and speak of keywords, so each keyword has a sentence
here; a value is never quoted, and what the schema allows is quoted up to 80 characters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jsonschema_rs as rs
import orjson

_QUOTED: Final = 80

_TYPES: Final[dict[str, str]] = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_FORMATS: Final[dict[str, str]] = {
    "email": "an email address, like name@example.com",
    "idn-email": "an email address, like name@example.com",
    "uri": "a whole address, like https://example.com/page",
    "date": "a date, like 2030-01-31",
    "time": "a time with its offset, like 09:30:00Z",
    "date-time": "a date and time with its offset, like 2030-01-31T09:30:00Z",
    "uuid": "a UUID, like 123e4567-e89b-42d3-a456-426614174000",
    "hostname": "a host name, like www.example.com",
    "ipv4": "an IPv4 address, like 192.0.2.1",
    "ipv6": "an IPv6 address, like 2001:db8::1",
    "duration": "a duration, like P1DT2H",
    "regex": "a regular expression",
}


def quote(value: Any) -> str:
    """A constant of a schema as JSON, cut to 80 characters."""
    try:
        text = orjson.dumps(value, default=str).decode()
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _types(kind: dict[str, Any]) -> str:
    wanted = sorted(kind["types"], key=lambda name: (name == "null", name))
    names = [_TYPES.get(name, name) for name in wanted]
    return f"It must be {' or '.join(names)}."


def _options(kind: dict[str, Any]) -> str:
    options = kind["options"]
    listed = ", ".join(quote(option) for option in options[:20])
    more = "" if len(options) <= 20 else ", …"
    text = listed + more
    return f"It must be one of {text if len(text) <= _QUOTED else text[: _QUOTED - 1] + '…'}"


_SENTENCES: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "type": _types,
    "enum": _options,
    "const": lambda k: f"It must be {quote(k['expected_value'])}.",
    "minLength": lambda k: f"It must have at least {_count(k['limit'], 'character')}.",
    "maxLength": lambda k: f"It must have at most {_count(k['limit'], 'character')}.",
    "minItems": lambda k: f"It must have at least {_count(k['limit'], 'item')}.",
    "maxItems": lambda k: f"It must have at most {_count(k['limit'], 'item')}.",
    "minProperties": lambda k: f"It must have at least {_count(k['limit'], 'member')}.",
    "maxProperties": lambda k: f"It must have at most {_count(k['limit'], 'member')}.",
    "minimum": lambda k: f"It must be {quote(k['limit'])} or more.",
    "maximum": lambda k: f"It must be {quote(k['limit'])} or less.",
    "exclusiveMinimum": lambda k: f"It must be more than {quote(k['limit'])}.",
    "exclusiveMaximum": lambda k: f"It must be less than {quote(k['limit'])}.",
    "multipleOf": lambda k: f"It must be a multiple of {quote(k['multiple_of'])}.",
    "pattern": lambda k: f"It must match the pattern {quote(k['pattern'])}.",
    "format": lambda k: f"It must be {_FORMATS.get(k['format'], 'a ' + quote(k['format']))}.",
    "uniqueItems": lambda _: "Its items must all differ.",
    "contains": lambda _: "It lacks an item that the schema requires, or has too many of it.",
    "anyOf": lambda _: "It fits none of the forms that the schema allows.",
    "oneOf": lambda _: "It must fit exactly one of the forms that the schema allows.",
    "not": lambda _: "It is a value that the schema rules out.",
    "propertyNames": lambda _: "One of its names is not allowed.",
    "falseSchema": lambda _: "It must be left out.",
    "additionalItems": lambda k: f"It must have at most {_count(k['limit'], 'item')}.",
    "unevaluatedItems": lambda _: "It has items that the schema does not allow.",
}
_UNEXPECTED: Final = ("additionalProperties", "unevaluatedProperties")


def explain(error: rs.ValidationError) -> list[tuple[list[str | int], str]]:
    """The places and sentences of one error: as a rule one, for unexpected members one each.

    The path of a missing member ends in its name, so that a form finds its field.
    """
    path = list(error.instance_path)
    name, details = error.kind.name, error.kind.as_dict()
    if name == "required":
        return [([*path, str(details["property"])], "It is required.")]
    if name in _UNEXPECTED and details.get("unexpected"):
        return [([*path, str(extra)], "It is not expected.") for extra in details["unexpected"]]
    if name == "falseSchema" and error.schema_path and error.schema_path[-1] in _UNEXPECTED:
        return [(path, "It has a member that is not expected.")]
    make = _SENTENCES.get(name)
    if make is None:
        return [(path, f"It does not satisfy {quote(name)} of its schema.")]
    return [(path, make(details))]
