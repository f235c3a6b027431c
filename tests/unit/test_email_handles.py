"""Reply and bounce addresses: short, bound, and found again whatever mail software does to them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.email import handles

SECRET = b"k" * 32
MINE = handles.derive(SECRET, "reply", "main/1", "email", "ada@example.com")


def test_a_handle_survives_mail_software() -> None:
    assert re.fullmatch(r"r[a-z2-7]{26}", MINE)
    assert len(MINE) == handles.LENGTH <= 45


@pytest.mark.parametrize(
    "other",
    [
        ("reply", "main/2", "email", "ada@example.com"),
        ("reply", "main/1", "email", "bob@example.com"),
        ("bounce", "main/1", "email", "ada@example.com"),
        ("reply", "main/1\0email", "ada", "@example.com"),
    ],
)
def test_a_handle_is_bound_to_its_use_interrupt_and_person(other: tuple[str, ...]) -> None:
    assert handles.derive(SECRET, *other)[1:] != MINE[1:]  # type: ignore[arg-type]


def test_the_same_mail_has_the_same_addresses_and_another_secret_makes_others() -> None:
    assert handles.derive(SECRET, "reply", "main/1", "email", "ada@example.com") == MINE
    assert handles.derive(b"x" * 32, "reply", "main/1", "email", "ada@example.com") != MINE


@pytest.mark.parametrize("place", ["r.example.com", "sayso@example.com", "sayso@mail.test"])
@pytest.mark.parametrize("changed", [str, str.upper, str.title, lambda a: f"<{a}>"])
def test_an_address_is_read_back(place: str, changed: object) -> None:
    address = handles.reply_address(MINE, place)
    found = handles.parse_reply_address(changed(address), place)  # type: ignore[operator]
    assert found == handles.Handle("reply", MINE)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (f"{MINE}@evil.example", "r.example.com"),
        (f"{MINE}@r.example.com.evil.example", "r.example.com"),
        (f"x+{MINE}@r.example.com", "r.example.com"),
        (f"sayso+{MINE}x@example.com", "sayso@example.com"),
        (f"other+{MINE}@example.com", "sayso@example.com"),
        (f"{MINE}@example.com", "sayso@example.com"),
        (f"sayso+{MINE}+{MINE}@example.com", "sayso@example.com"),
        (f"x{MINE[1:]}@r.example.com", "r.example.com"),
        (MINE, "r.example.com"),
        ("", "r.example.com"),
    ],
)
def test_what_is_no_address_of_ours(address: str, place: str) -> None:
    assert handles.parse_reply_address(address, place) is None


@given(st.text(max_size=200))
def test_no_text_is_read_as_more_than_a_handle(text: str) -> None:
    found = handles.parse_reply_address(f"{text}@r.example.com", "r.example.com")
    assert found is None or re.fullmatch(r"[rb][a-z2-7]{26}", found.text)


def test_places() -> None:
    assert handles.check_place("R.Example.com") == "r.example.com"
    assert handles.check_place("Sayso@Example.com") == "Sayso@example.com"
    for wrong in ("a+b@example.com", "not a domain", "", f"{'x' * 40}@example.com", "a@b@c"):
        with pytest.raises(ValueError):
            handles.check_place(wrong)


def test_what_is_stored_tells_neither_the_handle_nor_opens_a_page() -> None:
    import hashlib

    assert handles.digest(MINE) != hashlib.sha256(MINE.encode()).hexdigest()
    assert MINE not in handles.digest(MINE)
