"""Who may press in Slack: a whole gateway, and the strict fake Slack that says who people are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_people import profile
from tests.fakes.slack_state import Message
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]


@dataclass
class Office:
    """A gateway in the workspace, and a run that asks."""

    api: Api
    slack: FakeSlack
    asked: int = 0

    async def ask(self, **data: Any) -> tuple[dict[str, Any], Message]:
        self.asked += 1
        run = await self.api.run()
        record = await self.api.ask(run, approval(f"k{self.asked}", **data), notify=["slack:#ops"])
        return record, await self.slack.posted("C0OPS", self.asked)

    async def state(self, record: dict[str, Any]) -> dict[str, Any]:
        _, found, _ = await self.api.call(
            "GET", f"/host/sayso/interrupts/{record['interruptId'].replace('/', '%2F')}"
        )
        return dict(found)

    async def press(self, message: Message, user: str, **more: Any) -> None:
        answer = await self.slack.click(message, "sayso.accept", user=user, **more)
        assert answer.status == 200
        assert answer.seconds < 3


@pytest.fixture
async def office(start: Start) -> AsyncIterator[Office]:
    async with FakeSlack() as slack:
        for user in ("U0ADA", "U0BOB"):
            profile(slack.space, user)
        slack.space.add_user("U0EVE", "eve", email="eve@example.com")
        profile(slack.space, "U0EVE")
        slack.space.groups["S0ONCALL"] = ["U0BOB"]
        slack.server.registry.handles["S0ONCALL"] = "oncall"
        settings = {
            "bot_token": slack.bot_token,
            "signing_secret": slack.signing_secret,
            "api_url": slack.api_url,
        }
        api = await start(slack=settings, groups={"rota": {"slack": ["@oncall"]}})
        slack.target = api.gateway.url
        yield Office(api, slack)


async def test_a_confirmed_address_is_enough_to_be_known(office: Office) -> None:
    record, message = await office.ask(approversList=["ada"])
    await office.press(message, "U0ADA")
    found = await office.state(record)
    assert (found["status"], found["outcome"]["by"]) == ("resolved", "ada")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"is_email_confirmed": False}, "Only Ada may answer this."),
        ({"is_restricted": True}, "Only Ada may answer this."),
        ({"is_ultra_restricted": True}, "Only Ada may answer this."),
        ({"team_id": "T0OTHER", "is_stranger": True}, "Only Ada may answer this."),
        ({"deleted": True}, "deactivated"),
    ],
)
async def test_an_address_that_proves_nothing_is_no_name(
    office: Office, change: dict[str, Any], words: str
) -> None:
    profile(office.slack.space, "U0ADA", **change)
    record, message = await office.ask(approversList=["ada"])
    await office.press(message, "U0ADA")
    note = await office.slack.told()
    assert note["user"] == "U0ADA"
    assert words in note["text"]
    assert (await office.state(record))["status"] == "open"


async def test_somebody_of_another_company_presses_in_a_shared_channel(office: Office) -> None:
    record, message = await office.ask(approverGroupRefs=["slack:@oncall"])
    office.slack.space.groups["S0ONCALL"].append("U0FAR")
    office.slack.space.add_user("U0FAR", "far")
    profile(office.slack.space, "U0FAR", team_id="T0FAR", is_stranger=True)
    await office.press(message, "U0FAR", team="T0FAR")
    note = await office.slack.told()
    assert "Only the group @oncall may answer this." in note["text"]
    assert (await office.state(record))["status"] == "open"


@pytest.mark.parametrize("ref", ["slack:S0ONCALL", "slack:@oncall", "slack:T0TEAM/@oncall", "rota"])
async def test_a_user_group_answers(office: Office, ref: str) -> None:
    record, message = await office.ask(approverGroupRefs=[ref])
    await office.press(message, "U0EVE")
    assert "may answer this" in (await office.slack.told())["text"]
    await office.press(message, "U0BOB")
    found = await office.state(record)
    assert (found["status"], found["outcome"]["by"]) == ("resolved", "bob")
    assert len(office.slack.called("usergroups.users.list")) == 1  # believed for a minute


async def test_who_leaves_the_group_has_no_say_from_then_on(office: Office) -> None:
    record, message = await office.ask(
        approverGroupRefs=["slack:S0ONCALL"], approversList=["carol"], requiredApprovals=2
    )
    await office.press(message, "U0EVE")
    office.slack.space.groups["S0ONCALL"] = ["U0EVE"]
    changed = {"type": "subteam_members_changed", "subteam_id": "S0ONCALL"}
    await office.slack.emit({**changed, "added_users": ["U0EVE"], "removed_users": ["U0BOB"]})
    await office.press(message, "U0BOB")
    await office.slack.told(2)
    await office.press(message, "U0EVE")
    found = await office.state(record)
    assert [vote["principal"] for vote in found["votes"]] == ["slack:T0TEAM:U0EVE"]


async def test_a_group_that_slack_can_not_read_has_no_members_and_it_is_said(
    office: Office,
) -> None:
    record, message = await office.ask(approverGroupRefs=["slack:S0ONCALL"])
    office.slack.faults["usergroups.users.list"] = Fault(status=500)
    office.slack.faults["usergroups.users.list"].times = 10_000
    await office.press(message, "U0BOB")
    assert "can't be checked right now" in (await office.slack.told())["text"]
    assert (await office.state(record))["status"] == "open"
    office.slack.faults.clear()
    await office.press(message, "U0BOB")  # Slack is back: the same person, a new click
    assert (await office.state(record))["status"] == "resolved"


async def test_a_rate_limit_is_kept_and_refuses_meanwhile(office: Office) -> None:
    record, message = await office.ask(approverGroupRefs=["slack:S0ONCALL"])
    office.slack.faults["usergroups.users.list"] = Fault(status=429, retry_after=600)
    for number in (1, 2):
        await office.press(message, "U0BOB")
        assert "can't be checked right now" in (await office.slack.told(number))["text"]
    assert len(office.slack.called("usergroups.users.list")) == 1
    assert (await office.state(record))["status"] == "open"


async def test_a_group_answers_by_token_and_by_mail_address_too(office: Office) -> None:
    """The members that Slack names are people; how they answer is another matter."""
    run = await office.api.run()
    record = await office.api.ask(run, approval(approverGroupRefs=["slack:S0ONCALL"]))
    where = f"/host/sayso/interrupts/{record['interruptId'].replace('/', '%2F')}/tokens"
    answers = {}
    for name in ("ada", "bob"):
        _, minted, _ = await office.api.call(
            "POST", where, {"principal": name, "intent": "resolve"}
        )
        body = {"resumeValue": {"action": "accept"}}
        answers[name], _, _ = await office.api.call(
            "POST", f"/interrupts/{minted['token']}", body, key=None
        )
    assert answers == {"ada": 403, "bob": 200}


async def test_notes_stop_before_they_are_a_nuisance(office: Office) -> None:
    _, message = await office.ask(approversList=["ada"])
    for _ in range(10):
        await office.press(message, "U0EVE")
    await office.slack.told(6)
    await office.press(message, "U0BOB")  # somebody else's notes are his own
    await office.slack.told(7)
    assert [n["user"] for n in office.slack.private].count("U0EVE") == 6


async def test_an_app_without_the_scope_knows_nobody_by_address(office: Office) -> None:
    office.slack.server.registry.missing.add("users:read")
    record, message = await office.ask(approversList=["ada"])
    await office.press(message, "U0ADA")
    assert "Only Ada" in (await office.slack.told())["text"]
    assert (await office.state(record))["status"] == "open"


async def test_whoever_may_not_answer_is_shown_no_form(office: Office) -> None:
    """Nor what it would ask: the arguments are for those who decide."""
    _, message = await office.ask(
        approversList=["ada"], actions=["accept", "refine"], artifactData={"amount": 4000}
    )
    for number, (user, words) in enumerate(
        (("U0EVE", "Only Ada may answer this."), ("U0ADA", "")), start=1
    ):
        await office.slack.click(message, "sayso.refine", user=user)
        view = await office.slack.opened(number)
        assert ("submit" in view.view) == (not words)
        assert words in view.shown()
