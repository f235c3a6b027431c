"""Operations on contracts, and the request for input that is made under one."""

from __future__ import annotations

from typing import Final

from gateway.openapi.operation import Answer, Operation
from schemas.contracts import AskForInput, Contract, ContractList, ContractRecord
from schemas.records import InterruptRecord

_ALL: Final = "/host/sayso/contracts"
_REPLAYED: Final = ("OpenWOP-Idempotent-Replay",)

OPERATIONS: Final = (
    Operation(
        "registerContract",
        "post",
        _ALL,
        "Register a version of a contract. A version never changes.",
        (
            Answer(201, "It is registered.", ContractRecord),
            Answer(200, "It was registered, with the same schemas.", ContractRecord),
        ),
        scope="runs:create",
        body=Contract,
        errors=("sayso.contract_conflict",),
    ),
    Operation(
        "listContracts",
        "get",
        _ALL,
        "The contracts that this tenant may ask under, by name and version.",
        (Answer(200, "The contracts.", ContractList),),
        scope="runs:read",
    ),
    Operation(
        "getContract",
        "get",
        _ALL + "/{contractName}",
        "The versions of one contract.",
        (Answer(200, "Its versions.", ContractList),),
        scope="runs:read",
        errors=("not_found",),
    ),
    Operation(
        "askForInput",
        "post",
        "/host/sayso/runs/{runId}/inputs",
        "Ask for input: under a contract, or a text, a choice, several choices.",
        (
            Answer(201, "It is asked.", InterruptRecord, headers=_REPLAYED),
            Answer(200, "The key is known: the interrupt as it is.", InterruptRecord),
        ),
        scope="runs:create",
        body=AskForInput,
        errors=("run_terminal", "run_state_conflict", "replay_source_missing"),
        idempotent=True,
    ),
)
