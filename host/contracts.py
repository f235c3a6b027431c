"""JSON Schema checking of answers: is this a schema we take, and is this the answer it asks for.

Who checks what:

* `jsonschema_rs` says whether a schema is right for its dialect and whether a value is right for
  the schema. It is told to fetch nothing (`offline`), to match patterns with an engine that takes
  linear time and bounded memory and knows neither lookaround nor backreferences (`RegexOptions`),
  and to assert formats. Validators are compiled once for each schema and kept, the most recently
  used.
* `host.schema_bounds` and `host.schema_work` count what that library does not: how large a schema
  is with its references written out, and how many checks a value will cause. The library lists all
  errors before it hands over the first, at some 10 to 40 µs each against 20 ns for a check that
  passes, so a value is listed error by error only when it can't cause many.

Both functions block, for at most about a tenth of a second by those counts; an honest schema and
answer take some microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import jsonschema_rs as rs
import orjson

from host.contract_errors import explain
from host.schema_bounds import OutOfBounds, Survey, survey
from host.schema_work import at_most, costs, size, work
from schemas.errors import Refusal

MAX_SCHEMA_BYTES: Final = 65_536
MAX_ERRORS: Final = 20
MAX_CHECKS: Final = 5_000_000  # about 0.1 s
LISTED_CHECKS: Final = 5_000  # up to here every error is listed
CACHED: Final = 128  # compiled schemas

_SCHEMA_LEVELS: Final = 80  # of JSON; each subschema takes one or two
_REGEX_BYTES: Final = 65_536  # one compiled pattern, and the cache of its states
_DIALECTS: Final[dict[str, type[rs.Validator]]] = {
    "https://json-schema.org/draft/2020-12/schema": rs.Draft202012Validator,
    "http://json-schema.org/draft-07/schema": rs.Draft7Validator,
    "https://json-schema.org/draft-07/schema": rs.Draft7Validator,
}
_DEFAULT_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class _Contract:
    survey: Survey
    validator: rs.Validator


def check_schema(schema: Any, *, where: str) -> None:
    """Refuse a schema that we can't hold answers to.

    `where` names the schema in the message ("resumeSchema"). Raises `Refusal("validation_error")`
    with `errors` when it is neither an object nor a boolean, not right for its dialect (2020-12, or
    draft 7 when `$schema` says so), refers to anything outside itself, or is out of bounds.
    """
    try:
        _contract(schema)
    except OutOfBounds as problem:
        raise Refusal(
            "validation_error",
            f"{where} can't be used as a JSON Schema. {problem}",
            errors=[{"path": [where], "message": str(problem)}],
        ) from None


def validate(schema: dict[str, Any] | bool, value: Any) -> list[dict[str, Any]]:
    """What is wrong with a value, for people: `[]`, or up to 20 `{"path": [...], "message": "…"}`.

    The path of a missing member includes its name. No message holds more than 80 characters of the
    value. Raises `Refusal("validation_error")` for a schema that `check_schema` refuses.
    """
    try:
        contract = _contract(schema)
    except OutOfBounds as problem:
        raise Refusal("validation_error", f"The schema can't be used. {problem}") from None
    try:
        checks = _checks(contract.survey, value)
        if contract.validator.is_valid(value):
            return []
        return list(islice(_errors(contract, value, checks), MAX_ERRORS))
    except OutOfBounds as problem:
        return [{"path": [], "message": str(problem)}]
    except (ValueError, TypeError):
        # Raised by the library for what is no JSON: a lone surrogate, a name that is no string.
        return [{"path": [], "message": "It is not JSON text in UTF-8."}]


def _checks(found: Survey, value: Any) -> int:
    """How many checks the value will cause, at most. Raises `OutOfBounds` when that is too many."""
    places, characters = size(value)
    checks = at_most(found, places, characters)
    if found.recursive or checks > MAX_CHECKS:
        checks = work(found, value)
    dear = found.costs and (found.recursive or checks + found.costs * places > MAX_CHECKS)
    if checks > MAX_CHECKS or (dear and checks + costs(found, value) > MAX_CHECKS):
        raise OutOfBounds("It is too large to be checked against its schema.")
    return checks


def _errors(contract: _Contract, value: Any, checks: int) -> Iterator[dict[str, Any]]:
    """The errors of a value that is wrong: all when few are possible, else the first, else that."""
    found: list[rs.ValidationError] = []
    if checks <= LISTED_CHECKS:
        found = list(contract.validator.iter_errors(value))
    elif not contract.survey.branching:
        try:
            contract.validator.validate(value)
        except rs.ValidationError as error:
            found = [error]
    if not found:
        yield {
            "path": [],
            "message": "It does not fit its schema, and is too large to say where. Send less.",
        }
    for listed in found:
        for path, message in explain(listed):
            yield {"path": path, "message": message}


def _contract(schema: Any) -> _Contract:
    if not isinstance(schema, dict | bool):
        raise OutOfBounds("A JSON Schema is an object, or true or false.")
    try:
        text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        raise OutOfBounds(
            "It is not JSON that every program reads the same: check its nesting, its text "
            "(UTF-8) and its numbers (64 bits)."
        ) from None
    if len(text) > MAX_SCHEMA_BYTES:
        raise OutOfBounds(f"It is larger than {MAX_SCHEMA_BYTES:,} bytes.")
    return _compiled(text)


@lru_cache(maxsize=CACHED)
def _compiled(text: bytes) -> _Contract:
    """The contract for a schema in canonical form. Raises `OutOfBounds`, which is not cached."""
    schema = orjson.loads(text)
    size(schema, _SCHEMA_LEVELS)
    dialect = schema.get("$schema", _DEFAULT_DIALECT) if isinstance(schema, dict) else None
    name = dialect.rstrip("#") if isinstance(dialect, str) else _DEFAULT_DIALECT
    kind = _DIALECTS.get(name) if dialect is None or isinstance(dialect, str) else None
    if kind is None:
        raise OutOfBounds(
            f'"$schema" is {str(dialect)[:80]!r}; use "{_DEFAULT_DIALECT}" or '
            '"http://json-schema.org/draft-07/schema#", or leave it out.'
        )
    found = survey(schema)
    regex = rs.RegexOptions(size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES)
    try:
        validator = kind(schema, pattern_options=regex, offline=True, validate_formats=True)
    except (rs.ValidationError, rs.ReferencingError, ValueError) as error:
        raise OutOfBounds(_schema_problem(error)) from None
    return _Contract(found, validator)


def _schema_problem(error: Exception) -> str:
    if not isinstance(error, rs.ValidationError):
        return "It could not be read as a schema."
    place = "/".join(str(step) for step in error.instance_path)[:200] or "its top"
    if getattr(error.kind, "name", "") == "format":
        return (
            f"At {place}: the pattern is not taken. Patterns are matched in linear time, without "
            "lookaround and backreferences, and repeat counts must stay small."
        )
    return f"At {place}: {error.message[:200]}"
