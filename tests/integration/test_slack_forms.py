"""Forms in Slack, from the button to the answer, over signed HTTP and over Socket Mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.views import Card, Person, Receipt
from schemas.errors import Refusal
from tests.integration.slack_world import (
    APPROVAL,
    CLARIFICATION,
    REASON,
    World,
    slack_world,
)


@pytest.fixture(params=["http", "socket"])
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with slack_world(request.param, monkeypatch) as found:
        yield found


async def test_a_reason_is_asked_and_answered(world: World) -> None:
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    assert view.labels() == ["Why?"]
    outcome = await world.slack.submit(view, {"Why?": "no <tests>"})
    assert outcome.closed
    (response,) = world.intake.answers
    assert (response.action, response.value) == ("reject", {"feedback": "no <tests>"})
    assert (response.version, response.person.id) == (3, "T0TEAM/U0ADA")


async def test_one_click_opens_one_form(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    for _ in range(2):
        await world.slack.click(message, "sayso.reject", action_ts="7.7")
    await world.slack.opened()
    assert len(world.slack.views) == 1


async def test_answers_of_a_clarification_keep_their_types(world: World) -> None:
    await world.show(CLARIFICATION)
    await world.slack.click(await world.slack.posted(), "sayso.answer")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Region": "Frankfurt", "How many?": "3"})
    assert outcome.closed
    assert world.intake.answers[0].value == {"answers": {"region": "eu-central-1", "count": 3}}
    assert world.intake.answers[0].action == "answer"


async def test_errors_stand_beside_their_fields_and_a_second_try_counts(world: World) -> None:
    await world.show(CLARIFICATION)
    await world.slack.click(await world.slack.posted(), "sayso.answer")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Region": "Ireland", "How many?": "0"})
    assert outcome.errors.keys() == {"How many?"}
    assert world.intake.answers == []
    world.intake.receipts = [Receipt(False, "No.", "validation_error", {"f0": "Not this one."})]
    outcome = await world.slack.submit(view, {"Region": "Ireland", "How many?": "1"})
    assert outcome.errors == {"Region": "Not this one."}
    assert (await world.slack.submit(view, {"Region": "Frankfurt", "How many?": "1"})).closed
    first, second = world.intake.answers
    assert first.dedupe != second.dedupe


async def test_the_same_form_sent_twice_carries_one_key(world: World) -> None:
    world.intake.receipts = [Refusal("sayso.unavailable", "Not now.")]
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Why?": "no"})
    assert outcome.errors == {"Why?": "Not now."}  # the form stays, with what was typed
    assert (await world.slack.submit(view, {"Why?": "no"})).closed
    first, second = world.intake.answers
    assert first.dedupe == second.dedupe


async def test_a_refused_form_becomes_a_sentence_and_keeps_what_was_typed(world: World) -> None:
    world.intake.receipts = [
        Receipt(False, "Bob was faster.", "interrupt_already_resolved"),
    ]
    await world.show(CLARIFICATION)
    await world.slack.click(await world.slack.posted(), "sayso.answer")
    view = await world.slack.opened()
    outcome = await world.slack.submit(view, {"Region": "Frankfurt", "How many?": "3"})
    assert outcome.view is not None
    shown = outcome.view.shown()
    assert "Bob was faster." in shown
    assert "Region: Frankfurt" in shown
    assert "How many?: 3" in shown
    assert outcome.view.labels() == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda w: w.intake.cards.clear(), "does not exist any more"),
        (
            lambda w: w.intake.cards.update(
                {
                    APPROVAL.interrupt_id: replace(
                        APPROVAL, state="resolved", outcome="Approved by bob", actions=()
                    )
                }
            ),
            "Approved by bob",
        ),
        (lambda w: setattr(w.intake, "away", True), "The store is away"),
        (lambda w: w.intake.forms.clear(), "changed"),
        (
            lambda w: w.intake.forms.update(reject=replace(REASON, web_only="It needs a file.")),
            "It needs a file.",
        ),
    ],
)
async def test_a_form_that_cannot_be_asked_says_why(
    world: World, change: Callable[[World], Any], sentence: str
) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    change(world)
    assert (await world.slack.click(message, "sayso.reject")).status == 200
    view = await world.slack.opened()
    assert sentence in view.shown()
    assert "submit" not in view.view


async def test_a_form_whose_question_changed_is_not_taken(world: World) -> None:
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    other = replace(REASON.fields[0], path=("other",))
    world.intake.forms["reject"] = replace(REASON, fields=(other,))
    outcome = await world.slack.submit(view, {"Why?": "no tests"})
    assert outcome.view is not None
    assert "changed" in outcome.view.shown()
    assert "no tests" in outcome.view.shown()
    assert world.intake.answers == []


async def test_a_trigger_that_is_too_old_is_explained(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    assert (await world.slack.click(message, "sayso.reject", trigger_age=4)).status == 200
    assert "press the button again" in (await world.slack.told())["text"]


async def test_the_form_opens_before_anything_slow_is_asked(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    held = asyncio.Event()

    async def slow(interrupt_id: str, person: Person) -> Card | None:
        await held.wait()
        return APPROVAL

    world.intake.look = slow  # type: ignore[method-assign]
    assert (await world.slack.click(message, "sayso.reject")).status == 200
    view = await world.slack.opened(ready=False)
    assert "Loading" in view.shown()
    held.set()
    await world.slack.opened()
    assert view.labels() == ["Why?"]


async def test_closing_a_form_is_not_an_answer(world: World) -> None:
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened()
    assert (await world.slack.close(view)).status == 200
    assert world.intake.answers == []
