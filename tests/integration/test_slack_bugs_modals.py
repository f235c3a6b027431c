"""Telling bugs of other Slack apps, 1 to 12: triggers, acknowledgements and views. Over both transports.

Numbers and names are those of docs/slack.md. A bug that can't happen by construction has a test of that
construction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.slack import modal
from adapters.views import Card, Field, Form, Person, Receipt
from tests.fakes.slack import Fault
from tests.fakes.slack_state import View
from tests.integration.slack_world import APPROVAL, CLARIFICATION, REASON, World, slack_world


@pytest.fixture(params=["http", "socket"])
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with slack_world(request.param, monkeypatch) as found:
        yield found


async def form(world: World, card: Card = APPROVAL, action: str = "sayso.reject") -> View:
    """The modal of an action, opened and filled."""
    await world.show(card)
    await world.slack.click(await world.slack.posted(), action)
    return await world.slack.opened(len(world.slack.views) or 1)


def methods(world: World) -> list[str]:
    return [call.method for call in world.slack.calls if call.method.startswith("views.")]


def hold(world: World) -> asyncio.Event:
    """Make the look-up of a card slow: it goes on when the event is set."""
    held = asyncio.Event()
    look = world.intake.look

    async def slow(interrupt_id: str, person: Person) -> Card | None:
        await held.wait()
        return await look(interrupt_id, person)

    world.intake.look = slow  # type: ignore[method-assign]
    return held


async def test_01_a_modal_opened_after_slow_work(world: World) -> None:
    """1. expired_trigger_id: a view is opened before anything slow is asked, and filled afterwards."""
    await world.show(APPROVAL)
    held = hold(world)
    answer = await world.slack.click(await world.slack.posted(), "sayso.reject")
    assert answer.status == 200
    assert methods(world) == ["views.open"]
    assert "Loading" in (await world.slack.opened(ready=False)).shown()
    held.set()
    assert (await world.slack.opened()).labels() == ["Why?"]


async def test_02_an_ack_that_was_thought_to_extend_the_trigger(world: World) -> None:
    """2. The view is opened before the click is acknowledged; a trigger that is over is explained."""
    await world.show(APPROVAL)
    message = await world.slack.posted()
    going, go = asyncio.Event(), asyncio.Event()
    world.slack.faults["views.open"] = Fault(wait=go)
    click = asyncio.create_task(world.slack.click(message, "sayso.reject"))
    await world.slack.until(lambda: methods(world) == ["views.open"], "the call")
    going.set()
    assert not click.done()
    go.set()
    assert (await click).status == 200
    late = await world.slack.click(message, "sayso.reject", user="U0BOB", trigger_age=4)
    assert late.status == 200
    assert "press the button again" in (await world.slack.told())["text"]


async def test_03_a_modal_opened_from_a_submission(world: World) -> None:
    """3. Fails on mobile: a submission is answered in its own acknowledgement, whatever happens."""
    view = await form(world)
    world.intake.receipts = [Receipt(False, "No.", "validation_error", {"f0": "Say more."})]
    assert (await world.slack.submit(view, {"Why?": "no"})).errors == {"Why?": "Say more."}
    world.intake.receipts = [Receipt(False, "Too late.", "interrupt_expired")]
    assert (await world.slack.submit(view, {"Why?": "no, and why"})).view is not None
    assert methods(world) == ["views.open", "views.update"]


async def test_04_an_ack_that_closed_the_modal_and_an_update_after_it(world: World) -> None:
    """4. One answer with a complete view: nothing is updated after a submission was answered."""
    view = await form(world)
    world.intake.receipts = [Receipt(False, "Bob was faster.", "interrupt_already_resolved")]
    outcome = await world.slack.submit(view, {"Why?": "no"})
    assert outcome.view is not None
    assert "Bob was faster." in outcome.view.shown()
    assert {"type", "title", "blocks", "close"} <= outcome.view.view.keys()
    assert methods(world).count("views.update") == 1  # the filling


async def test_05_a_text_as_the_ack_of_a_submission(world: World) -> None:
    """5. A submission's answer is empty or has a response_action, and nothing else."""
    for receipt in (Receipt(True, "Recorded"), Receipt(False, "No.", "forbidden"), RuntimeError()):
        view = await form(world)
        world.intake.receipts = [receipt]
        outcome = await world.slack.submit(view, {"Why?": f"no {receipt}"})
        assert outcome.answer.body.keys() <= {"response_action", "errors", "view"}
        assert "response_action" in outcome.answer.body


