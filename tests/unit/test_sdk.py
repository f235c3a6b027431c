"""The client, against a small real server that keeps the gateway's HTTP contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from aiohttp.test_utils import TestServer

import sayso
from sayso import AsyncSayso, Cancelled, Expired, Sayso, SaysoError, StillOpen
from tests.fakes.sdk_gateway import KEY, Gateway

T = TypeVar("T")


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    async with TestServer(gateway.app()) as server:
        gateway.url = str(server.make_url("")).rstrip("/")
        yield gateway


async def blocking(gateway: Gateway, program: Callable[[Sayso], T], **options: Any) -> T:
    """Run a program that uses the blocking client, beside the server."""

    def run() -> T:
        with Sayso(gateway.url, KEY, **options) as client:
            return program(client)

    return await asyncio.to_thread(run)


ACCEPT = {"action": "accept", "decidedBy": "ada", "feedback": "fine"}


# --- approvals --------------------------------------------------------------------------------


async def test_an_approval_waits_for_its_answer(gateway: Gateway) -> None:
    def program(client: Sayso) -> sayso.Decision:
        with client.run("refund-4711") as run:
            return run.approve(
                "Refund 120 EUR",
                description="order 7",
                artifact={"eur": 120},
                approvers=["ada", "bob"],
                required=2,
                notify="slack:#finance",
                timeout=timedelta(minutes=1),
            )

    task = asyncio.create_task(blocking(gateway, program))
    await gateway.until_asked()
    await gateway.until_called("GET ")
    assert not task.done()
    await gateway.resolve(ACCEPT)
    decision = await task
    assert decision
    assert (decision.approved, decision.action, decision.by) == (True, "accept", "ada")
    assert (decision.value, decision.feedback) == ({"eur": 120}, "fine")
    [asked] = gateway.asked
    assert asked["nodeId"] == "gate"
    assert asked["notify"] == ["slack:#finance"]
    assert asked["payload"]["timeoutMs"] == 60_000
    assert asked["payload"]["data"] == {
        "artifactId": "gate",
        "artifactType": "json",
        "title": "Refund 120 EUR",
        "actions": ["accept", "reject"],
        "approversList": ["ada", "bob"],
        "description": "order 7",
        "artifactData": {"eur": 120},
        "requiredApprovals": 2,
    }
    [run] = gateway.runs.values()
    assert run["metadata"] == {"key": "refund-4711"}
    assert run["status"] == "running"  # a run with a key can be come back to


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"action": "accept"}, (True, "accept", "", "art", "")),
        ({"action": "reject", "feedback": "no"}, (False, "reject", "", None, "no")),
        (
            {"action": "edit-accept", "editedArtifactData": 5, "decidedBy": "bob"},
            (True, "edit-accept", "bob", 5, ""),
        ),
        (
            {"action": "refine", "refineFeedback": {"scope": "whole", "text": "shorter"}},
            (False, "refine", "", {"scope": "whole", "text": "shorter"}, "shorter"),
        ),
        ({"action": "timeout"}, (False, "timeout", "", None, "")),
        ({"action": "something-new"}, (False, "something-new", "", None, "")),
        ("expired", (False, "timeout", "", None, "")),
    ],
)
async def test_decisions(gateway: Gateway, value: Any, expected: tuple[Any, ...]) -> None:
    gateway.answer = lambda kind, data: value
    got = await blocking(gateway, lambda c: c.run("r").approve("t", artifact="art"))
    assert (got.approved, got.action, got.by, got.value, got.feedback) == expected
    assert bool(got) is expected[0]


@pytest.mark.parametrize("value", ["accept", ["accept"], {"approved": True}, {"action": True}, 1])
async def test_what_cannot_be_read_is_never_consent(gateway: Gateway, value: Any) -> None:
    gateway.answer = lambda kind, data: value
    with pytest.raises(SaysoError) as raised:
        await blocking(gateway, lambda c: c.run("r").approve("t"))
    assert raised.value.code == "unexpected_answer"


async def test_a_withdrawn_question_raises(gateway: Gateway) -> None:
    gateway.answer = lambda kind, data: "cancelled"
    with pytest.raises(Cancelled):
        await blocking(gateway, lambda c: c.run("r").approve("t"))


# --- durability -------------------------------------------------------------------------------


async def test_the_same_program_gets_the_same_stored_answers(gateway: Gateway) -> None:
    answers = iter(["accept", "reject", "accept"])
    gateway.answer = lambda kind, data: {"action": next(answers)}

    def program(client: Sayso) -> list[str]:
        with client.run("deploy") as run:
            return [run.approve(title).action for title in ("a", "b", "a")]

    first = await blocking(gateway, program)
    assert first == ["accept", "reject", "accept"]
    assert await blocking(gateway, program) == first
    assert len(gateway.asked) == 3  # the second pass asked nobody
    assert len(gateway.runs) == 1


async def test_a_changed_question_never_takes_an_old_answer(gateway: Gateway) -> None:
    gateway.answer = lambda kind, data: ACCEPT
    await blocking(gateway, lambda c: c.run("pay").approve("Pay 1 EUR"))
    await blocking(gateway, lambda c: c.run("pay").approve("Pay 1000 EUR"))
    assert [a["payload"]["data"]["title"] for a in gateway.asked] == ["Pay 1 EUR", "Pay 1000 EUR"]


async def test_an_own_key_names_the_question(gateway: Gateway) -> None:
    gateway.answer = lambda kind, data: ACCEPT
    for title in ("made at 10:00", "made at 10:01"):
        await blocking(gateway, lambda c, t=title: c.run("pay").approve(t, key="pay:1"))
    [asked] = gateway.asked
    assert asked["payload"]["key"] == "pay:1"


async def test_when_the_wait_is_over_the_question_stays_open(gateway: Gateway) -> None:
    def program(client: Sayso) -> sayso.Decision:
        run = client.run("r")
        with pytest.raises(StillOpen) as over:
            run.approve("t", wait=0)
        assert isinstance(over.value, TimeoutError)
        client.resolve(str(run.id), "gate", ACCEPT)
        return run.approve("t")

    assert (await blocking(gateway, program)).approved
    assert len(gateway.asked) == 1


# --- other kinds ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"answers": {"region": "eu", "count": 2}},
        {"region": "eu", "count": 2},
        {"answers": [{"id": "region", "answer": "eu"}, {"id": "count", "answer": 2}]},
    ],
)
async def test_answers_in_each_of_their_shapes(gateway: Gateway, value: Any) -> None:
    gateway.answer = lambda kind, data: value
    schema = {"type": "integer", "title": "How many?"}
    got = await blocking(gateway, lambda c: c.run("r").ask({"region": "Where?", "count": schema}))
    assert got == {"region": "eu", "count": 2}
    assert gateway.asked[0]["payload"]["data"] == {
        "questions": [
            {"id": "region", "question": "Where?"},
            {"id": "count", "question": "How many?", "schema": schema},
        ]
    }


@pytest.mark.parametrize("value", [{"paid": True}, {"eventPayload": {"paid": True}}])
async def test_an_external_event(gateway: Gateway, value: Any) -> None:
    gateway.answer = lambda kind, data: value
    got = await blocking(gateway, lambda c: c.run("r").wait_for("invoice.paid", {"order": "7"}))
    assert got == {"paid": True}
    assert gateway.asked[0]["payload"]["data"] == {
        "eventType": "invoice.paid",
        "correlation": {"order": "7"},
    }


@pytest.mark.parametrize(("status", "error"), [("expired", Expired), ("cancelled", Cancelled)])
async def test_no_answer_is_an_exception(
    gateway: Gateway, status: str, error: type[Exception]
) -> None:
    gateway.answer = lambda kind, data: status
    with pytest.raises(error):
        await blocking(gateway, lambda c: c.run("r").ask({"q": "?"}))
    with pytest.raises(error):
        await blocking(gateway, lambda c: c.run("r").wait_for("e", {}))


async def test_a_run_is_come_back_to_by_its_id(gateway: Gateway) -> None:
    def program(client: Sayso) -> tuple[sayso.Decision, list[dict[str, Any]]]:
        with client.run("r") as run, pytest.raises(StillOpen):
            run.approve("t", wait=0)
        kept = str(run.id)
        client.resolve(kept, "gate", ACCEPT)
        gateway.runs.clear()  # a day later: no key is known any more
        with client.run_by_id(kept) as again:
            assert again.id == kept
            decision = again.approve("t")
        return decision, gateway.asked

    decision, asked = await blocking(gateway, program)
    assert decision.approved
    assert len(asked) == 1
    assert not [call for call in gateway.calls if call.endswith(("/complete", "/cancel"))]


async def test_any_kind_with_a_resume_schema(gateway: Gateway) -> None:
    gateway.answer = lambda kind, data: 7
    got = await blocking(
        gateway,
        lambda c: c.run("r").interrupt(
            "custom", {"customKind": "dice"}, node="roll", resume_schema={"type": "integer"}
        ),
    )
    assert got == 7
    assert gateway.asked[0]["payload"]["resumeSchema"] == {"type": "integer"}


async def test_a_conversation(gateway: Gateway) -> None:
    replies = iter(["hello", {"content": "fine", "role": "user"}, {"n": 1}])
    gateway.answer = lambda kind, data: next(replies) if kind.endswith("exchange") else None

    def program(client: Sayso) -> list[str]:
        with client.run("r") as run, run.converse("c1", title="Plan", notify="slack:#x") as talk:
            return [talk.turn("Hi"), talk.turn("How?"), talk.turn("Hi")]

    assert await blocking(gateway, program) == ["hello", "fine", '{"n": 1}']
    kinds = [a["payload"]["kind"] for a in gateway.asked]
    exchange = "conversation.exchange"
    assert kinds == ["conversation.start", exchange, exchange, exchange, "conversation.close"]
    assert len({a["payload"]["key"] for a in gateway.asked}) == 5
    assert gateway.asked[0]["notify"] == ["slack:#x"]


async def test_a_conversation_that_fails_is_not_closed(gateway: Gateway) -> None:
    def program(client: Sayso) -> None:
        with client.run("r") as run, run.converse("c1"):
            raise KeyError("a defect")

    with pytest.raises(KeyError):
        await blocking(gateway, program)
    assert [a["payload"]["kind"] for a in gateway.asked] == ["conversation.start"]


# --- the life of a run ------------------------------------------------------------------------


async def test_a_run_without_a_key_ends_with_its_block(gateway: Gateway) -> None:
    gateway.answer = lambda kind, data: ACCEPT

    def program(client: Sayso) -> None:
        with client.run() as run:
            run.approve("t")
        with client.run() as run:
            run.approve("t")
            raise KeyError("a defect")

    with pytest.raises(KeyError):
        await blocking(gateway, program)
    assert [run["status"] for run in gateway.runs.values()] == ["completed", "cancelled"]


async def test_nothing_is_sent_before_the_first_question(gateway: Gateway) -> None:
    def program(client: Sayso) -> None:
        with client.run() as run:
            assert run.id is None
            run.cancel()

    await blocking(gateway, program)
    assert gateway.calls == []


async def test_complete_and_cancel(gateway: Gateway) -> None:
    def program(client: Sayso) -> None:
        done, dropped = client.run("done"), client.run("dropped")
        done.complete({"total": 1})
        with pytest.raises(StillOpen) as over:
            dropped.approve("t", wait=0)
        client.cancel(over.value.interrupt_id)
        with pytest.raises(Cancelled):
            dropped.approve("t")
        dropped.cancel()

    await blocking(gateway, program)
    assert [run["status"] for run in gateway.runs.values()] == ["completed", "cancelled"]


# --- trouble ----------------------------------------------------------------------------------


async def test_a_restart_while_waiting_goes_unnoticed(gateway: Gateway) -> None:
    task = asyncio.create_task(blocking(gateway, lambda c: c.run("r").approve("t")))
    await gateway.until_called("GET ")
    gateway.trouble += ["drop", 503, 502]
    gateway.break_waits()
    await gateway.until(lambda: not gateway.trouble)
    assert not task.done()
    await gateway.resolve(ACCEPT)
    assert (await task).approved
    assert len(gateway.asked) == 1


@pytest.mark.parametrize("trouble", [["drop"], [429], [502, 503], [504, "drop"]])
async def test_every_step_is_tried_again(gateway: Gateway, trouble: list[int | str]) -> None:
    gateway.answer = lambda kind, data: ACCEPT
    gateway.trouble = trouble

    def program(client: Sayso) -> sayso.Decision:
        run = client.run("r")
        run.approve("first")
        gateway.trouble[:] = list(trouble)
        return run.approve("second")

    assert (await blocking(gateway, program)).approved
    assert len(gateway.runs) == 1
    assert len(gateway.asked) == 2


async def test_a_refusal_is_raised_at_once(gateway: Gateway) -> None:
    def program() -> None:
        with Sayso(gateway.url, "a-wrong-key") as client:
            client.run("r").approve("t")

    with pytest.raises(SaysoError) as refused:
        await asyncio.to_thread(program)
    error = refused.value
    assert (error.code, error.status, error.details) == ("unauthenticated", 401, {"a": 1})
    assert "a-wrong-key" not in str(error)
    assert len(gateway.calls) == 1


async def test_a_stranger_on_the_other_end(gateway: Gateway) -> None:
    gateway.trouble = [404]
    with pytest.raises(SaysoError, match="SAYSO_URL") as raised:
        await blocking(gateway, lambda c: c.run("r").approve("t"))
    assert raised.value.code == "unexpected_answer"


async def test_nobody_home_says_what_to_do(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("SAYSO_URL", raising=False)
    monkeypatch.setenv("SAYSO_DATA_DIR", str(tmp_path))
    with pytest.raises(SaysoError, match="sayso dev") as raised:
        await asyncio.to_thread(lambda: sayso.Sayso(patience=0).run("r").approve("t"))
    assert raised.value.code == "unreachable"


# --- asyncio ----------------------------------------------------------------------------------


async def test_the_awaited_client_does_the_same(gateway: Gateway) -> None:
    gateway.answer = lambda kind, data: {
        "approval": ACCEPT,
        "clarification": {"answers": {"q": 1}},
        "external-event": {"paid": True},
        "conversation.exchange": "hello",
        "custom": 7,
    }.get(kind)
    async with AsyncSayso(gateway.url, KEY) as client, client.run() as run:
        assert (await run.approve("t")).approved
        assert await run.ask({"q": "?"}) == {"q": 1}
        assert await run.wait_for("e", {"a": "1"}) == {"paid": True}
        assert await run.interrupt("custom", {"customKind": "x"}, node="n") == 7
        async with run.converse("c1") as talk:
            assert await talk.turn("Hi") == "hello"
    assert [r["status"] for r in gateway.runs.values()] == ["completed"]


async def test_awaited_questions_side_by_side(gateway: Gateway) -> None:
    async with AsyncSayso(gateway.url, KEY) as client:
        run = client.run("r")
        both = asyncio.gather(run.approve("a", node="a"), run.approve("b", node="b"))
        await gateway.until_asked(2)
        await gateway.resolve({"action": "reject"}, node="b")
        await gateway.resolve(ACCEPT, node="a")
        a, b = await both
    assert (a.action, b.action) == ("accept", "reject")
    assert len(gateway.runs) == 1


async def test_a_cancelled_task_withdraws_what_nobody_can_come_back_to(gateway: Gateway) -> None:
    async def program() -> None:
        async with AsyncSayso(gateway.url, KEY) as client, client.run() as run:
            await run.approve("t")

    task = asyncio.create_task(program())
    await gateway.until_called("GET ")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [run["status"] for run in gateway.runs.values()] == ["cancelled"]


async def test_approve_alone_finds_a_local_gateway(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.answer = lambda kind, data: ACCEPT
    (tmp_path / "url").write_text(gateway.url + "\n")
    (tmp_path / "dev-api-key").write_text(KEY + "\n")
    monkeypatch.delenv("SAYSO_URL", raising=False)
    monkeypatch.delenv("SAYSO_API_KEY", raising=False)
    monkeypatch.setenv("SAYSO_DATA_DIR", str(tmp_path))
    assert await asyncio.to_thread(lambda: sayso.approve("t", artifact=1))
    assert [run["status"] for run in gateway.runs.values()] == ["completed"]
