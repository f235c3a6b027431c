"""What a JSON Schema asks of a person: references resolved, unions read, a field kind chosen.

Pure, and total: any JSON object is accepted, since what can't be understood becomes a field of JSON
text. Nothing here decides whether an answer is right; the host's own check of the same schema does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from adapters.views import Choice, FieldKind

Schema = dict[str, Any]

MERGE_DEPTH: Final = 8  # chains of $ref and allOf deeper than this are shown as JSON text
LONG_TEXT: Final = 200  # characters: above it a text gets several lines
LABEL_LENGTH: Final = 150

_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
    | {"$comment", "$schema", "$id", "$defs", "$anchor", "definitions"}
)
_WORD_ENDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-.\s]+")
_TEXT_WORDS: Final = ("pattern", "minLength", "maxLength", "format", "contentMediaType")
_NUMBER_WORDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LONG_FORMATS: Final = frozenset({"textarea", "markdown", "multiline", "html"})
_TEXT_KINDS: Final[dict[str, FieldKind]] = {
    "date": "date",
    "time": "time",
    "date-time": "datetime",
    "email": "email",
    "uri": "url",
    "url": "url",
}


def resolve(schema: Any, root: Any, depth: int = 0) -> Schema | None:
    """The schema with its local `$ref` followed and its `allOf` merged in.

    None when that can't be done: `false`, a remote or dangling reference, a cycle, a chain longer
    than `MERGE_DEPTH`. `true` is `{}`.
    """
    if schema is True:
        return {}
    if not isinstance(schema, dict) or depth > MERGE_DEPTH:
        return None
    merged = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    parts: list[Any] = []
    if "$ref" in schema:
        parts.append(_target(schema["$ref"], root))
    if isinstance(schema.get("allOf"), list):
        parts.extend(schema["allOf"][:50])
    for part in parts:
        resolved = resolve(part, root, depth + 1)
        if resolved is None:
            return None
        merged = _merge(merged, resolved)
    return merged


def _target(ref: Any, root: Any) -> Any:
    """What a local reference points to, or None. An anchor is looked up in `$defs` alone."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    pointer = unquote(ref[1:])
    if pointer and not pointer.startswith("/"):
        defs = root.get("$defs") if isinstance(root, dict) else None
        found = defs.values() if isinstance(defs, dict) else ()
        return next((d for d in found if isinstance(d, dict) and d.get("$anchor") == pointer), None)
    node = root
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and token in node:
            node = node[token]
        elif isinstance(node, list) and token.isdecimal() and int(token) < len(node):
            node = node[int(token)]
        else:
            return None
    return node


def _merge(left: Schema, right: Schema) -> Schema:
    """Both at once, as far as a form needs it: the stricter bound, all properties, all required.

    Where two keywords can't be joined the left one stays; the host checks the whole schema anyway.
    """
    merged = {**right, **left}
    mine, theirs = left.get("properties"), right.get("properties")
    if isinstance(mine, dict) and isinstance(theirs, dict):
        merged["properties"] = {
            **mine,
            **{k: {"allOf": [mine[k], v]} if k in mine else v for k, v in theirs.items()},
        }
    if isinstance(left.get("required"), list) and isinstance(right.get("required"), list):
        merged["required"] = [*left["required"], *right["required"]]
    for key in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
        if is_number(left.get(key)) and is_number(right.get(key)):
            merged[key] = max(left[key], right[key])
    for key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
        if is_number(left.get(key)) and is_number(right.get(key)):
            merged[key] = min(left[key], right[key])
    return merged


def without_null(schema: Schema, root: Any) -> tuple[Schema, bool]:
    """The schema of a real answer, and whether null is one too.

    Reads `type: [T, "null"]` and `anyOf`/`oneOf` of one schema and null.
    """
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        rest = [kind for kind in kinds if kind != "null"]
        if len(rest) == 1:
            return {**schema, "type": rest[0]}, True
        return {**schema, "type": rest} if rest else {**schema, "type": "null"}, True
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if isinstance(options, list) and len(options) == 2:
            real = [option for option in options if not _is_null(option)]
            if len(real) == 1:
                inner = resolve(real[0], root)
                if inner is not None and "const" not in inner:
                    outer = {key: value for key, value in schema.items() if key != word}
                    return _merge(outer, inner), True
    return schema, False


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def type_of(schema: Mapping[str, Any]) -> str:
    """The one JSON type that the schema asks for; "any" for no constraint, "" for anything else."""
    kind = schema.get("type")
    if isinstance(kind, list) and len(kind) == 1:
        kind = kind[0]
    if isinstance(kind, str):
        return kind
    if kind is not None:
        return ""
    if isinstance(schema.get("properties"), dict):
        return "object"
    if "items" in schema:
        return "array"
    if any(word in schema for word in ("anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef")):
        return ""
    if any(word in schema for word in _TEXT_WORDS):
        return "string"
    if any(word in schema for word in _NUMBER_WORDS):
        return "number"
    free = all(key in _ANNOTATIONS or key.startswith("x-") for key in schema)
    return "any" if free else ""


