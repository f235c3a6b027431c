"""What a keyword costs by itself, in checks of 20 ns: most cost one, a few cost thousands.

The validator compares numbers exactly, as fractions of any size: a comparison that has a fraction in it takes
some 10 µs. It compares what is small pair by pair, and a list of constants one by one. So a schema of a few
kilobytes could hold up a gateway for a minute, with as few checks as an honest one. The numbers here were
measured with jsonschema-rs 0.61 and rounded up.
"""

from __future__ import annotations

from typing import Any, Final

COMPARED: Final = 20  # two values that are no fractions
FRACTION: Final = 500  # two numbers, one of them a fraction
BOUND: Final = 100  # minimum and its like
HUGE: Final = 5_000  # multipleOf where the exponents are far apart
NAMED: Final = 15  # a name of required or dependentRequired
READ: Final = 15  # a place that is read to be compared
PAIRWISE: Final = 15  # items up to which uniqueItems compares each with each

_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def highest(node: dict[str, Any]) -> int:
    """What a subschema's own keywords cost at most, for each place of a value."""
    cost = _named(node) + sum(BOUND for word in _BOUNDS if word in node)
    constants = _constants(node)
    if constants:
        cost += READ + sum(_compared(one, fractions=True) for one in constants)
    if "multipleOf" in node:
        cost += HUGE
    if node.get("uniqueItems") is True:
        cost += READ + PAIRWISE * (FRACTION + COMPARED)
    return cost


class Costs:
    """What they cost for one value. Remembers how large its parts are, so it is for one value alone."""

    def __init__(self) -> None:
        self._sizes: dict[int, tuple[int, int]] = {}
        self._known: dict[int, tuple[int, int, int]] = {}

    def __call__(self, node: dict[str, Any], value: Any) -> int:
        cost, plain, exact = self._own(node)
        if isinstance(value, int | float) and not isinstance(value, bool):
            cost += sum(BOUND for word in _BOUNDS if word in node)
            cost += _divided(node["multipleOf"], value) if "multipleOf" in node else 0
        if plain:
            places, fractions = self._size(value)
            cost += READ * places + (exact if fractions else plain)
        if node.get("uniqueItems") is True and isinstance(value, list | tuple):
            places, fractions = self._size(value)
            pairs = PAIRWISE if len(value) <= PAIRWISE else 1
            cost += READ * places + pairs * (FRACTION * fractions + COMPARED * len(value))
        return cost

    def _own(self, node: dict[str, Any]) -> tuple[int, int, int]:
        """Of its names, and of its constants beside a value without fractions, and with some. Once a node:
        it may have thousands, and be met as often."""
        known = self._known.get(id(node))
        if known is None:
            listed = _constants(node)
            plain = sum(_compared(one, fractions=False) for one in listed)
            exact = sum(_compared(one, fractions=True) for one in listed)
            known = self._known[id(node)] = _named(node), plain, exact
        return known

    def _size(self, value: Any) -> tuple[int, int]:
        """How many places a value has, and how many of them are fractions."""
        known = self._sizes.get(id(value))
        if known is not None:
            return known
        places, fractions = 1, int(isinstance(value, float))
        inner = value.values() if isinstance(value, dict) else value
        for part in inner if isinstance(value, dict | list | tuple) else ():
            more, more_fractions = self._size(part)
            places, fractions = places + more, fractions + more_fractions
        self._sizes[id(value)] = places, fractions
        return places, fractions


def _named(node: dict[str, Any]) -> int:
    required, dependent = node.get("required"), node.get("dependentRequired")
    count = len(required) if isinstance(required, list) else 0
    if isinstance(dependent, dict):
        count += sum(len(names) for names in dependent.values() if isinstance(names, list))
    properties = node.get("properties")
    return NAMED * count + (len(properties) if isinstance(properties, dict) else 0)


def _constants(node: dict[str, Any]) -> list[Any]:
    """Those that are compared one by one. Texts alone are looked up."""
    listed = node.get("enum")
    found = list(listed) if isinstance(listed, list) else []
    if "const" in node:
        found.append(node["const"])
    return [] if all(isinstance(one, str) for one in found) else found


def _compared(constant: Any, *, fractions: bool) -> int:
    if isinstance(constant, dict):
        return COMPARED + sum(_compared(one, fractions=fractions) for one in constant.values())
    if isinstance(constant, list):
        return COMPARED + sum(_compared(one, fractions=fractions) for one in constant)
    if isinstance(constant, float) or (fractions and isinstance(constant, int)):
        return FRACTION
    return COMPARED


def _divided(step: Any, value: int | float) -> int:
    if isinstance(step, int) and isinstance(value, int):
        return COMPARED
    near = isinstance(step, int | float) and step > 1e-9 and abs(value) < 1e18
    return FRACTION if near else HUGE
