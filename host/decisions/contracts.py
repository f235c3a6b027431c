"""decide: what a request for input asks, what answers it, and whether a run may ask it. Pure.

The kinds, their defaults and the order of the checks are kortyx' (kortyx: requests): `text` is answered by a
string, `choice` by an option's id, `multi-choice` by several, `custom` by a value that fits the contract's
response schema. Choices are static (the options are in the request) or come from a picker that `schemaId`
names; then the request has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from schemas.contracts import (
    DEFAULT_TTL_MS,
    INPUT_KIND,
    PICKER,
    AskForInput,
    Contract,
    ContractUse,
    InputKind,
    Option,
)
from schemas.errors import Refusal

Check = Callable[[dict[str, Any], Any], list[dict[str, Any]]]
InteractionMode = Literal["freeform", "static-options", "dynamic-picker", "unknown"]

DEFAULT_QUESTION: Final = "Please choose an option."
_PRIVATE: Final = "__kortyx"


def payload_of(
    ask: AskForInput, contract: Contract | None, check: Check, ttl_ms: int = DEFAULT_TTL_MS
) -> dict[str, Any]:
    """The interrupt payload of a request for input. `contract` is the one that it names.

    Raises `Refusal` (`validation_error`, with `details.errors`): a request that the contract's request
    schema refuses, a choice without options and picker, an option id that occurs twice.
    """
    asked = _under(ask, contract, check) if contract is not None else _plain(ask)
    if ask.meta is not None:
        asked["meta"] = public_meta(ask.meta)
    timeout = ask.timeout_ms or (contract.timeout_ms if contract else None) or ttl_ms
    return {
        "kind": "custom",
        "key": ask.key,
        "data": {"customKind": INPUT_KIND, "payload": asked},
        "resumeSchema": contract.response_schema if contract else answer_schema(asked),
        "timeoutMs": timeout,
    }


def _under(ask: AskForInput, contract: Contract, check: Check) -> dict[str, Any]:
    wrong = check(contract.request_schema, ask.request)
    if wrong:
        errors = [{"path": ["request", *e["path"]], "message": e["message"]} for e in wrong]
        where = ".".join(str(step) for step in errors[0]["path"])
        raise Refusal(
            "validation_error",
            f"The request does not fit contract {contract.name} at {where}: {wrong[0]['message']}.",
            errors=errors,
        )
    own = ask.request.get("question") if isinstance(ask.request, dict) else None
    question = own if isinstance(own, str) and own.strip() else ask.question
    return {
        "kind": "custom",
        "multiple": False,
        "question": (question or contract.description)[:3000],
        "options": [],
        "contract": contract.name,
        "request": ask.request,
        "schemaId": contract.schema_id,
        "schemaVersion": contract.schema_version,
    }


def _plain(ask: AskForInput) -> dict[str, Any]:
    kind = kind_of(ask.kind, bool(ask.multiple))
    options = [] if kind == "text" else offered(ask.options or ())
    if kind != "text" and not options and ask.schema_id is None:
        raise _wrong(
            "options", "is empty, and no schemaId names the picker that the choices come from"
        )
    ids = [option["id"] for option in options]
    if len(set(ids)) != len(ids):
        raise _wrong("options", "has an id twice; each option needs an id of its own")
    asked: dict[str, Any] = {
        "kind": kind,
        "multiple": kind == "multi-choice",
        "question": ask.question or ("Your answer?" if kind == "text" else DEFAULT_QUESTION),
        "options": options,
    }
    for name, value in (("schemaId", ask.schema_id), ("schemaVersion", ask.schema_version)):
        if value is not None:
            asked[name] = value
    return asked


def kind_of(kind: InputKind | None, multiple: bool) -> InputKind:
    """The kind that is meant when none is given."""
    return kind or ("multi-choice" if multiple else "choice")


def offered(options: Sequence[Option]) -> list[dict[str, Any]]:
    """Options as anybody may see them: without their values."""
    found = []
    for option in options:
        shown: dict[str, Any] = {"id": option.id, "label": option.label}
        if option.description is not None:
            shown["description"] = option.description
        found.append(shown)
    return found


def public_meta(meta: dict[str, Any]) -> dict[str, Any]:
    """Without what a kortyx runtime keeps there for itself."""
    return {name: value for name, value in meta.items() if not name.startswith(_PRIVATE)}


def answer_schema(asked: dict[str, Any]) -> dict[str, Any]:
    """What answers a request that is under no contract."""
    if asked["kind"] == "text":
        return {"type": "string", "minLength": 1}
    one: dict[str, Any] = {"type": "string", "minLength": 1}
    if asked["options"]:
        one["oneOf"] = [_constant(option) for option in asked["options"]]
    else:
        one[PICKER] = asked["schemaId"]
    if asked["kind"] == "choice":
        return one
    return {"type": "array", "minItems": 1, "uniqueItems": True, "items": one}


def _constant(option: dict[str, Any]) -> dict[str, Any]:
    found = {"const": option["id"], "title": option["label"]}
    if "description" in option:
        found["description"] = option["description"]
    return found


def input_request(payload: dict[str, Any]) -> dict[str, Any] | None:
    """The request for input in an interrupt's payload, or None when it is another pause."""
    data = payload["data"]
    if payload["kind"] != "custom" or data.get("customKind") != INPUT_KIND:
        return None
    asked = data.get("payload")
    return asked if isinstance(asked, dict) and "kind" in asked else None


def interaction_mode(asked: dict[str, Any]) -> InteractionMode:
    """How a person answers (kortyx: telemetry)."""
    if asked["kind"] == "text":
        return "freeform"
    if asked["options"]:
        return "static-options"
    return "dynamic-picker" if asked.get("schemaId") else "unknown"


def check_may_ask(use: ContractUse | None, asked: Sequence[str], contract: str) -> None:
    """Whether a run may ask under `contract` once more; `asked` names those that it has asked under.

    Raises `Refusal` (`run_state_conflict`) that names the limit. A run that says nothing is not limited.
    """
    if use is None:
        return
    if contract not in use.contracts:
        raise Refusal(
            "run_state_conflict",
            f"This run asks under {', '.join(use.contracts)} only, and not under {contract}.",
        )
    if len(asked) >= use.max_requests:
        raise Refusal(
            "run_state_conflict",
            f"This run has asked as often as it may: maxRequests is {use.max_requests}.",
            maxRequests=use.max_requests,
        )


def check_has_asked(use: ContractUse | None, asked: Sequence[str]) -> None:
    """Whether a run may be completed. Raises `Refusal` (`run_state_conflict`) when its mode is required
    and it has asked nobody: an approval that a model can skip is none."""
    if use is not None and use.mode == "required" and not asked:
        raise Refusal(
            "run_state_conflict",
            f"This run has to ask under {' or '.join(use.contracts)} before it is completed.",
        )


def _wrong(member: str, message: str) -> Refusal:
    return Refusal(
        "validation_error", f"{member} {message}.", errors=[{"path": [member], "message": message}]
    )
