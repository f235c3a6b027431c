"""Symfonic's own classes, asked over standard input: mint, decode, read what is given, say what came out.

Runs in an environment that has `symfonic-core[ask-user]` and `python-jose`; see `test_symfonic_classes.py`.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any


def main() -> None:
    asked = json.load(sys.stdin)
    os.environ["JWT_SECRET"] = asked["secret"]
    os.environ["LANGSMITH_TRACING"] = "false"
    from symfonic.agent.middleware.pause_token import PauseToken
    from symfonic.core.contracts import elicitation, interrupt, types

    class Scope:
        """The three members that the hash reads."""

        def __init__(
            self, tenant_id: str, sub_tenant_id: str | None, namespace: str | None
        ) -> None:
            self.tenant_id, self.sub_tenant_id, self.namespace = tenant_id, sub_tenant_id, namespace

    def event(name: str, given: dict[str, Any]) -> Any:
        found = getattr(interrupt, name, None) or getattr(types, name)
        return found.model_validate(given).model_dump(mode="json")

    def decoded(token: str) -> Any:
        try:
            return PauseToken.decode(token, None).model_dump()
        except Exception as error:
            return {"refused": getattr(error, "code", type(error).__name__)}

    def judged(request: Any, response: Any) -> str:
        try:
            elicitation.validate_against_request(
                elicitation.AskUserResponse.model_validate(response),
                elicitation.AskUserRequest.model_validate(request),
            )
        except ValueError:
            return "refused"
        return "taken"

    claims = elicitation.PauseTokenClaims
    json.dump(
        {
            "version": version("symfonic-core"),
            "minted": [PauseToken.encode(claims(**one), None) for one in asked["claims"]],
            "decoded": [decoded(token) for token in asked["tokens"]],
            "events": [event(name, given) for name, given in asked["events"]],
            "scope_hashes": [PauseToken.hash_scope(Scope(*scope)) for scope in asked["scopes"]],
            "payload_hashes": [PauseToken.hash_payload(one) for one in asked["payloads"]],
            "judged": [judged(asked["request"], response) for response in asked["responses"]],
        },
        sys.stdout,
        indent=1,
    )


if __name__ == "__main__":
    main()
