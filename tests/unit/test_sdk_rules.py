"""The client's rules, without a server: addresses, what is tried again, what keys are."""

from __future__ import annotations

import inspect
import json
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso import (
    AsyncConversation,
    AsyncRun,
    AsyncSayso,
    Conversation,
    Run,
    Sayso,
    SaysoError,
    StillOpen,
    Unreachable,
    answers,
    keys,
    operations,
    settings,
    shapes,
)
from sayso.operations import Call, Lost, Patience, Pause, Reply
from sayso.plans import RunState
from schemas.ids import IDEMPOTENCY_KEY, from_path_segment

T = TypeVar("T")


@pytest.mark.parametrize(
    ("blocking_class", "awaited_class"),
    [(Sayso, AsyncSayso), (Run, AsyncRun), (Conversation, AsyncConversation)],
)
def test_both_clients_have_the_same_names_and_arguments(
    blocking_class: type, awaited_class: type
) -> None:
    def surface(cls: type) -> dict[str, list[str]]:
        return {
            name: [
                f"{p.name}:{p.kind.name}:{p.default!r}"
                for p in inspect.signature(member).parameters.values()
            ]
            for name, member in vars(cls).items()
            if inspect.isfunction(member) and not name.startswith("_")
        }

    assert surface(blocking_class) == surface(awaited_class)


# --- where the gateway is ---------------------------------------------------------------------


def test_settings_and_their_order(tmp_path: Path) -> None:
    environ = {"SAYSO_URL": "https://a.example/", "SAYSO_API_KEY": "k"}
    assert settings.find(None, None, environ).address() == "https://a.example"
    assert settings.find(None, None, environ).key() == "k"
    own = settings.find("http://b.example", "own-key", environ)
    assert (own.address(), own.key()) == ("http://b.example", "own-key")
    assert "own-key" not in repr(own)
    assert settings.find(None, None, {}).where == "var/url"


def test_a_local_gateway_is_found_by_its_files_whenever_they_appear(tmp_path: Path) -> None:
    local = settings.find(None, None, {"SAYSO_DATA_DIR": str(tmp_path)})
    assert (local.address(), local.key()) == (None, None)
    (tmp_path / "url").write_text("http://127.0.0.1:1/\n")
    (tmp_path / "dev-api-key").write_text("secret\n")
    assert (local.address(), local.key()) == ("http://127.0.0.1:1", "secret")
    (tmp_path / "url").write_text("http://127.0.0.1:2\n")
    assert local.address() == "http://127.0.0.1:2"


def test_the_development_key_never_leaves_this_machine(tmp_path: Path) -> None:
    (tmp_path / "dev-api-key").write_text("secret\n")
    environ = {"SAYSO_DATA_DIR": str(tmp_path)}
    assert settings.find("http://127.0.0.1:1", None, environ).key() == "secret"
    with pytest.raises(ValueError, match="SAYSO_API_KEY"):
        settings.find("https://sayso.example", None, environ)
    assert settings.find("https://sayso.example", "other", environ).key() == "other"


@pytest.mark.parametrize(
    "url", ["b.example", "ftp://b.example", "https://", "https://u:p@b.example", "http://b/?q=1"]
)
def test_urls_that_cannot_be_right(url: str) -> None:
    with pytest.raises(ValueError, match=r"sayso\.example\.com"):
        settings.find(url, "k", {})


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8", True),
        ("http://[::1]:8", True),
        ("http://localhost", True),
        ("https://sayso.example", False),
        ("http://127.example", False),
    ],
)
def test_a_proxy_has_no_business_on_this_machine(url: str, local: bool) -> None:
    assert settings.find(url, "k", {}).local is local


def test_a_key_that_no_header_carries() -> None:
    with pytest.raises(ValueError, match="header"):
        settings.find("http://b.example", "k\ny", {})


# --- the rules, without a server --------------------------------------------------------------


