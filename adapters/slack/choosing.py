"""A press of one option of a short question -> the intake."""

from __future__ import annotations

from adapters.channel import Intake, Response
from adapters.forms import read_values
from adapters.languages.catalogue import Words
from adapters.slack import choices
from adapters.views import Person
from schemas.errors import Refusal


async def choose(intake: Intake, found: choices.Pressed, person: Person, words: Words) -> str:
    """Empty when it counted, else what to tell the person."""
    try:
        card = await intake.look(found.interrupt_id, person)
        if card is None:
            return words("slack.gone")
        if card.form is None:
            return card.outcome or words("slack.changed")
        if not choices.matches(card.form, found):
            return words("slack.changed")
        values = {field.id: found.raw for field in card.form.fields}
        value, problems = read_values(card.form, values, words)
        if problems:
            return " ".join(problems.values())
        receipt = await intake.answer(
            Response(found.interrupt_id, person, "answer", value, found.dedupe, found.version)
        )
    except Refusal as refusal:
        return refusal.message
    return "" if receipt.ok else receipt.message
