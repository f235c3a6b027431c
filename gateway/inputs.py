"""Contracts of the settings, as the host takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from config.settings import Settings
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
