"""Form -> modal view, and the state that comes back -> the raw values of that form. Pure.

Property names never become ids: a `block_id` is `<digest of the form>.<field id>`. So the values of
another form, or of an earlier revision of this one, are told apart and never mixed up; and Slack,
which keeps what was typed as long as the ids stay equal, never shows an old value under a new
question.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapters.languages.catalogue import ENGLISH, Words
from adapters.slack import blocks as b
from adapters.slack import inputs
from adapters.views import Field, Form

CALLBACK: Final = "sayso.form"
LINK_ACTION: Final = "sayso.link"  # Slack reports the click of a link too; nothing is to be done
_OPTIONS: Final = 100
_BLOCKS: Final = 95  # of 100: room for the introduction and the groups' last heading
_VIEW: Final = 240_000  # bytes of JSON, of 250 kB
_LABEL: Final = 150
_TEXTS: Final = {"text", "longtext", "list", "json", "email", "url"}


@dataclass(frozen=True, slots=True)
class Binding:
    """What a modal is about, in its `private_metadata`. Slack shows it to no one and keeps it as
    is.

    `channel` and `thread` say where a private note about it goes. `confirmed` names the edit that the
    person has been shown as a list of changes.
    """

    interrupt_id: str
    action: str
    version: int
    channel: str = ""
    thread: str = ""
    confirmed: str = ""

    def dump(self) -> str:
        """The metadata text."""
        parts = [self.interrupt_id, self.action, self.version, self.channel, self.thread]
        if self.confirmed:
            parts.append(self.confirmed)
        return json.dumps(parts, separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Binding | None:
        """The binding in `text`, or None when this program did not write it."""
        try:
            interrupt_id, action, version, channel, thread, *more = json.loads(text)
            confirmed = more[0] if more else ""
            texts = (interrupt_id, action, channel, thread, confirmed)
        except (ValueError, TypeError, RecursionError):
            return None
        if not all(isinstance(part, str) for part in texts) or type(version) is not int:
            return None
        return cls(interrupt_id, action, version, channel, thread, confirmed)


def unfit(form: Form, words: Words = ENGLISH) -> str:
    """Empty when a modal can hold `form`, else one sentence that says why not."""
    if form.web_only:
        return form.web_only
    if 2 * len(form.fields) > _BLOCKS and _count(form) > _BLOCKS:
        return words("slack.too_many_fields")
    for field in form.fields:
        if field.kind in ("choice", "choices") and not 0 < len(field.choices) <= _OPTIONS:
            return words("slack.too_many_choices", field=b.cut(field.label, 60))
        if field.kind in _TEXTS and (field.min_length or 0) > inputs.INPUT:
            return words("slack.asks_too_long", field=b.cut(field.label, 60))
        if field.kind in _TEXTS and b.cost(inputs.initial_text(field)) > inputs.INPUT:
            return words("slack.holds_too_long", field=b.cut(field.label, 60))
    if len(json.dumps(_fields(form, words)).encode()) > _VIEW:
        return words("slack.too_large")
    return ""


def form_view(form: Form, binding: Binding, words: Words = ENGLISH) -> dict[str, Any]:
    """The modal that asks `form`. The form must not be `unfit`."""
    found: list[b.Block] = [b.section(form.intro)] if form.intro.strip() else []
    found += _fields(form, words)
    if not found:
        found = [b.section(words("slack.nothing_to_fill"))]
    return {
        **_frame(form.title, binding, found),
        "submit": b.plain(form.submit, 24),
        "close": b.plain(words("slack.cancel"), 24),
    }


def loading_view(binding: Binding, words: Words = ENGLISH) -> dict[str, Any]:
    """Opened at once, because the trigger lives three seconds; replaced when the form is ready."""
    return _frame(words("slack.one_moment"), binding, [b.section(words("slack.loading"))])


def notice_view(
    title: str,
    sentence: str,
    binding: Binding,
    *,
    link: str = "",
    kept: str = "",
    words: Words = ENGLISH,
) -> dict[str, Any]:
    """A modal that only tells. `kept` is what the person had typed, shown so that it isn't lost."""
    found = [b.section(sentence)]
    if kept:
        found += [b.context(b.plain(words("slack.typed"))), b.section(kept)]
    if link:
        element = b.button(words("slack.open_on_web"), LINK_ACTION, url=link, style="primary")
        found.append({"type": "actions", "elements": [element]})
    return {**_frame(title, binding, found), "close": b.plain(words("slack.close"), 24)}


