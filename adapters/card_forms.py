"""What has to be asked before an action on a card counts. Pure.

The answer of a question comes from its schema, an edit from the arguments' schema (or from their
shape, where the request gives none), a refinement from the protocol's scopes (interrupt
specification, section 'Approval': the whole, one section, or some items).
"""

from __future__ import annotations

from typing import Any, Final

from adapters.forms import MISSING, form_from_questions, form_from_schema
from adapters.languages.catalogue import Words, words_of
from adapters.views import Card, Choice, Field, Form
from host.decisions.state import Interrupt

_LONG: Final = 150  # characters: a text above it is edited in several lines
_PLACES: Final = 100  # sections or items that are offered by name
_LENGTH: Final = 3000


def form_for(card: Card, action: str) -> Form | None:
    """What has to be asked before `action` counts: answers, a reason, a refinement, an edit, a question.

    None when nothing has to be asked.
    """
    known = next((a for a in card.actions if a.id == action), None)
    if known is None or known.needs == "nothing":
        return None
    if known.needs == "answers":
        return card.form
    words = words_of(card.reader.locale)
    if known.needs == "reason":
        field = Field("f0", ("feedback",), words("form.why"), "longtext", max_length=_LENGTH)
        return Form(words("action.reject"), (field,), submit=words("action.reject"))
    if known.needs == "question":
        label = words("form.your_question")
        field = Field("f0", ("question",), label, "longtext", required=True, max_length=_LENGTH)
        return Form(words("action.ask"), (field,), submit=words("form.ask"))
    return card.refine_form if known.needs == "refinement" else card.edit_form


def answer_form(interrupt: Interrupt, title: str, words: Words) -> Form | None:
    """What a question asks for; None for a kind that nobody answers with a form."""
    data = interrupt.data
    if interrupt.kind == "clarification":
        return form_from_questions(data["questions"], title=title, words=words)
    if interrupt.kind == "conversation.exchange":
        schema = data.get("outcomeSchema") or interrupt.payload.get("resumeSchema")
        if schema:
            return form_from_schema(schema, title=words("form.reply"), words=words)
        field = Field("f0", (), words("form.your_reply"), "longtext", required=True)
        return Form(words("form.reply"), (field,), submit=words("form.send"))
    if interrupt.kind in ("custom", "low-confidence"):
        schema = interrupt.payload.get("resumeSchema") or _shape_of(data.get("decision"))
        title = words("form.answer")
        decided = data.get("decision", MISSING)
        return form_from_schema(schema, title=title, value=decided, words=words)
    return None


def edit_form(interrupt: Interrupt, words: Words) -> Form | None:
    """The arguments of an approval as fields, prefilled; None where they may not be edited."""
    if interrupt.kind != "approval" or "edit-accept" not in interrupt.data["actions"]:
        return None
    artifact = interrupt.data.get("artifactData")
    return form_from_schema(
        _schema_of_edit(interrupt) or _shape_of(artifact),
        title=words("action.edit-accept"),
        submit=words("form.approve_edited"),
        base=("editedArtifactData",),
        value=artifact,
        words=words,
    )


def refine_form(interrupt: Interrupt, words: Words) -> Form | None:
    """What should change, and where; None where no changes may be asked for."""
    if interrupt.kind != "approval" or "refine" not in interrupt.data["actions"]:
        return None
    artifact = interrupt.data.get("artifactData")
    scopes = (
        Choice("whole", words("form.whole")),
        Choice("section", words("form.one_section")),
        Choice("items", words("form.some_items")),
    )
    at = "refineFeedback"
    asked = (
        Field(
            "f0", (at, "text"), words("form.what_changes"), "longtext", required=True, max_length=_LENGTH
        ),
        Field(
            "f1", (at, "scope"), words("form.which_part"), "choice", required=True, choices=scopes,
            default="whole", has_default=True,
        ),
        _section(artifact, (at, "sectionPath"), words),
        _items(artifact, (at, "itemIds"), words),
    )  # fmt: skip
    return Form(words("action.refine"), asked, submit=words("form.send_back"))


def _section(artifact: Any, path: tuple[str, ...], words: Words) -> Field:
    label, hint = words("form.section"), words("form.section_hint")
    if isinstance(artifact, dict) and 0 < len(artifact) <= _PLACES:
        names = tuple(Choice(_pointer(name), str(name)) for name in artifact)
        return Field("f2", path, label, "choice", choices=names, hint=hint)
    return Field("f2", path, label, "text", hint=hint, max_length=500)


def _items(artifact: Any, path: tuple[str, ...], words: Words) -> Field:
    """The items of the first list whose members have an `id`; else their ids, one a line."""
    label, hint = words("form.items"), words("form.items_hint")
    lists = artifact.values() if isinstance(artifact, dict) else (artifact,)
    for one in lists:
        ids = _ids(one)
        if ids and len(set(ids)) == len(one) <= _PLACES:
            choices = tuple(Choice(i, i) for i in ids)
            return Field("f3", path, label, "choices", choices=choices, hint=hint)
    return Field("f3", path, label, "list", hint=hint)


def _ids(value: Any) -> list[str]:
    """The ids of a list's members; fewer than there are members when one has none."""
    members = value if isinstance(value, list) else ()
    found = [member.get("id") for member in members if isinstance(member, dict)]
    return [name for name in found if isinstance(name, str) and name]


def _pointer(name: str) -> str:
    """A member as a JSON Pointer (RFC 6901)."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1")


def _schema_of_edit(interrupt: Interrupt) -> dict[str, Any] | None:
    """The schema of the arguments, when the request's `resumeSchema` has one for
    `editedArtifactData`. What it refers to stands in the outer schema's `$defs`."""
    outer = interrupt.payload.get("resumeSchema")
    properties = outer.get("properties") if isinstance(outer, dict) else None
    found = properties.get("editedArtifactData") if isinstance(properties, dict) else None
    if not isinstance(outer, dict) or not isinstance(found, dict):
        return None
    named = {word: outer[word] for word in ("$defs", "definitions") if word in outer}
    return {**named, **found}


def _shape_of(value: Any) -> dict[str, Any]:
    """A schema that a value fits, so that it can be edited field by field."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer"}
    if isinstance(value, float):
        return {"type": "number"}
    if isinstance(value, str):
        long = len(value) > _LONG or "\n" in value
        return {"type": "string", "maxLength": _LENGTH} if long else {"type": "string"}
    if isinstance(value, dict) and value:
        return {
            "type": "object",
            "properties": {str(k): _shape_of(v) for k, v in value.items()},
            "required": [str(k) for k in value],
        }
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return {"type": "array", "items": {"type": "string"}}
    return {}
