"""Strict JSON: what two readers could understand in two ways is refused. Pure."""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 64
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1


def parse(body: bytes) -> Any:
    """Strict JSON: UTF-8, no duplicate keys, no NaN or Infinity, numbers and nesting within bounds.

    Integers beyond 64 bits and lone surrogates are refused because no store would take them back
    out unchanged (RFC 7493). Raises `ValueError` with a sentence that quotes nothing of the body.
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_not_finite,
            parse_float=_finite,
            parse_int=_within,
        )
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} deep") from None
    _check_tree(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has the same key twice")
    return members


def _not_finite(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _within(text: str) -> int:
    if len(text) > 20 or not _SMALLEST <= int(text) <= _LARGEST:
        raise ValueError("an integer has more than 64 bits")
    return int(text)


def _check_tree(value: Any) -> None:
    """Depth, and characters that can't be encoded. Without recursion: the depth isn't known yet."""
    pending = [(value, 1)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, str):
            if not node.isascii():
                try:
                    node.encode("utf-8")
                except UnicodeEncodeError:
                    raise ValueError("text holds half of a surrogate pair") from None
        elif isinstance(node, (dict, list)):
            if depth > MAX_DEPTH:
                raise ValueError(f"nested more than {MAX_DEPTH} deep")
            if isinstance(node, dict):
                pending.extend((key, depth) for key in node)
                pending.extend((member, depth + 1) for member in node.values())
            else:
                pending.extend((member, depth + 1) for member in node)
