"""Where people look by themselves: the Home tab, over signed HTTP and over Socket Mode."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.slack.listing import ON_A_PAGE
from schemas.ids import path_segment
from tests.fakes import slack_home
from tests.integration.conftest import approval
from tests.integration.slack_office import ALL, Office, Start, office


@pytest.fixture(params=["http", "socket"])
async def world(request: pytest.FixtureRequest, start: Start) -> AsyncIterator[Office]:
    async with office(start, request.param) as found:
        yield found


async def test_the_home_tab_lists_what_waits_for_this_person_alone(world: Office) -> None:
    await world.approval("mine", title="Refund <!channel>", approversList=["ada"])
    await world.approval("bobs", title="Not Ada's", approversList=["bob"])
    home = await slack_home.open_home(world.slack)
    shown = home.shown()
    assert "Waiting for you (1)" in shown
    assert "Refund &lt;!channel&gt;" in shown
    assert "Not Ada's" not in shown
    other = await slack_home.open_home(world.slack, "U0BOB")
    assert "Not Ada's" in other.shown()


async def test_somebody_unknown_sees_an_empty_list(world: Office) -> None:
    world.slack.space.add_user("U0EVE", "eve", email="eve@example.com")
    await world.approval("mine", approversList=["ada"])
    home = await slack_home.open_home(world.slack, "U0EVE")
    assert "Nothing waits for you." in home.shown()


async def test_a_review_decides_and_the_tab_follows(world: Office) -> None:
    interrupt = await world.approval("mine", title="Refund it", actions=ALL, approversList=["ada"])
    home = await slack_home.open_home(world.slack)
    await slack_home.press(world.slack, home, "Review")
    view = await world.slack.opened()
    assert view.labels() == ["Your decision", "Reason, changes or question"]
    empty = {"Your decision": "Ask for changes"}
    outcome = await world.slack.submit(view, empty)
    assert "Write what should change" in outcome.errors["Reason, changes or question"]
    said = {"Your decision": "Reject", "Reason, changes or question": "far too much"}
    assert (await world.slack.submit(view, said)).closed
    record = await world.record(interrupt)
    assert record["resumeValue"]["feedback"] == "far too much"
    await world.slack.until(lambda: "Nothing waits" in home.shown(), "an empty list")
    assert "Recently decided" in home.shown()
    assert "Refund it: Rejected by Ada" in home.shown()


async def test_a_review_can_go_on_as_an_edit_with_its_changes_shown(world: Office) -> None:
    data = {"amount": 4000, "note": "as <agreed>"}
    interrupt = await world.approval("mine", actions=ALL, artifactData=data, approversList=["ada"])
    home = await slack_home.open_home(world.slack)
    await slack_home.press(world.slack, home, "Review")
    view = await world.slack.opened()
    await world.slack.submit(view, {"Your decision": "Edit and approve"})
    assert view.labels() == ["Amount", "Note"]
    await world.slack.submit(view, {"Amount": "3500"})
    assert "What you changed" in view.shown()
    assert "4000" in view.shown()
    assert view.view["submit"]["text"] == "Approve as changed"
    assert (await world.record(interrupt))["status"] == "open"
    # Changed once more after the list was shown: it is shown again, with what counts now.
    await world.slack.submit(view, {"Amount": "3600"})
    assert "3600" in view.shown()
    assert (await world.slack.submit(view, {})).closed
    value = (await world.record(interrupt))["resumeValue"]
    assert value["editedArtifactData"] == {"amount": 3600, "note": "as <agreed>"}


async def test_the_tab_is_refreshed_when_requests_change_elsewhere(world: Office) -> None:
    home = await slack_home.open_home(world.slack)
    assert "Nothing waits" in home.shown()
    await world.approval("new", title="Something new", approversList=["ada"])
    await world.slack.until(lambda: "Something new" in home.shown(), "the new request", 15)
    # Nothing is published again while nothing changes, and never to those who did not open it.
    edits = home.edits
    slack: Any = world.api.gateway.channels["slack"]
    await slack.refresh_inboxes()
    assert home.edits == edits
    assert set(world.slack.space.home) == {"U0ADA"}


async def test_pages_turn_and_a_click_on_an_old_list_is_answered(world: Office) -> None:
    for number in range(ON_A_PAGE + 2):
        await world.approval(f"k{number}", title=f"Request {number}", notify=())
    home = await slack_home.open_home(world.slack)
    assert f"Waiting for you ({ON_A_PAGE + 2})" in home.shown()
    assert "Page 1 of 2" in home.shown()
    last = f"Request {ON_A_PAGE + 1}"
    assert last not in home.shown()
    await slack_home.press(world.slack, home, "Next page")
    await world.slack.until(lambda: last in home.shown(), "the second page")
    assert len(home.view["blocks"]) <= 100


async def test_a_request_that_is_over_says_so_when_it_is_opened(world: Office) -> None:
    interrupt = await world.approval("mine", approversList=["ada", "bob"])
    old = copy.deepcopy(await slack_home.open_home(world.slack))
    message = await world.slack.posted("C0OPS")
    await world.slack.click(message, "sayso.accept", user="U0BOB")
    assert (await world.record(interrupt))["status"] == "resolved"
    await slack_home.press(world.slack, old, "Review")
    view = await world.slack.opened()
    assert "Approved by Bob" in view.shown()
    assert "submit" not in view.view


async def test_an_older_list_does_not_cover_a_newer_one(world: Office) -> None:
    home = await slack_home.open_home(world.slack)
    world.slack.space.replace_view(home, home.view)  # another replica published: another hash
    interrupt = await world.approval("new", title="Later", notify=(), approversList=["ada"])
    slack: Any = world.api.gateway.channels["slack"]
    await slack.refresh_inboxes()
    assert world.slack.called("views.publish")[-1].error == "hash_conflict"
    assert "Later" not in home.shown()
    await slack.refresh_inboxes()  # and it is not forgotten that something changed
    assert "Later" in home.shown()
    assert (await world.record(interrupt))["status"] == "open"


async def test_a_workspace_lists_the_requests_of_its_own_tenant(start: Start) -> None:
    """In the Home tab, by `/sayso`, and by the name of a request; those of others do not exist there."""
    async with office(start, "http", slack={"tenants": {"T0TEAM": "other"}}) as world:
        await world.approval("main", title="Of acme", approversList=["ada"])
        theirs = replace(world.api, key="alien-key-123456789")
        run = await theirs.run()
        payload = approval("k", title="Of other", approversList=["ada"])
        record = await theirs.ask(run, payload)
        home = await slack_home.open_home(world.slack)
        await world.slack.until(lambda: "Of other" in home.shown(), "the list")
        assert "Waiting for you (1)" in home.shown()
        assert "Of acme" not in home.shown()
        found = await slack_home.command(world.slack, f"show {record['interruptId']}")
        assert "Of other" in str(found.body)
        await slack_home.press(world.slack, home, "Review")
        view = await world.slack.opened()
        assert (await world.slack.submit(view, {"Your decision": "Approve"})).closed
        path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}"
        _, found_now, _ = await theirs.call("GET", path)
        assert found_now["outcome"]["by"] == "ada"
