"""Pickers of the settings: where the choices of dynamic lists come from. Imported where there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapters.egress import Egress, UrlRejected, check_public, parse
from adapters.pickers.picker import Picker, Pickers
from adapters.pickers.sources import CommandSource, HttpSource, Source
from adapters.webhooks.expressions import EvaluationFailed, compile_expression
from config.inputs import PickerSettings
from config.settings import Settings
from host.options import OptionsUnavailable


def pickers(settings: Settings, egress: Egress) -> Pickers:
    """The configured pickers. Raises `ValueError` with the key of what is wrong."""
    return Pickers(
        {
            name: Picker(
                _source(given, egress, f"pickers.{name}"),
                given.search,
                given.cache_seconds,
                _mapping(given.options, f"pickers.{name}.options"),
            )
            for name, given in settings.pickers.items()
        }
    )


def _source(given: PickerSettings, egress: Egress, where: str) -> Source:
    if given.command:
        return CommandSource(given.command, given.timeout_seconds)
    try:
        target = parse(given.url)
        if not egress.allows(target):
            check_public(target)
    except UrlRejected as rejected:
        raise ValueError(f"{where}.url: {rejected}") from None
    headers = {name: secret.get_secret_value() for name, secret in given.headers.items()}
    return HttpSource(given.url, egress, given.timeout_seconds, headers)


def _mapping(text: str, where: str) -> Callable[[Any], Any] | None:
    if not text:
        return None
    try:
        expression = compile_expression(text, key=where, headers=frozenset())
    except ValueError as error:
        raise ValueError(str(error)) from None

    def mapped(raw: Any) -> Any:
        try:
            return expression.evaluate(raw, {})
        except EvaluationFailed as failed:
            raise OptionsUnavailable(str(failed)) from None

    return mapped
