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
from schemas.errors import Refusal

MOST: Final = 1000
_DEEPEST: Final = 40
_MOST_STEPS: Final = 20_000

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Pick:
    """One value that has to be an option of `picker`, and where it stands in the answer."""

    picker: str
    option: str
    path: Path


def picks(schema: Any, value: Any) -> list[Pick]:
    """Every value under an annotated schema, each place once.

    Each subschema meets each place of the value once, whatever refers to it: a schema that refers to itself
    costs no more than one that doesn't. Raises `Refusal` (`validation_error`) when there are more than `MOST`
    picks or `_MOST_STEPS` meetings: what can't be checked is not taken.
    """
    found: dict[tuple[str, Path], Pick] = {}
    waiting: list[tuple[Any, Any, Path]] = [(schema, value, ())]
    met: set[tuple[int, Path]] = set()
    while waiting:
        if len(met) > _MOST_STEPS or len(found) > MOST:
            raise Refusal("validation_error", "This answer has too many choices in it. Send fewer.")
        node, there, path = waiting.pop()
        if not isinstance(node, dict) or len(path) > _DEEPEST or (id(node), path) in met:
            continue
        met.add((id(node), path))
        picker = node.get(PICKER)
        if isinstance(picker, str) and isinstance(there, str):
            found.setdefault((picker, path), Pick(picker, there, path))
        waiting += reversed(list(_below(node, schema, there, path)))
    return list(found.values())


def _below(
    node: dict[str, Any], root: Any, value: Any, path: Path
) -> Iterator[tuple[Any, Any, Path]]:
    """The subschemas that a value, or one of its members, has to meet as well."""
    reference = node.get("$ref")
    if isinstance(reference, str):
        yield _local(reference, root), value, path
    for branch in _branches(node, value):
        yield branch, value, path
    if isinstance(value, dict):
        properties = node.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for name, inner in value.items():
            yield known.get(name, node.get("additionalProperties")), inner, (*path, name)
    if isinstance(value, list):
        tuples = node.get("prefixItems")
        first = tuples if isinstance(tuples, list) else []
        for place, inner in enumerate(value):
            below = first[place] if place < len(first) else node.get("items")
            yield below, inner, (*path, place)


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
