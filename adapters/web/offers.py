"""The choices of a page's pickers: looked up when it is drawn, for what was typed into their search boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.channel import Intake, Visitor
from adapters.views import Choice, Form
from schemas.errors import Refusal

FIND = "find"
"""The button beside a search box; its value is the field's id. Pressing it answers nothing."""

QUERY_PREFIX = "q."
SHOWN = 20
"""Choices that stand on the page at once; a search narrows them."""


@dataclass(frozen=True, slots=True)
class Offers:
    """By action and field id: what the search found. `queries` holds what was typed, by field id."""

    found: Mapping[tuple[str, str], tuple[Choice, ...]] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    action: str = ""

    def of(self, action: str, field_id: str) -> tuple[tuple[Choice, ...], str]:
        """The choices of a field, and the query that found them."""
        query = self.queries.get(field_id, "") if action == self.action else ""
        return self.found.get((action, field_id), ()), query


async def look_up(
    intake: Intake,
    visitor: Visitor,
    forms: Mapping[str, Form | None],
    action: str = "",
    queries: Mapping[str, str] | None = None,
) -> Offers:
    """What all pickers on the page offer. A source that can't be asked offers nothing."""
    typed = dict(queries or {})
    found: dict[tuple[str, str], tuple[Choice, ...]] = {}
    for name, form in forms.items():
        for one in form.fields if form is not None and visitor.may_answer else ():
            if not one.picker:
                continue
            query = typed.get(one.id, "") if name == action else ""
            try:
                choices = await intake.options(
                    visitor.interrupt_id, visitor.person, name, one.id, query
                )
            except Refusal:
                choices = ()
            found[(name, one.id)] = choices[:SHOWN]
    return Offers(found, typed, action)
