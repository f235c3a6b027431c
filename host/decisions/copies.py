"""Frozen records made and copied quickly: what `dataclasses` does, without its cost.

A frozen class's `__init__` sets each member by `object.__setattr__`, and `dataclasses.replace` goes through
that `__init__`. A commit makes and copies some forty records. Here a record is filled in as an instance of
a twin class, which has the same slots and isn't frozen, and becomes one of its own class when it is whole:
several times faster (docs/performance.md), and as frozen as before to everybody else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field
from functools import cache
from typing import Any, Final, TypeVar

R = TypeVar("R")

_become: Final = object.__dict__["__class__"].__set__


def quick(cls: type[R]) -> type[R]:
    """A class decorator for above `@dataclass(frozen=True, slots=True)`: the same `__init__`, faster.

    Raises `TypeError` for a dataclass whose `__init__` does more than to set members in order.
    """
    own: Any = cls
    fields: tuple[Field[Any], ...] = tuple(cls.__dict__["__dataclass_fields__"].values())
    if hasattr(cls, "__post_init__") or any(not f.init or f.kw_only for f in fields):
        raise TypeError(f"{cls.__name__} needs its own __init__")
    known: dict[str, Any] = {"MISSING": MISSING, "become": _become, "Twin": _twin(own), "Own": own}
    head, body = ["self"], ["become(self, Twin)"]
    for field in fields:
        name, value = field.name, field.name
        known[f"default_{name}"], known[f"make_{name}"] = field.default, field.default_factory
        if field.default_factory is not MISSING:
            head.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        else:
            head.append(name if field.default is MISSING else f"{name}=default_{name}")
        body.append(f"self.{name} = {value}")
    made = _compiled(f"def __init__({', '.join(head)})", [*body, "self.__class__ = Own"], known)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    type.__setattr__(cls, "__init__", made)
    return cls


def replace(record: R, /, **changes: Any) -> R:
    """A copy of a frozen dataclass with slots. Raises `AttributeError` for a member that it doesn't have."""
    own: Any = type(record)
    made: R = _copier(own)(record, changes)
    return made


@cache
def _copier(cls: type) -> Callable[[Any, dict[str, Any]], Any]:
    names = cls.__dict__["__dataclass_fields__"]
    body = ["new = Twin()", *(f"new.{name} = record.{name}" for name in names)]
    body += ["for name in changes:", "    put(new, name, changes[name])"]
    body += ["new.__class__ = Own", "return new"]
    known = {"Twin": _twin(cls), "Own": cls, "put": setattr}
    return _compiled("def copy(record, changes)", body, known)


@cache
def _twin(cls: type) -> type:
    """A class whose instances are laid out like those of `cls`, and may be changed."""
    return type(f"_{cls.__name__}InTheMaking", (), {"__slots__": cls.__dict__["__slots__"]})


def _compiled(head: str, body: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    """A function, from lines that hold names of members alone, as `dataclasses` makes its own."""
    text = "\n    ".join([f"{head}:", *body])
    made: dict[str, Any] = {}
    exec(text, known, made)  # noqa: S102 - made of our own classes' member names
    found: Callable[..., Any] = next(iter(made.values()))
    return found
