"""Which parts of an answer were picked from a picker's options: a schema walked beside a value. Pure.

`x-sayso-picker` annotates the schema of a string (kortyx' dynamic picker: choices that the request does not
hold). JSON Schema says whether a value has the right form; whether such an option exists, only the source
of the options knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from schemas.contracts import PICKER

MOST: Final = 1000
_DEEPEST: Final = 40


@dataclass(frozen=True, slots=True)
class Pick:
    """One value that has to be an option of `picker`, and where it stands in the answer."""

    picker: str
    option: str
    path: tuple[str | int, ...]


def picks(schema: Any, value: Any) -> list[Pick]:
    """Every value under an annotated schema, each place once; at most `MOST`."""
    found: dict[tuple[str, tuple[str | int, ...]], Pick] = {}
    for one in _walk(schema, schema, value, (), 0):
        if len(found) >= MOST:
            break
        found.setdefault((one.picker, one.path), one)
    return list(found.values())


def _walk(
    schema: Any, root: Any, value: Any, path: tuple[str | int, ...], depth: int
) -> Iterator[Pick]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    picker = schema.get(PICKER)
    if isinstance(picker, str) and isinstance(value, str):
        yield Pick(picker, value, path)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _walk(_local(reference, root), root, value, path, depth + 1)
    for branch in _branches(schema, value):
        yield from _walk(branch, root, value, path, depth + 1)
    if isinstance(value, dict):
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for name, inner in value.items():
            below = known.get(name, schema.get("additionalProperties"))
            yield from _walk(below, root, inner, (*path, name), depth + 1)
    if isinstance(value, list):
        tuples = schema.get("prefixItems")
        first = tuples if isinstance(tuples, list) else []
        for place, inner in enumerate(value[:MOST]):
            below = first[place] if place < len(first) else schema.get("items")
            yield from _walk(below, root, inner, (*path, place), depth + 1)


def _branches(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """The parts of a combined schema that may be meant. A constant beside a picker ("none of these") is
    an answer of its own."""
    for word in ("allOf", "anyOf", "oneOf"):
        parts = schema.get(word)
        if not isinstance(parts, list):
            continue
        if word != "allOf" and any(_names(part, value) for part in parts):
            continue
        yield from parts


def _names(schema: Any, value: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    listed = schema.get("enum")
    options = listed if isinstance(listed, list) else []
    if "const" in schema:
        options = [schema["const"]]
    return any(type(one) is type(value) and one == value for one in options)


def _local(reference: str, root: Any) -> Any:
    """What a reference inside the document points to, or None."""
    if not reference.startswith("#"):
        return None
    node = root
    for token in unquote(reference[1:]).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        node = node.get(token) if isinstance(node, dict) else None
    return node
