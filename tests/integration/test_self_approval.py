"""Who asked doesn't decide, where the operator or the request says so: by no way that a program has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from schemas.ids import path_segment
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]
ACCEPT = {"resumeValue": {"action": "accept"}}
FORBIDDEN = (403, "You asked for this, so somebody else has to decide it.")
OPERATOR = {"approvals": {"self_approval": False}}


async def said(api: Api, path: str, body: Any) -> tuple[int, str]:
    status, answer, _ = await api.call("POST", path, body)
    return status, answer.get("message", "")


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        (OPERATOR, {}),
        (OPERATOR, {"selfApproval": True}),  # a request can't lift what the operator forbids
        ({}, {"selfApproval": False}),
    ],
)
@pytest.mark.parametrize("listed", [[], ["robot", "ada"]])
async def test_not_with_the_key_and_not_with_a_token(
    start: Start, settings: dict[str, Any], asked: dict[str, Any], listed: list[str]
) -> None:
    api = await start(**settings)
    run = await api.run()
    question = approval(approversList=listed) if listed else approval()
    made = await api.ask(run, question, **asked)
    assert await said(api, f"/runs/{run}/interrupts/gate", ACCEPT) == FORBIDDEN
    tokens = f"/host/sayso/interrupts/{path_segment(made['interruptId'])}/tokens"
    for principal in ({}, {"principal": "ada"}, {"principal": "robot"}):
        assert await said(api, tokens, {"intent": "resolve", **principal}) == FORBIDDEN
    assert (await said(api, tokens, {"intent": "inspect"}))[0] == 201


async def test_a_request_can_allow_what_is_allowed(start: Start) -> None:
    api = await start()
    ways: tuple[dict[str, Any], ...] = ({}, {"selfApproval": True})
    for more in ways:
        run = await api.run()
        await api.ask(run, **more)
        status, _ = await said(api, f"/runs/{run}/interrupts/gate", ACCEPT)
        assert status == 200


async def test_another_program_hands_out_the_link(start: Start) -> None:
    api = await start(**OPERATOR)
    _, made, _ = await api.call(
        "POST", "/host/sayso/api-keys", {"name": "desk", "scopes": ["approvals:respond"]}
    )
    asked = await api.ask(await api.run(), approval(approversList=["ada"]))
    tokens = f"/host/sayso/interrupts/{path_segment(asked['interruptId'])}/tokens"
    status, minted, _ = await api.call(
        "POST", tokens, {"intent": "resolve", "principal": "ada"}, key=made["key"]
    )
    assert status == 201
    status, answer, _ = await api.call("POST", f"/interrupts/{minted['token']}", ACCEPT, key=None)
    assert (status, answer["status"]) == (200, "running")
