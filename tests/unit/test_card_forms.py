"""What is asked before an action counts, and what people are called in a card."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.cards import card_of
from adapters.forms import initial_values, read_values
from adapters.views import Reader
from host.decisions.state import SOMEBODY, Interrupt, Outcome


def interrupt(kind: str, data: dict[str, Any], **more: Any) -> Interrupt:
    payload = {"kind": kind, "key": "k", "data": data}
    return Interrupt("main/0123456789abcdef", "main/r", "n", "k", kind, payload, 0, **more)


def approval(artifact: Any) -> dict[str, Any]:
    named = {"title": "T", "artifactId": "1", "artifactType": "x"}
    return {**named, "artifactData": artifact, "actions": ["accept", "edit-accept"]}


def test_every_field_of_an_edit_is_called_like_its_member() -> None:
    artifact = {"tags": ["a", "b"], "lines": [{"sku": "A"}], "extra": None, "none": []}
    form = card_of(interrupt("approval", approval(artifact))).edit_form
    assert form is not None
    assert [(field.label, field.kind) for field in form.fields] == [
        ("Tags", "list"),
        ("Lines", "json"),
        ("Extra", "json"),
        ("None", "json"),
    ]
    edited, errors = read_values(form, initial_values(form))
    assert (edited, errors) == ({"editedArtifactData": artifact}, {})


@pytest.mark.parametrize("items", [["two\nlines"], [" space"], [""]])
def test_a_list_that_lines_would_change_is_edited_as_json(items: list[str]) -> None:
    form = card_of(interrupt("approval", approval({"tags": items}))).edit_form
    assert form is not None
    edited, errors = read_values(form, initial_values(form))
    assert (edited, errors) == ({"editedArtifactData": {"tags": items}}, {})


def test_a_custom_request_without_a_schema_is_answered_in_words() -> None:
    """And nothing is filled in that a hasty press would send."""
    form = card_of(interrupt("custom", {"customKind": "acme.note"})).form
    assert form is not None
    (field,) = form.fields
    assert (field.label, field.kind, field.has_default) == ("Answer", "text", False)
    assert read_values(form, {field.id: "Tuesday"}) == ("Tuesday", {})


@pytest.mark.parametrize(
    ("locale", "says"),
    [("en", f"Approved by {SOMEBODY}"), ("de", "Genehmigt von Unbekannt (mit dem Link)")],
)
def test_whoever_held_a_link_is_called_so_in_the_readers_language(locale: str, says: str) -> None:
    outcome = Outcome(action="accept", by="web:anyone", name=SOMEBODY, via="web")
    ended = interrupt("approval", approval({"a": 1}), status="resolved", outcome=outcome)
    card = card_of(ended, reader=Reader(locale))
    assert card.outcome == says
    assert card.decided_by in card.outcome


@pytest.mark.parametrize(
    ("kind", "name", "shown"), [("json", "n", False), ("none", "n", False), ("json", "7", True)]
)
def test_a_subject_that_no_program_named_is_not_shown(kind: str, name: str, shown: bool) -> None:
    data = approval(None) | {"artifactType": kind, "artifactId": name}
    facts = card_of(interrupt("approval", data)).facts
    assert [fact.value for fact in facts] == ([f"{kind} {name}"] if shown else [])
