"""JMESPath, as the settings of a webhook source use it: compiled once, evaluated on each event.

One function is added to the language: `header('x-github-event')` reads a request header that the
provider lets expressions read, or null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature

MAX_EXPRESSION: Final = 512
"""Characters. Expressions are written by operators; the cap is on accidents and their cost."""


class EvaluationFailed(Exception):
    """An expression couldn't be evaluated over this event. The text says why, and quotes no
    event."""


class _WithHeader(Functions):  # type: ignore[misc]  # jmespath has no types
    """The standard functions and `header`, over the headers of one request."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    @signature({"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_header(self, name: str) -> str | None:
        return self._headers.get(name.lower())


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled JMESPath expression. Made with `compile_expression`."""

    text: str
    compiled: Any = field(repr=False, compare=False)

    def evaluate(self, event: Any, headers: Mapping[str, str]) -> Any:
        """What the expression selects of `event`: any JSON value, None when there is nothing.

        `headers` has lower-case names, and only what expressions may see. Raises
        `EvaluationFailed`.
        """
        options = jmespath.Options(custom_functions=_WithHeader(headers))
        try:
            return self.compiled.search(event, options=options)
        except RecursionError:
            raise EvaluationFailed("the event is nested too deeply for the expression") from None
        except JMESPathError as error:
            # The library's text quotes the value that it disliked, so only the kind is told.
            raise EvaluationFailed(f"the expression fails on it ({type(error).__name__})") from None
        except Exception as error:
            # A few functions let Python's own errors out (`to_number`, `sort_by` of mixed types).
            raise EvaluationFailed(f"the expression fails on it ({type(error).__name__})") from None


def compile_expression(text: str, *, key: str, headers: frozenset[str]) -> Expression:
    """Compile `text`. Raises `ValueError` with a sentence that names `key`, the setting it is for.

    Unknown functions and headers outside `headers` are refused here, not at the first event.
    """
    if not text.strip():
        raise ValueError(f"{key}: the expression is empty")
    if len(text) > MAX_EXPRESSION:
        raise ValueError(f"{key}: the expression has more than {MAX_EXPRESSION} characters")
    try:
        compiled = jmespath.compile(text)
    except RecursionError:
        raise ValueError(f"{key}: the expression is nested too deeply") from None
    except JMESPathError as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise ValueError(f"{key}: not a JMESPath expression: {lines[0]}") from None
    for node in _nodes(compiled.parsed):
        if node["type"] == "function_expression":
            _check_call(node, key, headers)
    return Expression(text, compiled)


def _check_call(node: Mapping[str, Any], key: str, headers: frozenset[str]) -> None:
    if node["value"] not in _WithHeader.FUNCTION_TABLE:
        raise ValueError(f"{key}: no JMESPath function {node['value']!r}")
    if node["value"] != "header":
        return
    arguments = node["children"]
    name = arguments[0].get("value") if len(arguments) == 1 else None
    if arguments[0:1] and arguments[0]["type"] == "literal" and isinstance(name, str):
        if name.lower() in headers:
            return
        known = ", ".join(sorted(headers)) or "none"
        raise ValueError(f"{key}: header {name!r} is not one of this provider's ({known})")
    raise ValueError(f"{key}: header takes one name in single quotes")


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Every node of a parsed expression."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            yield node
            pending.extend(node.get("children", ()))
            if isinstance(node.get("value"), Mapping):
                pending.append(node["value"])
