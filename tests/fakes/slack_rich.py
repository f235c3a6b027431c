"""The strict checker's rich text: sections, preformatted text and quotes of text and links."""

from __future__ import annotations

from typing import Any

from tests.fakes.slack_elements import Problems, units

_PARTS = {"rich_text_section", "rich_text_preformatted", "rich_text_quote"}
_STYLES = {"bold", "italic", "strike", "code", "underline"}


def check_rich_text(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    """A `rich_text` block."""
    if not problems.members(block, pointer, {"type", "elements"}, {"block_id"}):
        return
    for index, part in enumerate(problems.each(block["elements"], f"{pointer}/elements", 100)):
        here = f"{pointer}/elements/{index}"
        if not problems.members(part, here, {"type", "elements"}, {"border"}):
            continue
        if part["type"] not in _PARTS:
            problems.add(f"unsupported type: {part['type']}", here)
        for number, one in enumerate(problems.each(part["elements"], f"{here}/elements", 1000)):
            _element(problems, one, f"{here}/elements/{number}")


def _element(problems: Problems, one: Any, pointer: str) -> None:
    kind = one.get("type") if isinstance(one, dict) else None
    if kind not in ("text", "link", "user", "date"):
        problems.add(f"unsupported rich text: {kind}", pointer)
        return
    if kind != "text":
        return
    if problems.members(one, pointer, {"type", "text"}, {"style"}):
        problems.string(one["text"], f"{pointer}/text", 3000)
        problems.text_total += units(str(one["text"]))
        style = one.get("style", {})
        if not isinstance(style, dict) or not style.keys() <= _STYLES:
            problems.add("unsupported style", f"{pointer}/style")
