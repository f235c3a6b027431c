"""From a channel's person to a principal: the directory, strangers, holders of links and tokens."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.views import Person
from config.people import Person as Entry
from gateway.people import People
from host.decisions.state import Interrupt

ENTRIES = [
    Entry(
        id="ada", name="Ada", slack=("T01/U01",), email=("ada@example.com",), groups=("ops",),
        roles=("cfo",), override=True,
    ),
    Entry(id="bob"),
]  # fmt: skip


def interrupt(*notify: str) -> Interrupt:
    data: dict[str, Any] = {"artifactId": "a", "artifactType": "t", "title": "T", "actions": []}
    payload = {"kind": "approval", "key": "k", "data": data}
    return Interrupt("acme/i", "acme/r", "n", "k", "approval", payload, 0, notify=notify)


def test_every_name_of_a_person_is_one_principal() -> None:
    people = People(ENTRIES)
    for person in (Person("slack", "T01/U01", "ada.l"), Person("email", "ada@example.com")):
        found = people.of(person, interrupt())
        assert (found.id, found.name, found.tenant) == ("ada", "Ada", "acme")
        assert found.groups == {"ops"}
        assert found.roles == {"cfo"}
        assert found.override
        assert found.known
        assert {"ada", "slack:T01/U01", "email:ada@example.com"} <= found.names


def test_a_stranger_is_named_after_the_channel_and_is_not_known() -> None:
    found = People(ENTRIES).of(Person("slack", "T01/U99", "Eve"), interrupt("slack:#ops"))
    assert found.id == "slack:T01:U99"
    assert not found.known
    assert not found.asked
    assert "ada" not in found.names


@pytest.mark.parametrize(
    ("person", "notify", "asked"),
    [
        (Person("slack", "T01/U99"), "slack:@U99", True),
        (Person("slack", "T01/U99"), "slack:#general", False),
        (Person("email", "eve@example.com"), "email:eve@example.com", True),
        (Person("email", "eve@example.com"), "email:bob@example.com", False),
        (Person("web", "anyone"), "web:", True),
    ],
)
def test_who_was_asked(person: Person, notify: str, asked: bool) -> None:
    assert People(ENTRIES).of(person, interrupt(notify)).asked is asked


def test_the_same_id_in_another_workspace_is_somebody_else() -> None:
    assert People(ENTRIES).of(Person("slack", "T02/U01"), interrupt()).id != "ada"


def test_a_token_speaks_for_its_principal_on_the_page_as_on_the_wire() -> None:
    people = People(ENTRIES)
    assert people.of(Person("principal", "ada"), interrupt()).id == "ada"
    nobody = people.of(Person("principal", "urn:x:listed"), interrupt())
    assert nobody.id == "urn:x:listed"
    assert "urn:x:listed" in nobody.names
    bearer = people.of(Person("principal", "token:abc", "the holder of a link"), interrupt())
    assert (bearer.id, bearer.known, bearer.asked) == ("token:abc", False, True)


def test_a_person_cannot_pass_as_a_principal_by_a_chosen_id() -> None:
    found = People(ENTRIES).of(Person("email", "ada"), interrupt())
    assert found.id == "email:ada"
    assert not found.known
