"""How much work a JSON Schema can cause, counted before any of it is done.

A schema comes from an agent, so it may be hostile: a few hundred bytes of `allOf` and `$ref` can
ask for 2**60 checks of one value. The validator's own regular expressions are linear, but it
counts nothing. So two counts are made here, both by walking the schema and never by a clock:

* `survey` reads a schema once. It refuses what is out of bounds and finds its *reach*: the number
  of subschemas in the schema with every reference written out. One place of a value is checked
  against at most that many, so `reach * places` bounds the work of a schema that doesn't refer to
  itself.
* `work` counts the checks that one value will cause, exactly enough for schemas that do refer to
  themselves (a tree, a JSON value), where no number is right for all values. It remembers what it
  counted for each pair of subschema and place, so counting 2**60 checks takes some sixty steps.

Keywords are over-counted where that is simpler (each pattern of `patternProperties` is counted for
each name), never under-counted.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from host.schema_costs import highest

MAX_DEPTH: Final = 32  # subschemas inside each other
MAX_SUBSCHEMAS: Final = 2_000
MAX_CHAIN: Final = 128  # subschemas, references followed
MAX_REACH: Final = 10_000
MAX_ENUM: Final = 5_000
MAX_PATTERNS: Final = 100  # each may take up to 64 KiB when compiled
MAX_PATTERN: Final = 1_000  # characters
MAX_PAIRS: Final = 50_000  # pairs of subschema and place that `work` looks at
PATTERN_COST: Final = 100  # checks a character costs in a pattern: 2 µs against 20 ns

_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else")
_IN_PLACE_MAPS: Final = ("dependentSchemas", "dependencies")
_ITEM_LISTS: Final = ("prefixItems", "items")
_ITEM: Final = ("items", "additionalItems", "unevaluatedItems", "contains")
_MEMBER_MAPS: Final = ("properties", "patternProperties")
_MEMBER: Final = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_SHELVES: Final = ("$defs", "definitions")
_REFUSED: Final = ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")
_ROOT_ONLY: Final = ("$schema", "$id", "$vocabulary")


class OutOfBounds(Exception):
    """A schema or a value that costs too much or can't be read. Its text is for a person."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What one walk over a schema found.

    `targets` maps the `id` of each object with a `$ref` to what that points to. `reach` and
    `pattern_reach` count subschemas, and those with patterns, with every reference written out; a
    reference back to where one is counts once, and then `recursive` is set. `branching` says that
    alternatives are tried (`anyOf`, `oneOf`), whose failures nest in an error. `costs` is what all of
    them cost at most by their own keywords, for each place of a value (`host.schema_costs`).
    """

    root: Any
    targets: dict[int, Any]
    reach: int
    pattern_reach: int
    recursive: bool
    branching: bool
    costs: int = 0


def survey(schema: Any) -> Survey:
    """Walk a schema (valid against its dialect already). Raises `OutOfBounds`."""
    nodes = list(_placed(schema))
    anchors: dict[str, Any] = {}
    if sum(_patterns(node) for node in nodes) > MAX_PATTERNS:
        raise OutOfBounds(f"It has more than {MAX_PATTERNS} patterns.")
    for node in nodes:
        _check_keywords(node, root=node is schema)
        name = node.get("$anchor")
        if isinstance(name, str):
            if name in anchors:
                raise OutOfBounds(f'The anchor "{name[:60]}" is there twice; name each one once.')
            anchors[name] = node
    places = {id(node) for node in nodes}
    targets = {
        id(node): target(node["$ref"], schema, anchors, places) for node in nodes if "$ref" in node
    }
    _refuse_loops(nodes, targets)
    reach, patterns, costs, recursive = _Reach(schema, targets).measure()
    branching = any(word in node for node in nodes for word in ("anyOf", "oneOf", "propertyNames"))
    return Survey(schema, targets, reach, patterns, recursive, branching, costs)


def _placed(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object that stands where a schema stands, shelves of definitions included."""
    count, level = 0, [schema]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[Any] = []
        for node in level:
            if not isinstance(node, dict):
                continue
            count += 1
            if count > MAX_SUBSCHEMAS:
                raise OutOfBounds(f"It has more than {MAX_SUBSCHEMAS:,} subschemas.")
            yield node
            deeper.extend(in_place(node))
            deeper.extend(below(node))
            for word in _SHELVES:
                if isinstance(node.get(word), dict):
                    deeper.extend(node[word].values())
        level = deeper
    if any(isinstance(node, dict) for node in level):
        raise OutOfBounds(f"Its subschemas are nested more than {MAX_DEPTH} deep.")


def _patterns(node: dict[str, Any]) -> int:
    named = node.get("patternProperties")
    return int("pattern" in node) + (len(named) if isinstance(named, dict) else 0)


