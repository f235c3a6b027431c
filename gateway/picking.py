"""Forms and pickers: which fields can be searched here, and what a search finds for whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from adapters.card_forms import form_for
from adapters.cards import card_of
from adapters.views import Choice, Field, Form
from host.decisions.eligibility import check_eligible
from host.decisions.state import Interrupt, Policy, Principal
from host.options import Options, OptionsUnavailable
from schemas.errors import Refusal

MOST: Final = 100


def searchable(form: Form | None, options: Options | None) -> Form | None:
    """The form with those pickers alone that have a source here: the others are asked as text."""
    if form is None or not any(field.picker for field in form.fields):
        return form
    return replace(form, fields=tuple(_kept(field, options) for field in form.fields))


def _kept(field: Field, options: Options | None) -> Field:
    if not field.picker or (options is not None and options.known(field.picker)):
        return field
    return replace(field, picker="")


async def found_options(
    interrupt: Interrupt,
    principal: Principal,
    place: tuple[str, str],
    query: str,
    options: Options | None,
    policy: Policy,
) -> tuple[Choice, ...]:
    """What a search finds in the picker of one field; `place` is (action, field id).

    Nothing for a field that is no picker of this very question, and nothing for somebody who may not answer
    it: the options may be worth keeping to oneself. Raises `Refusal` (`sayso.unavailable`) when the source
    can't be asked.
    """
    action, field_id = place
    form = form_for(card_of(interrupt), action)
    field = next((one for one in form.fields if one.id == field_id), None) if form else None
    if options is None or field is None or not field.picker or not options.known(field.picker):
        return ()
    try:
        check_eligible(interrupt, principal, policy)
    except Refusal:
        return ()
    try:
        found = await options.search(field.picker, interrupt.tenant, query, MOST)
    except OptionsUnavailable:
        raise Refusal(
            "sayso.unavailable", "The choices can't be looked up right now. Try again in a moment."
        ) from None
    return tuple(Choice(one.id, one.label, one.description) for one in found)