def choices_of(schema: Mapping[str, Any], root: Any) -> tuple[Choice, ...]:
    """The options of a closed set: `enum`, or `oneOf`/`anyOf` of constants. Empty when it is open.

    Duplicates, and constants of another type than `type` asks for, are left out.
    """
    options: list[Choice] = []
    if isinstance(schema.get("enum"), list):
        options = [Choice(value, shown(value)) for value in schema["enum"]]
    else:
        for word in ("oneOf", "anyOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                options = _constants(schema[word], root)
                break
    kept: dict[str, Choice] = {}
    for option in options:
        if has_type(option.value, schema.get("type")):
            kept.setdefault(identity(option.value), option)
    return tuple(kept.values())


def _constants(branches: list[Any], root: Any) -> list[Choice]:
    options: list[Choice] = []
    for branch in branches:
        schema = resolve(branch, root)
        if schema is None:
            return []
        enum = schema.get("enum")
        if "const" in schema:
            value = schema["const"]
        elif isinstance(enum, list) and len(enum) == 1:
            value = enum[0]
        elif schema.get("type") == "null":
            value = None
        else:
            return []
        label = text(schema.get("title")) or shown(value)
        options.append(Choice(value, label[:LABEL_LENGTH], text(schema.get("description"))))
    return options


def text_kind(schema: Mapping[str, Any]) -> FieldKind:
    """The kind of a string."""
    wanted = text(schema.get("format"))
    if wanted in _TEXT_KINDS:
        return _TEXT_KINDS[wanted]
    longest, shortest = bound(schema, "maxLength"), bound(schema, "minLength")
    long = (longest or 0) > LONG_TEXT or (shortest or 0) > LONG_TEXT or wanted in _LONG_FORMATS
    return "longtext" if long or "contentMediaType" in schema else "text"


def is_secret(schema: Mapping[str, Any]) -> bool:
    """Whether the answer must not be kept or shown by a third party."""
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def has_type(value: Any, kinds: Any) -> bool:
    """Whether a value is of (one of) these JSON Schema types; True when no type is asked for."""
    if isinstance(kinds, list):
        return any(has_type(value, kind) for kind in kinds if isinstance(kind, str))
    match kinds:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return is_number(value) and (isinstance(value, int) or value.is_integer())
        case "number":
            return is_number(value)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True


def is_number(value: Any) -> bool:
    """A JSON number; booleans are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def bound(schema: Mapping[str, Any], key: str) -> int | None:
    """A count such as `maxLength`, or None when it is absent or no whole number of 0 or more."""
    value = schema.get(key)
    if not isinstance(value, int | float) or not has_type(value, "integer") or value < 0:
        return None
    return int(value)


def identity(value: Any) -> str:
    """Equal for equal JSON values. `1` and `1.0` are equal, `1` and `true` are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=True, default=repr)


def shown(value: Any) -> str:
    """A constant as a person reads it."""
    if value is None:
        return "None"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return words[:LABEL_LENGTH].strip() or "(empty)"


def text(value: Any) -> str:
    """The value when it is a string, else ""."""
    return value.strip() if isinstance(value, str) else ""


def label_of(schema: Mapping[str, Any], name: str) -> str:
    """The title, else the property name in words: `firstName` is "First name"."""
    title = text(schema.get("title"))
    if not title:
        words = re.sub(
            r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-.\s]+", " ", name[:300]
        )
        parts = [w if w.isupper() and len(w) > 1 else w.lower() for w in words.split()]
        title = " ".join(parts)
        title = title[:1].upper() + title[1:]
    return title[:LABEL_LENGTH].strip() or "Answer"
