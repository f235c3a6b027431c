"""What is wrong with settings, in words that say what to do. Values are never repeated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

PREFIX: Final = "SAYSO_"
_NOT_SETTINGS: Final = frozenset({"CONFIG", "URL", "API_KEY"})
"""Variables of the command line and of the Python client."""
_SERVICE: Final = re.compile(r"(SERVICE|PORT)(_.*)?")
"""What Kubernetes sets for a service of the name `sayso`."""

Fields = Mapping[str, FieldInfo]


def sentences(error: ValidationError, fields: Fields) -> Iterator[str]:
    """One for each mistake, with the path of its key."""
    for found in error.errors(include_input=False, include_context=False, include_url=False):
        at = found["loc"]
        said = found["msg"].removeprefix("Value error, ")
        if found["type"] == "extra_forbidden":
            said = "there is no such setting" + _meant(str(at[-1]), _beside(at[:-1], fields))
        yield f"{'.'.join(map(str, at)) or 'settings'}: {said}"


def misspelt(environ: Iterable[str], fields: Fields) -> Iterator[str]:
    """One for each variable that looks like a setting and is none. No mistake that keeps a gateway from
    starting, since others may set variables of such names."""
    for name in sorted(environ):
        stem = name.upper().removeprefix(PREFIX)
        first = stem.partition("__")[0].lower()
        if stem == name.upper() or first in fields or stem in _NOT_SETTINGS:
            continue
        if not _SERVICE.fullmatch(stem):
            yield f"{name} in the environment is no setting{_meant_variable(stem, fields)}"


def _meant_variable(stem: str, fields: Fields) -> str:
    """The variable that was meant: `HTTP_PORT` for `HTTP__PORT`, or one that is spelled alike."""
    for name in fields:
        table, rest = name.upper() + "_", stem.removeprefix(name.upper() + "_")
        if stem.startswith(table) and rest.lower() in _beside((name,), fields):
            return f"; did you mean {PREFIX}{name.upper()}__{rest}?"
    near = get_close_matches(stem.lower(), fields, 1, 0.75)
    return f"; did you mean {PREFIX}{near[0].upper()}?" if near else ""


def _meant(name: str, known: Fields) -> str:
    near = get_close_matches(name, known, 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _beside(path: tuple[Any, ...], fields: Fields) -> Fields:
    """The settings of the table at `path`, {} where that is not a plain table."""
    for step in path:
        kind = fields[step].annotation if step in fields else None
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            return {}
        fields = kind.model_fields
    return fields
