"""Operations on the API keys that are kept in the store."""

from __future__ import annotations

from typing import Final

from gateway.openapi.operation import Answer, Operation
from schemas.api_keys import ApiKeyList, ApiKeyRecord, CreateApiKey, NewApiKey

_ALL: Final = "/host/sayso/api-keys"

OPERATIONS: Final = (
    Operation(
        "createApiKey",
        "post",
        _ALL,
        "Make an API key of the caller's tenant, with scopes that the caller has.",
        (Answer(201, "The key, which is shown this once.", NewApiKey),),
        scope="keys:manage",
        body=CreateApiKey,
    ),
    Operation(
        "listApiKeys",
        "get",
        _ALL,
        "The tenant's keys that are kept in the store, revoked ones too.",
        (Answer(200, "The keys.", ApiKeyList),),
        scope="keys:manage",
    ),
    Operation(
        "revokeApiKey",
        "post",
        _ALL + "/{keyName}/revoke",
        "Revoke a key, from the next request on.",
        (Answer(200, "It is revoked.", ApiKeyRecord),),
        scope="keys:manage",
        errors=("not_found", "validation_error"),
    ),
)
