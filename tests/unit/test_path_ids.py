"""Ids inside one path segment: both spellings, decoded once, whole or refused."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import Refusal
from schemas.ids import bound_id_of, from_path_segment, node_id_of, path_segment

RUN = "acme/0123456789abcdef"
_NAME = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=40)


@pytest.mark.parametrize("segment", [RUN, "acme~2F0123456789abcdef", "anon~3Aa~2F0123456789abcdef"])
def test_accepted(segment: str) -> None:
    assert path_segment(bound_id_of(segment)) in (segment, path_segment(RUN))


@pytest.mark.parametrize(
    "segment",
    [
        "0123456789abcdef",
        path_segment(path_segment(RUN)),
        "acme%2F0123456789abcdef",
        "acme~2f0123456789abcdef",
        "acme~2F0123456789abcde~",
        "acme~2F0123456789abcde~2",
        "acme/0123456789abcdef~2Fmore",
        "acme~2Fshort",
        "acme/0123456789abcdef\n",
        "acme~2F0123456789abcdef~0A",
        "~FF~2F0123456789abcdef",
        "/0123456789abcdef",
        "acme/0123456789abcdef/0123456789abcdef",
        "",
        "\udcff/0123456789abcdef",
    ],
)
def test_refused(segment: str) -> None:
    with pytest.raises(Refusal) as caught:
        bound_id_of(segment)
    assert caught.value.code == "validation_error"


@pytest.mark.parametrize(
    ("segment", "node"), [("gate", "gate"), ("a:b", "a:b"), ("a~3Ab", "a:b"), ("a~7Eb", "a~b")]
)
def test_node_ids(segment: str, node: str) -> None:
    assert node_id_of(segment) == node


@pytest.mark.parametrize("segment", ["", "a b", "a/b", "a~2Fb", "a~", "a\n", "x" * 129])
def test_refused_node_ids(segment: str) -> None:
    with pytest.raises(Refusal):
        node_id_of(segment)


@given(tenant=_NAME, rest=st.text(string.ascii_letters + "._-", min_size=16, max_size=128))
def test_there_and_back(tenant: str, rest: str) -> None:
    assert bound_id_of(path_segment(f"{tenant}/{rest}")) == f"{tenant}/{rest}"


@given(st.text(max_size=60))
def test_any_text_survives_one_projection(text: str) -> None:
    if "\ud800" <= max(text, default="") <= "\udfff":
        return
    assert from_path_segment(path_segment(text)) == text
