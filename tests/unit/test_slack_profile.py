"""What may be believed of a Slack profile, and which installation a payload belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.accounts import Account
from adapters.slack.notes import MOST, SECONDS, NoteLimit
from adapters.slack.origin import candidates, split_address
from adapters.slack.profile import account

OWN = frozenset({"T1"})
GRID = frozenset({"T1", "E1"})
ADA = {
    "id": "U1",
    "team_id": "T1",
    "is_email_confirmed": True,
    "profile": {"email": "Ada@Example.com"},
}
SIBLING = {
    **ADA,
    "team_id": "T2",
    "enterprise_user": {"enterprise_id": "E1", "teams": ["T2", "T3"]},
}
HERE = frozenset({"T1/U1"})


@pytest.mark.parametrize(
    ("user", "own", "expected"),
    [
        (ADA, OWN, Account("member", "ada@example.com", HERE)),
        ({**ADA, "is_email_confirmed": False}, OWN, Account("member", "", HERE)),
        ({**ADA, "is_email_confirmed": "true"}, OWN, Account("member", "", HERE)),
        ({**ADA, "profile": {"email": "ada@"}}, OWN, Account("member", "", HERE)),
        ({**ADA, "profile": None}, OWN, Account("member", "", HERE)),
        ({**ADA, "deleted": True}, OWN, Account("gone")),
        ({**ADA, "is_restricted": True}, OWN, Account("guest", "", HERE)),
        ({**ADA, "is_ultra_restricted": True}, OWN, Account("guest", "", HERE)),
        ({**ADA, "is_stranger": True}, OWN, Account("outsider")),
        ({**ADA, "is_bot": True}, OWN, Account("outsider")),
        ({**ADA, "team_id": "T9"}, OWN, Account("outsider")),
        (SIBLING, OWN, Account("outsider")),
        (
            SIBLING,
            GRID,
            Account("member", "ada@example.com", frozenset({"T2/U1", "T3/U1", "E1/U1"})),
        ),
        (
            {**ADA, "team_id": "E1"},
            GRID,
            Account("member", "ada@example.com", frozenset({"E1/U1"})),
        ),
        ({}, OWN, Account("outsider")),
    ],
)
def test_a_profile(user: dict[str, Any], own: frozenset[str], expected: Account) -> None:
    assert account(user, "T9" if not user else "", own) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
MEMBERS = st.sampled_from(
    ["deleted", "team_id", "enterprise_user", "profile", "is_stranger", "is_restricted", "id"]
)


@given(st.dictionaries(MEMBERS, JSON))
def test_no_profile_of_another_company_has_an_address(user: dict[str, Any]) -> None:
    found = account({**user, "is_email_confirmed": True}, "T9", OWN)
    if found.email:
        assert user["team_id"] == "T1"
        assert found.standing == "member"


BOT = {"user_id": "U0BOT", "is_bot": True}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"team": {"id": "T1"}, "user": {"team_id": "T2"}}, ("T1", "T2")),
        # Slack Connect: the outer ids are the other company's.
        (
            {
                "team_id": "T9",
                "enterprise_id": "E9",
                "authorizations": [{**BOT, "team_id": "T1", "is_enterprise_install": False}],
            },
            ("T1", "T9", "E9"),
        ),
        (
            {
                "team": {"id": "T9"},
                "user": {"team_id": "T9"},
                "enterprise": {"id": "E9"},
                "view": {"app_installed_team_id": "T1", "team_id": "T9"},
            },
            ("T1", "T9", "E9"),
        ),
        ({"team": {"id": "T9"}, "message": {"team": "T1"}, "user": {}}, ("T9", "T1")),
        # An organisation's installation: no team at all.
        (
            {"team": None, "enterprise": {"id": "E1"}, "is_enterprise_install": True, "user": {}},
            ("E1",),
        ),
        (
            {
                "authorizations": [
                    {**BOT, "team_id": None, "enterprise_id": "E1", "is_enterprise_install": True}
                ]
            },
            ("E1",),
        ),
        # A slash command is a form.
        ({"team_id": "T1", "enterprise_id": "E1", "command": "/sayso"}, ("T1", "E1")),
        ({"team": "T1", "authorizations": "x", "view": [], "user": None}, ()),
    ],
)
def test_whose_payload(body: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert candidates(body) == expected


@given(
    st.dictionaries(st.sampled_from(["team", "view", "user", "authorizations", "team_id"]), JSON)
)
def test_any_payload_has_candidates_that_are_texts(body: dict[str, Any]) -> None:
    assert all(isinstance(found, str) and found for found in candidates(body))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("#ops", ("", "#ops")),
        ("T0123/#ops", ("T0123", "#ops")),
        ("E0123/C04567", ("E0123", "C04567")),
        ("T0123/@U0123", ("T0123", "@U0123")),
        ("t0123/#ops", ("", "t0123/#ops")),
        ("T0123//x", ("T0123", "/x")),
    ],
)
def test_an_address_names_its_workspace(address: str, expected: tuple[str, str]) -> None:
    assert split_address(address) == expected


def test_notes_to_one_person_have_a_limit_of_their_own() -> None:
    limit = NoteLimit()
    assert all(limit.allows("U1", float(n)) for n in range(MOST))
    assert not limit.allows("U1", SECONDS - 0.5)
    assert limit.allows("U2", SECONDS - 0.5)
    assert limit.allows("U1", SECONDS)  # the first one is a minute old
    assert not limit.allows("U1", SECONDS)
