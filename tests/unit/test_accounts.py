"""From a channel's account to a principal at the moment of a decision, on a roster that says what it is
told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pytest

from adapters.accounts import Account, RosterAway
from adapters.views import Person
from config.people import Person as Entry
from gateway.accounts import PATIENCE, Accounts
from gateway.people import People
from host.decisions.eligibility import check_eligible, who_may
from host.decisions.state import Interrupt, Policy, Principal
from schemas.errors import Refusal

ADA = Entry(id="ada", name="Ada", email=("ada@example.com",))
BOB = Entry(id="bob", name="Bob", slack=("T1/U2",), email=("bob@example.com",))
MEMBER = Account("member", "ada@example.com", frozenset({"T1/U1"}))


@dataclass
class Roster:
    known: dict[str, Account] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    away: bool = False
    asked: list[str] = field(default_factory=list)

    async def account(self, person_id: str, patience: float) -> Account:
        if self.away:
            raise RosterAway("Slack did not answer in time")
        return self.known.get(person_id, Account("outsider"))

    async def is_member(
        self, group: str, accounts: Collection[str], emails: Collection[str], patience: float
    ) -> bool:
        self.asked.append(group)
        if self.away:
            raise RosterAway("Slack did not answer in time")
        return bool(self.groups.get(group, set()) & {*accounts, *emails})

    async def called(self, group: str) -> str:
        return "@oncall" if group == "S1" else ""


def accounts(roster: Roster, policy: Policy | None = None, **more: Any) -> Accounts:
    made = Accounts(People([ADA, BOB]), policy or Policy(), **more)
    made.rosters = {"slack": roster}
    return made


def interrupt(*notify: str, **data: Any) -> Interrupt:
    given = {"artifactId": "a", "artifactType": "t", "title": "T", "actions": [], **data}
    payload = {"kind": "approval", "key": "k", "data": given}
    return Interrupt("acme/i", "acme/r", "n", "k", "approval", payload, 0, notify=notify)


PRESSED = Person("slack", "T1/U1", "ada.l")


async def test_a_confirmed_address_names_the_principal() -> None:
    found = await accounts(Roster({"T1/U1": MEMBER})).of(PRESSED, interrupt())
    assert (found.id, found.name, found.known, found.outsider) == ("ada", "Ada", True, False)
    assert {"slack:T1/U1", "email:ada@example.com"} <= found.names


async def test_it_can_be_switched_off() -> None:
    found = await accounts(Roster({"T1/U1": MEMBER}), match_email=False).of(PRESSED, interrupt())
    assert (found.id, found.known) == ("slack:T1:U1", False)


async def test_an_address_in_no_directory_is_one_person_in_slack_and_in_mail() -> None:
    eve = Account("member", "eve@example.com", frozenset({"T1/U9"}))
    named = accounts(Roster({"T1/U9": eve}))
    gate = interrupt(approversList=["email:eve@example.com"])
    by_click = await named.of(Person("slack", "T1/U9"), gate)
    by_mail = await named.of(Person("email", "Eve@example.com"), gate)
    assert (by_click.id, by_mail.id) == ("slack:T1:U9", "email:eve@example.com")
    assert by_mail.id in by_click.names
    assert not by_click.known
    assert check_eligible(gate, by_click, Policy()).because == "principal"


async def test_another_spelling_of_an_account_is_mapped_too() -> None:
    grid = Account("member", "", frozenset({"T2/U2", "T1/U2", "E1/U2"}))
    found = await accounts(Roster({"T2/U2": grid})).of(Person("slack", "T2/U2"), interrupt())
    assert (found.id, found.known) == ("bob", True)


@pytest.mark.parametrize("standing", ["guest", "outsider"])
async def test_guests_and_outsiders_open_no_open_gate(standing: Any) -> None:
    policy = Policy(open_gates="anyone")
    named = accounts(Roster({"T1/U7": Account(standing)}), policy)
    found = await named.of(Person("slack", "T1/U7"), interrupt())
    with pytest.raises(Refusal, match="Guests"):
        check_eligible(interrupt(), found, policy)
    # Who was asked by name was let in by whoever asked.
    asked = await named.of(Person("slack", "T1/U7"), interrupt("slack:@U7"))
    assert check_eligible(interrupt(), asked, policy).because == "open"
    member = accounts(Roster({"T1/U7": Account("member")}), policy)
    full = await member.of(Person("slack", "T1/U7"), interrupt())
    assert check_eligible(interrupt(), full, policy).because == "open"
    with pytest.raises(Refusal, match="directory"):  # and not by default
        check_eligible(interrupt(), full, Policy())


async def test_a_mapping_is_the_operators_word_for_a_guest_too() -> None:
    found = await accounts(Roster({"T1/U2": Account("guest")})).of(
        Person("slack", "T1/U2"), interrupt()
    )
    assert (found.id, found.known, found.outsider) == ("bob", True, False)


async def test_a_deactivated_account_answers_nothing_though_it_is_mapped() -> None:
    with pytest.raises(Refusal, match="deactivated"):
        await accounts(Roster({"T1/U2": Account("gone")})).of(Person("slack", "T1/U2"), interrupt())


async def test_when_slack_is_away_a_mapping_holds_and_a_stranger_waits() -> None:
    named = accounts(Roster(away=True))
    assert (await named.of(Person("slack", "T1/U2"), interrupt())).id == "bob"
    with pytest.raises(Refusal) as refused:
        await named.of(PRESSED, interrupt())
    assert refused.value.code == "sayso.unavailable"


async def test_groups_are_looked_up_only_when_it_depends_on_them() -> None:
    roster = Roster({"T1/U2": Account("member")}, {"S1": {"T1/U2"}})
    named = accounts(roster)
    bob = Person("slack", "T1/U2")
    found = await named.of(bob, interrupt(approverGroupRefs=["slack:S1"]))
    gate = interrupt(approverGroupRefs=["slack:S1"])
    assert check_eligible(gate, found, Policy()).because == "group:slack:S1"
    roster.asked.clear()
    await named.of(bob, interrupt(approversList=["bob"], approverGroupRefs=["slack:S1"]))
    assert roster.asked == []
    other = await named.of(bob, interrupt(approverGroupRefs=["slack:S2", "nowhere:S1", "plain"]))
    assert other.groups == set()
    assert roster.asked == ["S2"]


async def test_a_group_of_the_configuration_has_the_members_that_slack_says() -> None:
    roster = Roster(groups={"@oncall": {"ada@example.com"}})
    named = accounts(roster, groups={"rota": ("slack:S9", "slack:@oncall")})
    gate = interrupt(approverGroupRefs=["rota"])
    # Ada answers by mail: her Slack account is found by her address.
    found = await named.of(Person("email", "ada@example.com"), gate)
    assert found.groups == {"rota"}
    bearer = await named.at_decision(named.principal("ada", "acme"), gate)
    assert bearer.groups == {"rota"}


async def test_a_group_that_can_not_be_read_has_no_members() -> None:
    roster = Roster(away=True)
    with pytest.raises(Refusal) as refused:
        await accounts(roster).at_decision(
            Principal("ada", "acme", names=frozenset({"ada"})),
            interrupt(approverGroupRefs=["slack:S1"]),
        )
    assert refused.value.code == "sayso.unavailable"


async def test_the_refusal_names_people_and_groups_as_they_are_called() -> None:
    gate = interrupt(approversList=["bob", "carol"], approverGroupRefs=["slack:S1", "ops"])
    called = await accounts(Roster()).called(gate)
    assert who_may(gate, Policy(), called) == (
        "Only Bob, carol, the group @oncall or group ops may answer this."
    )


async def test_all_that_is_asked_of_one_answer_shares_its_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Slack waits three seconds for a form's answer, however many groups the request names."""

    class Clock:
        now = 100.0

        def monotonic(self) -> float:
            return self.now

    clock = Clock()
    monkeypatch.setattr("gateway.accounts.time", clock)
    given: list[float] = []

    class Slow(Roster):
        async def account(self, person_id: str, patience: float) -> Account:
            given.append(patience)
            clock.now += 1.5
            return MEMBER

        async def is_member(
            self, group: str, accounts: Collection[str], emails: Collection[str], patience: float
        ) -> bool:
            given.append(patience)
            clock.now += 0.75
            return False

    asked = interrupt(approverGroupRefs=["slack:S1", "slack:S2", "slack:S3"])
    await accounts(Slow()).of(Person("slack", "T1/U9"), asked)
    assert given == [PATIENCE, 0.5, 0.0, 0.0]
