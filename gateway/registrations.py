"""Registered interrupts of the settings, as the host takes them: schemas, validators, the key."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel

from adapters.webhooks.expressions import EvaluationFailed, compile_expression
from config.registrations import RegistrationSettings
from config.settings import Settings
from host.host import Host
from host.pause_tokens import PauseTokens
from host.pauses import Pauses
from host.registrations import Registration, Registrations, Schema, Validator
from schemas.errors import Refusal

_SIZE: Final = 65_536


def pauses(settings: Settings, host: Host) -> Pauses:
    """By these settings. Raises `ValueError` with the key of what is wrong."""
    secret = settings.symfonic.jwt_secret
    if secret is None:
        raise ValueError(
            "registrations: their tokens need a key. Set symfonic.jwt_secret (or JWT_SECRET) to 32 "
            "random characters or more."
        )
    try:
        tokens = PauseTokens(secret.get_secret_value())
    except ValueError as error:
        raise ValueError(f"symfonic.jwt_secret {error}") from None
    registered = Registrations()
    for name, given in settings.registrations.items():
        where = f"registrations.{name}"
        try:
            registered.register(_registration(name, given, where))
        except Refusal as refusal:
            raise ValueError(f"{where}: {refusal.message}") from None
    return Pauses(host, registered, tokens, settings.symfonic.ttl_seconds * 1000)


def _registration(name: str, given: RegistrationSettings, where: str) -> Registration:
    return Registration(
        name=name,
        payload_schema=_schema(given.payload_schema, f"{where}.payload_schema"),
        response_schema=_schema(given.response_schema, f"{where}.response_schema"),
        validator=_validator(given, where),
        cross_scope_allowed=given.cross_scope_allowed,
        metadata=given.metadata,
    )


def _schema(given: dict[str, Any] | Path, where: str) -> Schema:
    if isinstance(given, dict):
        return given
    if ":" in given.name:
        found = _imported(str(given), where)
        if not isinstance(found, type) or not issubclass(found, BaseModel):
            raise ValueError(f"{where}: {given} is no pydantic model")
        return found
    try:
        if given.stat().st_size > _SIZE:
            raise ValueError(f"{where}: {given} is larger than {_SIZE} bytes")
        read = orjson.loads(given.read_bytes())
    except OSError as error:
        raise ValueError(f"{where}: cannot read {given}: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{where}: {given} is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise ValueError(f"{where}: {given} holds no JSON Schema")
    return read


def _validator(given: RegistrationSettings, where: str) -> Validator | None:
    if given.check and given.validator:
        raise ValueError(f"{where}: set either check or validator")
    if given.validator:
        found = _imported(given.validator, f"{where}.validator")
        if not callable(found):
            raise ValueError(f"{where}.validator: {given.validator} can't be called")
        return found  # type: ignore[no-any-return]
    if not given.check:
        return None
    try:
        expression = compile_expression(given.check, key="check", headers=frozenset())
    except ValueError as error:
        raise ValueError(f"{where}.check: {error}") from None

    def check(response: Any, payload: Any) -> None:
        try:
            holds = expression.evaluate(
                {"response": _json(response), "payload": _json(payload)}, {}
            )
        except EvaluationFailed as failed:
            raise ValueError(str(failed)) from None
        if holds is not True:
            raise ValueError(f"it has to hold that {given.check}")

    return check


def _json(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _imported(text: str, where: str) -> Any:
    module, _, name = text.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{where}: cannot import {text}: {error}") from None
