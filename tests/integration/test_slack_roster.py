"""Profiles and user groups in several workspaces and an organisation, and how long they are believed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.accounts import RosterAway
from adapters.channel import DeliveryFailed
from adapters.slack.client import SlackClient
from adapters.slack.directory import SlackRoster
from adapters.slack.installations import Installation, Installations
from adapters.slack.settings import SlackSettings
from adapters.slack.workspaces import Workspace, Workspaces
from host.sealing import Sealer
from host.store.sqlite.store import SqliteStore
from tests.acceptance.program import until
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_methods import Workspace as Space
from tests.fakes.slack_people import Grant, profile

NONE: Any = None
ADA, EVE = "T0TEAM/U0ADA", "T0OTHER/U0EVE"


@dataclass
class Reach:
    slack: FakeSlack
    installations: Installations
    workspaces: Workspaces
    roster: SlackRoster

    async def install(self, space: Space, *, org: str = "") -> Installation:
        key = org or space.team
        token = f"xoxb-{key}"
        self.slack.server.registry.tokens[token] = Grant(space, org)
        made = Installation(
            "" if org else space.team, org, bool(org), key, "A0APP", "U0BOT", (), 1, token
        )
        kept = await self.installations.save(made)
        await self.workspaces.adopt(kept)
        return kept

    async def has(self, group: str, *accounts: str, emails: tuple[str, ...] = ()) -> bool:
        return await self.roster.is_member(group, accounts, emails, 5.0)


@pytest.fixture
async def reach(tmp_path: Path) -> AsyncIterator[Reach]:
    async with FakeSlack() as slack:
        for user in ("U0ADA", "U0BOB"):
            profile(slack.space, user)
        slack.space.groups["S0FIN"] = ["U0ADA"]
        slack.server.registry.handles["S0FIN"] = "finance"
        store = SqliteStore(tmp_path / "sayso.db")
        await store.start()
        installations = Installations(store.documents, Sealer(["k" * 32]), lambda: 1000)
        settings = SlackSettings(
            signing_secrets=("s" * 32,),
            api_url=slack.api_url,
            client_id="1.2",
            client_secret="x",
            installations_check=3600.0,
        )

        def make(chosen: SlackSettings, team: str) -> Workspace:
            return Workspace(SlackClient(chosen), NONE, NONE, NONE)

        workspaces = Workspaces(settings, make, installations)
        await workspaces.start()
        yield Reach(slack, installations, workspaces, SlackRoster(workspaces, 60.0))
        await workspaces.stop()
        await store.stop()


def other(team: str = "T0OTHER") -> Space:
    """A workspace whose own Ada has the same user id, and whose finance is another one."""
    space = Space(team)
    space.add_user("U0EVE", "eve", email="eve@other.example")
    for user in ("U0EVE", "U0ADA"):
        profile(space, user)
    space.groups["S0THEIRS"] = ["U0EVE", "U0ADA"]
    return space


async def test_a_group_of_the_one_workspace_needs_no_name(reach: Reach) -> None:
    await reach.install(reach.slack.space)
    for spelled in ("S0FIN", "@finance", "@Finance", "T0TEAM/S0FIN", "T0TEAM/@finance"):
        assert await reach.has(spelled, ADA)
        assert not await reach.has(spelled, "T0TEAM/U0BOB")
    for nothing in ("S0NONE", "@nobody", "T0NOWHERE/S0FIN", "finance", ""):
        assert not await reach.has(nothing, ADA)
    assert await reach.roster.called("S0FIN") == "@finance"
    assert await reach.roster.called("@finance") == "@finance"
    assert await reach.roster.called("S0NONE") == ""


async def test_with_two_workspaces_a_handle_alone_is_nobodys(reach: Reach) -> None:
    """Or whoever installs the app could call a group of theirs as they like."""
    theirs = other()
    await reach.install(reach.slack.space)
    await reach.install(theirs)
    reach.slack.server.registry.handles["S0THEIRS"] = "finance"
    assert not await reach.has("@finance", ADA)
    assert not await reach.has("@finance", EVE)
    assert await reach.has("T0TEAM/@finance", ADA)
    assert not await reach.has("T0TEAM/@finance", EVE)
    assert await reach.has("S0FIN", ADA)  # an id is one group's, wherever it is
    # The same user id in another workspace is somebody else.
    assert not await reach.has("T0TEAM/S0FIN", "T0OTHER/U0ADA")
    assert not await reach.has("S0FIN", "T0OTHER/U0ADA")


async def test_an_organisation_has_to_say_which_workspace(reach: Reach) -> None:
    theirs = other()
    for user in ("U0EVE", "U0ADA"):
        grid = {"enterprise_id": "E0ORG", "teams": ["T0OTHER", "T0THIRD"]}
        profile(theirs, user, enterprise_user=grid)
    await reach.install(theirs, org="E0ORG")
    assert await reach.has("T0OTHER/S0THEIRS", "E0ORG/U0EVE")
    assert await reach.has("T0OTHER/S0THEIRS", "T0THIRD/U0EVE")  # of another of its workspaces
    assert not await reach.has("T0OTHER/S0THEIRS", "T0FAR/U0NOBODY")
    with pytest.raises(RosterAway):  # Slack refuses the question, so nobody is a member
        await reach.has("S0THEIRS", "E0ORG/U0EVE")
    found = await reach.roster.account("T0THIRD/U0EVE", 5.0)
    assert (found.standing, found.email) == ("member", "eve@other.example")
    assert "E0ORG/U0EVE" in found.names


async def test_a_member_is_found_by_a_confirmed_address(reach: Reach) -> None:
    await reach.install(reach.slack.space)
    assert await reach.has("S0FIN", emails=("ada@example.com",))
    assert not await reach.has("S0FIN", emails=("bob@example.com", "nobody@example.com"))
    profile(reach.slack.space, "U0ADA", is_email_confirmed=False)
    reach.roster.heard({"type": "user_change", "user": {"id": "U0ADA"}})
    assert not await reach.has("S0FIN", emails=("ada@example.com",))
    # An account of theirs is asked for by its id, whatever addresses stand beside it.
    assert not await reach.has("S0FIN", "T0TEAM/U0BOB", emails=("ada@example.com",))


async def test_somebody_of_nowhere_is_an_outsider(reach: Reach) -> None:
    await reach.install(reach.slack.space)
    await reach.install(other())
    assert (await reach.roster.account("T0FAR/U0X", 5.0)).standing == "outsider"
    assert (await reach.roster.account("T0TEAM/U0NOBODY", 5.0)).standing == "outsider"


async def test_many_who_ask_at_once_cost_one_call(reach: Reach) -> None:
    await reach.install(reach.slack.space)
    gate = asyncio.Event()
    reach.slack.faults["usergroups.users.list"] = Fault(wait=gate)
    asked = [asyncio.create_task(reach.has("S0FIN", ADA)) for _ in range(50)]
    await until(lambda: reach.slack.called("usergroups.users.list"), "the question")
    gate.set()
    assert all(await asyncio.gather(*asked))
    assert len(reach.slack.called("usergroups.users.list")) == 1


async def test_what_is_too_old_is_asked_again_and_refused_when_slack_is_away(reach: Reach) -> None:
    await reach.install(reach.slack.space)
    fresh = SlackRoster(reach.workspaces, staleness=0.0)  # nothing is believed
    assert await fresh.is_member("S0FIN", [ADA], [], 5.0)
    reach.slack.space.groups["S0FIN"] = []
    assert not await fresh.is_member("S0FIN", [ADA], [], 5.0)
    reach.slack.faults["usergroups.users.list"] = Fault(
        times=2, drop="before"
    )  # aiohttp itself asks twice
    with pytest.raises(RosterAway):
        await fresh.is_member("S0FIN", [ADA], [], 5.0)


async def test_a_change_that_is_told_while_slack_is_asked_is_not_forgotten(reach: Reach) -> None:
    await reach.install(reach.slack.space)
    gate = asyncio.Event()
    reach.slack.faults["usergroups.users.list"] = Fault(wait=gate)
    asking = asyncio.create_task(reach.has("S0FIN", ADA))
    await until(lambda: reach.slack.called("usergroups.users.list"), "the question")
    reach.roster.heard({"type": "subteam_members_changed", "subteam_id": "S0FIN"})
    gate.set()
    assert await asking
    await reach.has("S0FIN", ADA)
    assert len(reach.slack.called("usergroups.users.list")) == 2  # not from before the change


async def test_patience_ends(reach: Reach) -> None:
    await reach.install(reach.slack.space)
    gate = asyncio.Event()
    for method in ("users.info", "usergroups.users.list"):
        reach.slack.faults[method] = Fault(wait=gate)
    with pytest.raises(RosterAway, match="in time"):
        await reach.roster.account(ADA, 0.05)
    with pytest.raises(RosterAway, match="in time"):
        await reach.roster.is_member("S0FIN", [ADA], [], 0.05)
    gate.set()


@pytest.mark.parametrize(
    "event",
    [
        {"type": "user_change"},
        {"type": "user_change", "user": "U0ADA"},
        {"type": "subteam_updated", "subteam": {"id": "S0FIN"}},
        {"type": "subteam_updated", "subteam": []},
        {"type": "subteam_members_changed", "subteam_id": 7},
    ],
)
async def test_any_news_is_taken(reach: Reach, event: dict[str, Any]) -> None:
    assert reach.roster.heard(event)
    assert not reach.roster.heard({**event, "type": "message"})


async def test_a_token_that_another_gateway_exchanged_is_fetched(reach: Reach) -> None:
    kept = await reach.install(reach.slack.space)
    (workspace,) = reach.workspaces.all()
    reach.slack.server.registry.tokens = {"xoxb-new": Grant(reach.slack.space)}
    failure = await _refused(workspace)
    assert not await reach.workspaces.renewed(workspace, failure)  # nobody has: it is over
    assert await reach.installations.swap(replace(kept, token="xoxb-new"))
    assert await reach.workspaces.renewed(workspace, failure)
    assert (await workspace.client.look("team.info", {}))["team"]["id"] == "T0TEAM"


async def test_what_one_gateway_installs_the_others_know_at_once_and_forget_soon(
    reach: Reach,
) -> None:
    settings = SlackSettings(
        signing_secrets=("s" * 32,),
        api_url=reach.slack.api_url,
        client_id="1.2",
        client_secret="x",
        installations_check=0.05,
    )

    def make(chosen: SlackSettings, team: str) -> Workspace:
        return Workspace(SlackClient(chosen), NONE, NONE, NONE)

    second = Workspaces(settings, make, reach.installations)
    await second.start()
    try:
        assert await second.named("T0TEAM") is None
        kept = await reach.install(reach.slack.space)
        await until(lambda: second.all(), "the other gateway to notice by itself")
        theirs = await reach.install(other())
        assert await second.named("T0OTHER") is not None  # looked up, not waited for
        found, rest = await second.at("T0OTHER/#ops")
        assert (found.installation, rest) == (theirs, "#ops")
        await reach.installations.swap(replace(kept, token="xoxb-new"))
        await until(
            lambda: "xoxb-new" in [w.installation.token for w in second.all() if w.installation],
            "the new token",
        )
        uninstalled = {"team_id": "T0OTHER", "event_time": 9_999_999_999}
        await reach.workspaces.removed(uninstalled)
        await until(lambda: len(second.all()) == 1, "the removal")
        with pytest.raises(DeliveryFailed) as failed:
            await second.at("T0OTHER/#ops")
        assert failed.value.permanent
    finally:
        await second.stop()


async def test_a_workspace_that_was_not_there_a_moment_ago_is_found_when_it_is(
    reach: Reach,
) -> None:
    body = {"team": {"id": "T0TEAM"}}
    assert await reach.workspaces.of(body) is None
    await reach.install(reach.slack.space)  # "not there" was remembered, and is forgotten now
    found = await reach.workspaces.of(body)
    assert found is not None
    assert found.installation is not None
    assert found.installation.key == "T0TEAM"


async def _refused(workspace: Workspace) -> Any:
    from adapters.slack.failures import SlackFailed

    with pytest.raises(SlackFailed) as failed:
        await workspace.client.look("team.info", {})
    assert failed.value.error == "invalid_auth"
    return failed.value
