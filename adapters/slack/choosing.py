"""A press of one option of a short question -> the intake."""

from __future__ import annotations

from adapters.channel import Intake, Response
from adapters.forms import read_values
from adapters.languages.catalogue import Words
from adapters.slack import choices
from adapters.views import Person, Receipt
from schemas.errors import Refusal


async def choose(intake: Intake, found: choices.Pressed, person: Person, words: Words) -> Receipt:
    """What became of it. Never raises `Refusal`."""
    try:
        card = await intake.look(found.interrupt_id, person)
        if card is None:
            return Receipt(False, words("slack.gone"), "not_found")
        if card.form is None:
            return Receipt(False, card.outcome or words("slack.changed"), "conflict")
        if not choices.matches(card.form, found):
            return Receipt(False, words("slack.changed"), "conflict")
        values = {field.id: found.raw for field in card.form.fields}
        value, problems = read_values(card.form, values, words)
        if problems:
            return Receipt(False, " ".join(problems.values()), "validation_error")
        return await intake.answer(
            Response(found.interrupt_id, person, "answer", value, found.dedupe, found.version)
        )
    except Refusal as refusal:
        return Receipt(False, refusal.message, refusal.code)