class Clock:
    """Seconds, as the test has them pass."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drive(
    operation: operations.Operation[T], clock: Clock, replies: list[Reply | Lost]
) -> tuple[T, list[float]]:
    """Carry out an operation with scripted replies; its result and its pauses."""
    pauses: list[float] = []
    outcome: Reply | Lost | None = None
    script = iter(replies)
    while True:
        try:
            step = operation.send(outcome)
        except StopIteration as finished:
            return finished.value, pauses
        if isinstance(step, Pause):
            clock.now += step.seconds
            pauses.append(step.seconds)
            outcome = None
        else:
            outcome = next(script)


def patience(clock: Clock, *, reached: bool = True) -> Patience:
    return Patience(clock, 30.0, "http://gateway", reached)


CALL = Call("GET", "/")


def test_pauses_grow_to_a_limit() -> None:
    clock = Clock()
    replies: list[Reply | Lost] = [Lost()] * 20
    result, pauses = drive(
        operations.send(patience(clock), CALL, float("inf")), clock, [*replies, Reply(200, "x")]
    )
    assert result == "x"
    limits = [min(operations.FIRST_PAUSE * 2**n, operations.LONGEST_PAUSE) for n in range(20)]
    assert all(limit / 2 <= p <= limit for p, limit in zip(pauses, limits, strict=True))


@pytest.mark.parametrize(
    ("asked", "least", "most"), [(7.0, 7.0, 7.0), (1e9, 300.0, 300.0), (0.0, 0.1, 0.25)]
)
def test_retry_after_is_honoured_within_reason(asked: float, least: float, most: float) -> None:
    clock = Clock()
    replies: list[Reply | Lost] = [Reply(503, None, asked), Reply(200)]
    _, [pause] = drive(operations.send(patience(clock), CALL, float("inf")), clock, replies)
    assert least <= pause <= most


def test_a_gateway_that_never_answered_is_given_up_soon() -> None:
    clock = Clock()
    with pytest.raises(Unreachable, match="http://gateway"):
        drive(
            operations.send(patience(clock, reached=False), CALL, float("inf")),
            clock,
            [Lost()] * 100,
        )
    assert clock.now == pytest.approx(30)


def test_the_deadline_ends_the_tries_of_one_that_did() -> None:
    clock = Clock()
    with pytest.raises(SaysoError) as raised:
        drive(operations.send(patience(clock), CALL, 600.0), clock, [Reply(503)] * 1000)
    assert raised.value.status == 503
    assert clock.now == pytest.approx(600)


@pytest.mark.parametrize(
    ("status", "body", "again"),
    [
        (429, None, True),
        (502, None, True),
        (503, {"error": "sayso.unavailable", "message": "m"}, True),
        (504, None, True),
        (409, {"error": "idempotency_in_flight", "message": "m"}, True),
        (409, {"error": "run_terminal", "message": "m"}, False),
        (400, {"error": "validation_error", "message": "m"}, False),
        (404, None, False),
        (500, {"error": "internal_error", "message": "m"}, False),
        (302, None, False),
        (501, ["x"], False),
    ],
)
def test_what_is_tried_again(status: int, body: Any, again: bool) -> None:
    clock = Clock()
    operation = operations.send(patience(clock), CALL, float("inf"))
    replies: list[Reply | Lost] = [Reply(status, body), Reply(200, "done")]
    if again:
        assert drive(operation, clock, replies)[0] == "done"
    else:
        with pytest.raises(SaysoError) as raised:
            drive(operation, clock, replies)
        assert raised.value.status == status


def shown(status: str = "open", **more: Any) -> Reply:
    return Reply(200, {"interruptId": "acme/i1", "status": status, **more})


QUESTION = shapes.Ask("custom", {"customKind": "x"}, "n")


def test_a_draining_gateway_is_not_polled_in_a_busy_loop() -> None:
    clock = Clock()
    replies: list[Reply | Lost] = [shown()] * 9
    value, pauses = drive(
        operations.ask(patience(clock), "acme/r", QUESTION, "k", float("inf")),
        clock,
        [*replies, shown("resolved", resumeValue=3)],
    )
    assert value.value == 3
    assert len(pauses) == 8
    assert pauses == sorted(pauses)
    assert pauses[-1] == operations.LONGEST_PAUSE


def test_a_wait_that_ends_while_the_gateway_is_away_leaves_the_question_open() -> None:
    clock = Clock()
    replies: list[Reply | Lost] = [shown(), *[Lost()] * 100]
    with pytest.raises(StillOpen):
        drive(operations.ask(patience(clock), "acme/r", QUESTION, "k", 60.0), clock, replies)
    assert clock.now == pytest.approx(60)


def test_ids_are_spelled_for_a_path() -> None:
    operation = operations.ask(patience(Clock()), "acme/r 1", QUESTION, "k", 60.0)
    step = operation.send(None)
    assert isinstance(step, Call)
    assert step.path == "/host/sayso/runs/acme~2Fr~201/interrupts"
    step = operation.send(shown())
    assert isinstance(step, Call)
    assert step.path == "/host/sayso/interrupts/acme~2Fi1?wait=30"


@pytest.mark.parametrize(
    "body", [None, [], {}, {"interruptId": 1, "status": "open"}, {"status": 1}]
)
def test_bodies_that_are_no_interrupt(body: Any) -> None:
    with pytest.raises(SaysoError, match="unexpected_answer"):
        answers.read_interrupt(body)


@given(st.text(min_size=1))
def test_a_path_id_can_be_read_back_and_is_one_segment(value: str) -> None:
    segment = keys.path_id(value)
    assert from_path_segment(unquote(segment)) == value
    assert segment.strip(".")
    assert set(segment) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-")


@given(st.text(min_size=1, max_size=256))
def test_run_keys_fit_the_header(key: str) -> None:
    named = keys.run_idempotency_key(key)
    assert IDEMPOTENCY_KEY.match(named)
    assert named == keys.run_idempotency_key(key)


def test_runs_without_a_key_are_their_own() -> None:
    one, other = keys.run_idempotency_key(None), keys.run_idempotency_key(None)
    assert one != other
    assert IDEMPOTENCY_KEY.match(one)


def test_a_derived_key_follows_the_question_and_its_visit() -> None:
    run = RunState.of("r")
    ask = shapes.Ask("custom", {"b": 1, "a": 2}, "n" * 128)
    same = shapes.Ask("custom", json.loads('{"a": 2, "b": 1}'), "n" * 128)
    first = run.name(ask)
    assert first == run.name(same)
    assert len(first) <= keys.MAX_KEY
    run.consumed(ask)
    assert run.name(ask) != first
    assert run.name(shapes.Ask("custom", {"a": 3}, "n" * 128)) != first
    assert RunState.of("r").name(ask) == first


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda run: run.approve("t", node="a b"), "node"),
        (lambda run: run.approve("t", key=""), "key"),
        (lambda run: run.approve("t", key="x" * 257), "key"),
        (lambda run: run.approve("t", approvers="ada"), "lists"),
        (lambda run: run.approve("t", timeout=0), "timeout"),
        (lambda run: run.approve("t", timeout=float("inf")), "timeout"),
        (lambda run: run.approve("t", timeout="4h"), "timeout"),
        (lambda run: run.approve("t", artifact=float("nan")), "has to be JSON"),
        (lambda run: run.approve("t", artifact=Decimal("1.5")), "has to be JSON"),
        (lambda run: run.approve("t", approvers=["ada", "ada"], required=2), "approvers names 1"),
        (lambda run: run.ask({}), "at least one"),
        (lambda run: run.ask("Which region?"), "by name"),
        (lambda run: run.ask({"count": 5}), "'count' is neither"),
    ],
)
def test_mistakes_are_told_before_anything_is_sent(call: Any, says: str) -> None:
    with (
        Sayso("http://127.0.0.1:9", "k", patience=0) as client,
        pytest.raises(ValueError, match=says),
    ):
        call(client.run("r"))


@pytest.mark.parametrize("key", ["", "x" * 257])
def test_run_keys_have_a_length(key: str) -> None:
    with Sayso("http://127.0.0.1:9", "k") as client, pytest.raises(ValueError, match="run key"):
        client.run(key)


@pytest.mark.parametrize("wrong", ["", "main", "main/", "/01m8n5aj2t8wxsfexw0m7q71ng"])
def test_run_ids_have_a_form(wrong: str) -> None:
    with Sayso("http://127.0.0.1:9", "k") as client, pytest.raises(ValueError, match="no run id"):
        client.run_by_id(wrong)


def test_a_retry_after_beyond_the_deadline_is_not_slept_through() -> None:
    clock = Clock()
    with pytest.raises(SaysoError, match="503"):
        drive(operations.send(patience(clock), CALL, 60.0), clock, [Reply(503, None, 61.0)])
    assert clock.now == 0