def block_of(form: Form, field_id: str) -> str:
    """The `block_id` of a field of `form`."""
    return f"{digest(form)}.{field_id}"


def digest(form: Form) -> str:
    """Twelve hex digits that name the questions of `form`, in their order."""
    asked = repr([(field.id, field.path, field.kind, field.choices) for field in form.fields])
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def shows(form: Form, blocks: list[Any]) -> bool:
    """Whether a submitted view's `blocks` asked exactly this `form` and no other revision of it."""
    asked = {str(block.get("block_id", "")) for block in blocks if block.get("type") == "input"}
    return asked == {block_of(form, field.id) for field in form.fields if field.kind != "constant"}


def values(form: Form, state: Mapping[str, Any]) -> dict[str, Any]:
    """`view.state.values` -> {field.id: raw value}, as `adapters.forms.read_values` takes it.

    What was not filled in is left out. Values of blocks that are not of this form are ignored.
    """
    found: dict[str, Any] = {}
    for field in form.fields:
        block = state.get(block_of(form, field.id))
        element = block.get(inputs.VALUE) if isinstance(block, dict) else None
        raw = inputs.raw_value(element) if isinstance(element, dict) else None
        if field.picker and isinstance(raw, list):
            raw = "\n".join(raw)  # as text is written that an external menu stands for
        if raw is not None:
            found[field.id] = raw
    return found


def errors(form: Form, found: Mapping[str, str]) -> dict[str, str]:
    """{field.id: sentence} -> {block_id: sentence} for `response_action: errors`.

    An error of something that has no input of its own is told at the first input: Slack accepts
    only ids of input blocks, and shows a generic failure for any other. Empty when there is no
    input.
    """
    asked = [field.id for field in form.fields if field.kind != "constant"]
    placed: dict[str, str] = {}
    for field_id, sentence in found.items():
        if not asked:
            break
        block = block_of(form, field_id if field_id in asked else asked[0])
        placed[block] = b.cut(f"{placed[block]} {sentence}" if block in placed else sentence, 300)
    return placed


def typed(blocks: list[Any], state: Mapping[str, Any]) -> str:
    """What was entered, as text to copy. Read from the view itself: its form may be gone."""
    lines: list[str] = []
    for block in blocks:
        elements = state.get(str(block.get("block_id", "")))
        element = elements.get(inputs.VALUE) if isinstance(elements, dict) else None
        entered = inputs.shown_value(element) if isinstance(element, dict) else ""
        label = block.get("label")
        if entered and isinstance(label, dict):
            lines.append(f"{html.unescape(str(label.get('text', '')))}: {entered}")
    return "\n".join(lines)


def _count(form: Form) -> int:
    groups, last = 0, ""
    for field in form.fields:
        groups += bool(field.group) and field.group != last
        last = field.group
    return len(form.fields) + groups


def _frame(title: str, binding: Binding, found: list[b.Block]) -> dict[str, Any]:
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "title": b.plain(title, 24),
        "private_metadata": binding.dump(),
        "blocks": found,
    }


def _fields(form: Form, words: Words) -> list[b.Block]:
    found: list[b.Block] = []
    last = ""
    for field in form.fields:
        if field.group and field.group != last:
            found.append(b.header(field.group))
        last = field.group
        found.append(_input(form, field, words))
    return found


def _input(form: Form, field: Field, words: Words) -> b.Block:
    if field.kind == "constant":
        return b.section(f"{field.label}: {json.dumps(field.default, ensure_ascii=False)}", 500)
    found: b.Block = {
        "type": "input",
        "block_id": block_of(form, field.id),
        "label": b.plain(field.label, _LABEL),
        "optional": not field.required,
        "element": {"action_id": inputs.VALUE, **inputs.element(field, words)},
    }
    own = "" if field.picker else inputs.hint(field, words)
    hint = " ".join(part for part in (field.hint, own) if part)
    if hint:
        found["hint"] = b.plain(hint, 300)
    return found
