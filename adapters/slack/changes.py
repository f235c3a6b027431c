"""What somebody changed in the arguments, before it counts: the second step of 'edit and approve'. Pure.

The same fields stay below the list of changes, with what was typed, so that nothing is kept between the
two steps but what the modal itself holds. The modal remembers a digest of the values that it showed as
changes: when they were changed again after that, the list is shown once more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from adapters.forms import initial_values, read_values
from adapters.languages.catalogue import words_of
from adapters.slack import blocks as b
from adapters.slack.modal import Binding, form_view
from adapters.views import Card, Field, Form

_MOST: Final = 30
_VALUE: Final = 200
_TOTAL: Final = 2800
_BLOCKS: Final = 100


def digest(value: Any) -> str:
    """Sixteen hex digits that name a value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(before: Any, after: Any) -> list[tuple[str, str, str]]:
    """(where, before, after) of each value that is not the same; "" for one that isn't there."""
    return list(_walk(before, after, ()))


def _walk(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            yield from _walk(
                before.get(name, _NOTHING), after.get(name, _NOTHING), (*path, str(name))
            )
    elif not _same(before, after):
        yield " › ".join(path), _shown(before), _shown(after)


_NOTHING: Final = object()


def _same(before: Any, after: Any) -> bool:
    """As JSON sees it: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    return bool(before == after)


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def blocks(found: list[tuple[str, str, str]]) -> list[b.Block]:
    """The changes as rich text, the old value struck and the new one bold. Rich text is never parsed:
    nothing in a value can act. What is longer than fits is cut; at most so many are listed."""
    lines: list[b.Block] = []
    left = _TOTAL
    for where, old, new in found[:_MOST]:
        elements: list[b.Block] = []
        for text, style in ((f"{where or '•'}: ", ""), (old, "strike"), (new, "bold")):
            shown = b.cut(" ".join(b.clean(text).split()), min(_VALUE, max(left, 20)))
            left -= b.cost(shown)
            if shown:
                element: b.Block = {"type": "text", "text": f"{shown} "}
                elements.append({**element, "style": {style: True}} if style else element)
        lines.append({"type": "rich_text_section", "elements": elements})
        if left <= 0:
            break
    rest = len(found) - len(lines)
    if rest > 0:
        more: b.Block = {"type": "text", "text": f"… +{rest}"}
        lines.append({"type": "rich_text_section", "elements": [more]})
    return [{"type": "rich_text", "elements": lines}]


def step(form: Form, card: Card, answer: Any, binding: Binding) -> b.Block | None:
    """The view that shows what was changed, or None when it has been shown and is meant so.

    `answer` is what the form says now, `card.edit_form` still holds the arguments as they were.
    """
    member = "editedArtifactData"
    edited = answer.get(member) if isinstance(answer, Mapping) else answer
    known = digest(edited)
    if binding.confirmed == known:
        return None
    defaults = read_values(form, initial_values(form))[0]
    before = defaults.get(member) if isinstance(defaults, Mapping) else defaults
    words = words_of(card.reader.locale)
    found = differences(before, edited)
    top: list[b.Block] = [b.header(words("edit.changes"))]
    top += blocks(found) if found else [b.section(words("edit.none"))]
    top.append(b.context(b.plain(words("edit.help"))))
    view = form_view(with_typed(form, answer), replace(binding, confirmed=known), words)
    view["submit"] = b.plain(words("edit.confirm"), 24)
    if len(top) + len(view["blocks"]) > _BLOCKS:
        top = top[:2]
    view["blocks"] = [*top, *view["blocks"]]
    return view


def with_typed(form: Form, answer: Any) -> Form:
    """The form with what was entered as its defaults: Slack keeps it by itself while the ids stay equal,
    and a client that doesn't shows it all the same."""
    return replace(form, fields=tuple(_typed(field, answer) for field in form.fields))


def _typed(field: Field, answer: Any) -> Field:
    if field.kind == "constant":
        return field
    value: Any = answer
    for name in field.path:
        value = value.get(name, _NOTHING) if isinstance(value, Mapping) else _NOTHING
    if value is _NOTHING:
        return replace(field, default=None, has_default=False)
    return replace(field, default=value, has_default=True)