async def test_06_errors_as_the_ack_of_a_click(world: World) -> None:
    """6. A click takes no errors: its acknowledgement is empty, and the person gets a private note."""
    await world.show(APPROVAL)
    world.intake.receipts = [Receipt(False, "Say why.", "validation_error", {"f0": "Say why."})]
    answer = await world.slack.click(await world.slack.posted(), "sayso.accept")
    assert (answer.status, answer.body) in [(200, None), (200, "")]
    assert (await world.slack.told())["text"] == "Say why."


async def test_07_errors_of_a_wrong_shape(world: World) -> None:
    """7. 'Trouble connecting': each error is a text at an input that is there, also one of no input."""
    view = await form(world, CLARIFICATION, "sayso.answer")
    values = {"Region": "Ireland", "How many?": "1"}
    for errors in ({"f1": "Too few."}, {"nowhere": "All in all: no."}, {"": "No."}):
        world.intake.receipts = [Receipt(False, "No.", "validation_error", errors)]
        outcome = await world.slack.submit(view, values)  # raises what Slack would show
        assert list(outcome.errors.values()) == list(errors.values())
    assert (await world.slack.submit(view, values)).closed


async def test_08_a_new_initial_value_that_is_ignored(world: World) -> None:
    """8. Kept while the block_id is the same: another question has other ids, and each opening is new."""
    before = await form(world)
    field = replace(REASON.fields[0], path=("other",), default="from the new one", has_default=True)
    world.intake.forms["reject"] = Form("Reject", (field,))
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    after = await world.slack.opened(2)
    (one,) = [b for b in before.view["blocks"] if b["type"] == "input"]
    (two,) = [b for b in after.view["blocks"] if b["type"] == "input"]
    assert one["block_id"] != two["block_id"]
    assert two["element"]["initial_value"] == "from the new one"
    assert before.id != after.id


async def test_09_values_of_an_earlier_screen(world: World) -> None:
    """9. Slack may send the state of the screen before: values that this form did not ask count nothing."""
    view = await form(world)
    payload_state = {"elsewhere.f0": {"value": {"type": "plain_text_input", "value": "old"}}}
    assert modal.values(REASON, payload_state) == {}
    world.intake.forms["reject"] = Form("Reject", (Field("f0", ("feedback",), "How so?", "json"),))
    outcome = await world.slack.submit(view, {"Why?": "typed before"})
    assert outcome.view is not None
    assert "changed" in outcome.view.shown()
    assert "typed before" in outcome.view.shown()
    assert world.intake.answers == []


async def test_10_an_update_after_the_person_closed_it(world: World) -> None:
    """10. not_found: it is what the person wanted. Nobody is told, nothing is repeated."""
    await world.show(APPROVAL)
    held = hold(world)
    await world.slack.click(await world.slack.posted(), "sayso.reject")
    view = await world.slack.opened(ready=False)
    await world.slack.close(view)
    held.set()
    await world.slack.until(lambda: "views.update" in methods(world), "the update")
    assert world.slack.called("views.update")[0].error == "not_found"
    await world.slack.click(await world.slack.posted(), "sayso.accept")  # and it works on
    assert [r.action for r in world.intake.answers] == ["accept"]
    assert world.slack.private == []
    assert methods(world).count("views.update") == 1


async def test_11_a_closing_that_is_waited_for(world: World) -> None:
    """11. view_closed may never come: no view asks for it, and nothing depends on it."""
    view = await form(world)
    assert not view.view.get("notify_on_close")
    assert (await world.slack.close(view)).status == 200
    assert world.intake.answers == []
    assert world.intake.cards[APPROVAL.interrupt_id].state == "open"


async def test_12_the_last_step_that_closed_back_to_the_one_before(world: World) -> None:
    """12. An empty answer closes one view of a stack: what counted is answered with 'clear'."""
    view = await form(world)
    outcome = await world.slack.submit(view, {"Why?": "no"})
    assert outcome.answer.body == {"response_action": "clear"}
    assert outcome.closed
    assert "views.push" not in methods(world)
