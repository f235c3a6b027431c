"""Registered interrupts: names with a payload schema, a response schema and a cross validator.

They are registered at start. `ask_user` is built in. What a name allows is looked up here when a pause is
raised and when it is answered, by whatever channel the answer comes (symfonic: registrations).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from host import contracts
from host.decisions import asking_user
from schemas.errors import Refusal
from schemas.payloads import problems
from schemas.symfonic import ASK_USER, AskUserRequest, AskUserResponse

Schema = dict[str, Any] | type[BaseModel]
Validator = Callable[[Any, Any], object]
"""Called with (response, payload), as models where the schemas are models. Raises to refuse."""

_LONGEST: Final = 64


@dataclass(frozen=True, slots=True)
class Registration:
    """One name. A schema is a JSON Schema or a pydantic model."""

    name: str
    payload_schema: Schema
    response_schema: Schema
    validator: Validator | None = None
    cross_scope_allowed: bool = False
    built_in: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)

    def read_payload(self, raw: Any) -> Any:
        """The payload, as a model if its schema is one. Raises `Refusal` (`validation_error`)."""
        return _read(self.payload_schema, raw, "payload")

    def read_response(self, raw: Any) -> Any:
        """The response. Raises `Refusal` (`validation_error`)."""
        return _read(self.response_schema, raw, "response")

    def resume_schema(self, payload: dict[str, Any]) -> dict[str, Any]:
        """What people answer by."""
        if self.built_in:
            return asking_user.schema_of(AskUserRequest.model_validate(payload))
        if isinstance(self.response_schema, dict):
            return self.response_schema
        return self.response_schema.model_json_schema()

    def cross_check(self, response: Any, payload: Any) -> None:
        """Response against payload. Raises `Refusal` (`validation_error`) with the validator's own text."""
        if self.validator is None:
            return
        try:
            self.validator(response, payload)
        except Exception as error:
            text = str(error)[:500] or type(error).__name__
            raise Refusal("validation_error", f"The answer does not fit: {text}") from None


class Registrations:
    """The names of one gateway."""

    def __init__(self, registered: Iterable[Registration] = ()) -> None:
        self._known: dict[str, Registration] = {ASK_USER: _ASK_USER}
        for one in registered:
            self.register(one)

    def register(self, one: Registration) -> None:
        """Raises `Refusal` (`validation_error`) for a name that is taken, built in or too long."""
        if not 1 <= len(one.name) <= _LONGEST:
            raise Refusal("validation_error", f"A name has 1 to {_LONGEST} characters.")
        if one.name == ASK_USER:
            raise Refusal("validation_error", f"{ASK_USER} is built in: use another name.")
        if one.name in self._known:
            raise Refusal("validation_error", f"{one.name} is registered already.")
        for schema, where in (
            (one.payload_schema, "payload_schema"),
            (one.response_schema, "response_schema"),
        ):
            if isinstance(schema, dict):
                contracts.check_schema(schema, where=where)
        self._known[one.name] = one

    def get(self, name: str) -> Registration:
        """Raises `Refusal` (`validation_error`): here nothing pauses under an unknown name."""
        found = self._known.get(name)
        if found is None:
            raise Refusal("validation_error", "No interrupt of this name is registered here.")
        return found


def _read(schema: Schema, raw: Any, what: str) -> Any:
    if isinstance(schema, dict):
        wrong = contracts.validate(schema, raw)
        if wrong:
            where = ".".join(str(step) for step in wrong[0]["path"]) or what
            raise Refusal("validation_error", f"{where}: {wrong[0]['message']}.", errors=wrong)
        return raw
    try:
        return schema.model_validate(raw)
    except ValidationError as error:
        found = problems(error)
        where = ".".join(str(step) for step in found[0]["path"]) or what
        raise Refusal(
            "validation_error", f"{where}: {found[0]['message']}.", errors=found
        ) from None


def _answers_what_was_asked(response: AskUserResponse, request: AskUserRequest) -> None:
    wrong = asking_user.problem(response, request)
    if wrong:
        raise ValueError(wrong)


_ASK_USER: Final = Registration(
    ASK_USER, AskUserRequest, AskUserResponse, _answers_what_was_asked, built_in=True
)
