"""How many checks one value will cause under one schema. See `host.schema_bounds` for why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from host.schema_bounds import (
    MAX_PAIRS,
    PATTERN_COST,
    OutOfBounds,
    Survey,
    has_pattern,
    same_value,
)
from host.schema_costs import Costs

MAX_VALUE_DEPTH: Final = 64

Weigh = Callable[[dict[str, Any], Any], int]
"""(subschema, a place of the value) -> what it counts there, its subschemas left out."""

_TOO_LARGE: Final = "It is too large to be checked against its schema."


def size(value: Any, levels: int = MAX_VALUE_DEPTH) -> tuple[int, int]:
    """How many places a value has (itself, its members, its items) and how many characters.

    Raises `OutOfBounds` when it is nested more than `levels` deep.
    """
    places = characters = 0
    level: list[Any] = [value]
    for _ in range(levels + 1):
        places += len(level)
        deeper: list[Any] = []
        for node in level:
            if isinstance(node, str):
                characters += len(node)
            elif isinstance(node, dict):
                characters += sum(map(len, node))
                deeper.extend(node.values())
            elif isinstance(node, list | tuple):
                deeper.extend(node)
        if not deeper:
            return places, characters
        level = deeper
    raise OutOfBounds(f"It is nested more than {levels} levels deep.")


def at_most(survey: Survey, places: int, characters: int) -> int:
    """An upper bound that needs no walk. Right only for schemas that don't refer to themselves."""
    return survey.reach * places + PATTERN_COST * survey.pattern_reach * characters


def work(survey: Survey, value: Any) -> int:
    """The number of checks, counted by walking schema and value together.

    Raises `OutOfBounds` after `MAX_PAIRS` pairs of subschema and place.
    """
    return _walked(survey, value, _checks)


def costs(survey: Survey, value: Any) -> int:
    """What the keywords themselves cost, in checks, counted in the same way. Raises `OutOfBounds`."""
    return _walked(survey, value, Costs())


def _walked(survey: Survey, value: Any, weigh: Weigh) -> int:
    try:
        return _Counter(survey.targets, weigh).count(survey.root, value)
    except RecursionError:
        raise OutOfBounds(_TOO_LARGE) from None


def _checks(node: dict[str, Any], value: Any) -> int:
    return 1 + (PATTERN_COST * _characters(value) if has_pattern(node) else 0)


class _Counter:
    """Counts with memory. Nothing is made here that could get the `id` of something gone."""

    def __init__(self, targets: dict[int, Any], weigh: Weigh) -> None:
        self._targets = targets
        self._weigh = weigh
        self._counted: dict[tuple[int, int], int] = {}

    def count(self, node: Any, value: Any) -> int:
        if not isinstance(node, dict):
            return 1
        pair = (id(node), id(value))
        known = self._counted.get(pair)
        if known is not None:
            return known
        if len(self._counted) >= MAX_PAIRS:
            raise OutOfBounds(_TOO_LARGE)
        self._counted[pair] = 1
        total = self._weigh(node, value)
        for child in same_value(node, self._targets):
            total += self.count(child, value)
        for child, part in _parts(node, value):
            total += self.count(child, part)
        self._counted[pair] = total
        return total


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(len, value)) if isinstance(value, dict) else 0


def _parts(node: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Each subschema that may be applied to a part of this value, with that part."""
    if isinstance(value, dict):
        yield from _members(node, value)
    elif isinstance(value, list | tuple):
        for word in ("items", "additionalItems", "unevaluatedItems", "contains"):
            if isinstance(node.get(word), dict):
                for item in value:
                    yield node[word], item
        for word in ("prefixItems", "items"):
            if isinstance(node.get(word), list):
                yield from zip(node[word], value, strict=False)


def _members(node: dict[str, Any], value: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    named = node.get("properties")
    patterned = node.get("patternProperties")
    others = [node[w] for w in ("additionalProperties", "unevaluatedProperties") if w in node]
    for name, member in value.items():
        known = isinstance(named, dict) and name in named
        if known:
            yield named[name], member  # type: ignore[index]
        if isinstance(patterned, dict):
            for child in patterned.values():
                yield child, member
        for child in others:
            if not known or child is node.get("unevaluatedProperties"):
                yield child, member
        if isinstance(node.get("propertyNames"), dict):
            yield node["propertyNames"], name