def _check_keywords(node: dict[str, Any], *, root: bool) -> None:
    for word in _REFUSED:
        if word in node:
            raise OutOfBounds(f'"{word}" is not supported; use "$ref" with "$defs".')
    for word in _ROOT_ONLY:
        if word in node and not root:
            raise OutOfBounds(f'"{word}" may stand only at the top of the schema.')
    if isinstance(node.get("enum"), list) and len(node["enum"]) > MAX_ENUM:
        raise OutOfBounds(f'An "enum" has more than {MAX_ENUM:,} values.')
    named = node.get("patternProperties")
    for pattern in [node.get("pattern"), *(named if isinstance(named, dict) else ())]:
        if isinstance(pattern, str) and len(pattern) > MAX_PATTERN:
            raise OutOfBounds(f"A pattern is longer than {MAX_PATTERN:,} characters.")


def in_place(node: dict[str, Any]) -> Iterator[Any]:
    """The subschemas that are written inside `node` and applied to the same value."""
    for word in _IN_PLACE_LISTS:
        if isinstance(node.get(word), list):
            yield from node[word]
    for word in _IN_PLACE:
        if word in node:
            yield node[word]
    for word in _IN_PLACE_MAPS:
        if isinstance(node.get(word), dict):
            yield from node[word].values()


def below(node: dict[str, Any]) -> Iterator[Any]:
    """The subschemas that are applied to members and items of the value."""
    for word in _ITEM_LISTS:
        if isinstance(node.get(word), list):
            yield from node[word]
    for word in _MEMBER_MAPS:
        if isinstance(node.get(word), dict):
            yield from node[word].values()
    for word in (*_ITEM, *_MEMBER):
        if isinstance(node.get(word), dict):
            yield node[word]


def target(ref: Any, root: Any, anchors: dict[str, Any], places: Container[int]) -> Any:
    """What a `$ref` points to. Raises `OutOfBounds` when that is no schema of this document.

    `places` holds the `id` of every object that stands where a schema stands. Others have been
    checked by nobody, so they are no targets.
    """
    if not isinstance(ref, str) or not ref.startswith("#"):
        raise OutOfBounds(
            f'"$ref" may point into the schema itself ("#/$defs/name") and nowhere else, '
            f"not to {str(ref)[:80]!r}. Nothing is ever fetched."
        )
    pointer = unquote(ref[1:])
    node: Any = root
    try:
        if pointer and not pointer.startswith("/"):
            pointer, node = "", anchors[pointer]
        for token in pointer.split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            node = node[int(token)] if isinstance(node, list) else node[token]
    except (KeyError, IndexError, ValueError, TypeError):
        node = None
    if isinstance(node, bool) or (isinstance(node, dict) and id(node) in places):
        return node
    raise OutOfBounds(f'"$ref": {ref[:80]!r} points to no subschema; put it under "$defs".')


def _refuse_loops(nodes: list[dict[str, Any]], targets: dict[int, Any]) -> None:
    """No subschema may come back to itself without going into the value: it would say nothing."""
    done: set[int] = set()
    path: set[int] = set()

    def visit(node: Any) -> None:
        key = id(node)
        if not isinstance(node, dict) or key in done:
            return
        if key in path:
            raise OutOfBounds('A "$ref" leads back to itself without going into the value.')
        if len(path) >= MAX_CHAIN:
            raise OutOfBounds(f'A chain of "$ref" and "allOf" is more than {MAX_CHAIN} long.')
        path.add(key)
        for child in same_value(node, targets):
            visit(child)
        path.discard(key)
        done.add(key)

    for node in nodes:
        visit(node)


def same_value(node: dict[str, Any], targets: dict[int, Any]) -> Iterator[Any]:
    """The subschemas that are applied to the same value as `node`, through `$ref` too."""
    if "$ref" in node:
        yield targets[id(node)]
    yield from in_place(node)


def has_pattern(node: dict[str, Any]) -> bool:
    """Whether a value's characters are read by a regular expression, or by a format's own check."""
    return "pattern" in node or "patternProperties" in node or "format" in node


class _Reach:
    """Counts subschemas with all references written out, by depth-first search with memory."""

    def __init__(self, root: Any, targets: dict[int, Any]) -> None:
        self._root = root
        self._targets = targets
        self._counted: dict[int, tuple[int, int, int]] = {}
        self._open: set[int] = set()
        self._recursive = False

    def measure(self) -> tuple[int, int, int, bool]:
        """`Survey.reach`, `Survey.pattern_reach`, `Survey.costs` and `Survey.recursive`."""
        return *self._visit(self._root), self._recursive

    def _visit(self, node: Any) -> tuple[int, int, int]:
        if not isinstance(node, dict):
            return 1, 0, 0
        key = id(node)
        if key in self._open:
            self._recursive = True
            return 1, 0, 0
        if key in self._counted:
            return self._counted[key]
        if len(self._open) >= MAX_CHAIN:
            raise OutOfBounds(f'A chain of "$ref" is more than {MAX_CHAIN} long.')
        self._open.add(key)
        reach, patterns, costs = 1, int(has_pattern(node)), highest(node)
        for child in (*same_value(node, self._targets), *below(node)):
            more, more_patterns, more_costs = self._visit(child)
            reach, patterns, costs = reach + more, patterns + more_patterns, costs + more_costs
            if reach > MAX_REACH:
                raise OutOfBounds(
                    f"Written out without references it has more than {MAX_REACH:,} subschemas."
                )
        self._open.discard(key)
        self._counted[key] = reach, patterns, costs
        return reach, patterns, costs
