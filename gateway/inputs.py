"""Contracts and pickers of the settings, as the host and the channels take them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from adapters.egress import Egress, UrlRejected, check_public, parse
from adapters.pickers.picker import Picker, Pickers
from adapters.pickers.sources import CommandSource, HttpSource, Source
from adapters.webhooks.expressions import EvaluationFailed, compile_expression
from config.inputs import PickerSettings
from config.settings import Settings
from host.options import OptionsUnavailable
from host.registry import check_contract
from schemas.contracts import Contract
from schemas.errors import Refusal
from schemas.payloads import problems

_SIZE: Final = 65_536


def contracts(settings: Settings) -> list[Contract]:
    """The configured contracts. Raises `ValueError` with the key of what is wrong."""
    found = []
    for name, given in settings.contracts.items():
        where = f"contracts.{name}"
        raw: dict[str, Any] = {
            "name": name,
            "description": given.description,
            "schemaId": given.schema_id or name,
            "schemaVersion": given.schema_version,
            "requestSchema": _schema(given.request_schema, f"{where}.request_schema"),
            "responseSchema": _schema(given.response_schema, f"{where}.response_schema"),
        }
        if given.timeout_seconds is not None:
            raw["timeoutMs"] = given.timeout_seconds * 1000
        try:
            contract = Contract.model_validate(raw)
            check_contract(contract)
        except ValidationError as error:
            raise ValueError(f"{where}: {problems(error)[0]['message']}") from None
        except Refusal as refusal:
            raise ValueError(f"{where}: {refusal.message}") from None
        found.append(contract)
    return found


def _schema(given: dict[str, Any] | Path, where: str) -> Any:
    if isinstance(given, dict):
        return given
    try:
        if given.stat().st_size > _SIZE:
            raise ValueError(f"{where}: {given} is larger than {_SIZE} bytes")
        return orjson.loads(given.read_bytes())
    except OSError as error:
        raise ValueError(f"{where}: {given} can't be read ({error.strerror})") from None
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{where}: {given} is not JSON: {error}") from None


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
