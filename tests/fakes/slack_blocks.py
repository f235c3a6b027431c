"""A strict Block Kit checker: what Slack would refuse, this refuses, and says where.

Only the blocks and elements that a card or a form may need are known; any other is an error, as an
unknown member is. Lengths are those of the stored text, in which `<` costs four characters.
"""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.slack_elements import Problems, check_element
from tests.fakes.slack_rich import check_rich_text

MESSAGE_TEXT = 13_200  # of all blocks together; undocumented, found by bisection
VIEW_BYTES = 250_000

_SURFACES = {
    "header": {"message", "modal", "home"},
    "section": {"message", "modal", "home"},
    "context": {"message", "modal", "home"},
    "divider": {"message", "modal", "home"},
    "actions": {"message", "modal", "home"},
    "input": {"message", "modal", "home"},
    "image": {"message", "modal", "home"},
    "markdown": {"message"},
    "rich_text": {"message", "modal", "home"},
}


def check_message(blocks: Any) -> list[str]:
    """The complaints about a message's blocks; empty when Slack would take it."""
    problems = Problems()
    _check_blocks(problems, blocks, "/blocks", "message", 50)
    return problems.found


def message_text_length(blocks: list[Any]) -> int:
    """The sum of all texts in a message's blocks, as stored."""
    problems = Problems()
    _check_blocks(problems, blocks, "/blocks", "message", 50)
    return problems.text_total


def view_bytes(view: Any) -> int:
    """The size that `view_too_large` is about."""
    return len(json.dumps(view, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def check_view(view: Any) -> list[str]:
    """The complaints about a modal view; empty when Slack would take it."""
    problems = Problems()
    optional = {
        "submit",
        "close",
        "private_metadata",
        "callback_id",
        "external_id",
        "clear_on_close",
        "notify_on_close",
    }
    if not problems.members(view, "/view", {"type", "title", "blocks"}, optional):
        return problems.found
    if view["type"] != "modal":
        problems.add(f"unsupported type: {view['type']}", "/view/type")
    for name in ("title", "submit", "close"):
        if name in view:
            problems.text(view[name], f"/view/{name}", 24, plain=True)
    problems.ids(view, "/view", "callback_id", "external_id")
    if "private_metadata" in view:
        problems.string(view["private_metadata"], "/view/private_metadata", 3000, least=0)
    for name in ("clear_on_close", "notify_on_close"):
        if name in view:
            problems.flag(view[name], f"/view/{name}")
    _check_blocks(problems, view["blocks"], "/view/blocks", "modal", 100)
    blocks = view["blocks"] if isinstance(view["blocks"], list) else []
    has_input = any(isinstance(one, dict) and one.get("type") == "input" for one in blocks)
    if has_input and "submit" not in view:
        problems.add("submit is required with an input block", "/view/submit")
    return problems.found


def check_home(view: Any) -> list[str]:
    """The complaints about a Home tab; empty when Slack would take it."""
    problems = Problems()
    optional = {"private_metadata", "callback_id", "external_id"}
    if problems.members(view, "/view", {"type", "blocks"}, optional):
        if view["type"] != "home":
            problems.add(f"unsupported type: {view['type']}", "/view/type")
        _check_blocks(problems, view["blocks"], "/view/blocks", "home", 100)
        if view_bytes(view) > VIEW_BYTES:
            problems.add("the view is too large", "/view")
    return problems.found


def _check_blocks(problems: Problems, blocks: Any, pointer: str, surface: str, most: int) -> None:
    seen: set[str] = set()
    for index, block in enumerate(problems.each(blocks, pointer, most)):
        here = f"{pointer}/{index}"
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in _SURFACES or surface not in _SURFACES[kind]:
            problems.add(f"unsupported block in a {surface}: {kind}", here)
            continue
        problems.ids(block, here, "block_id")
        block_id = block.get("block_id")
        if block_id is not None and block_id in seen:
            problems.add(f"block_id is not unique: {block_id}", f"{here}/block_id")
        seen.add(str(block_id))
        _CHECKS[kind](problems, block, here)


def _header(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    if problems.members(block, pointer, {"type", "text"}, {"block_id"}):
        problems.text(block["text"], f"{pointer}/text", 150, plain=True)


def _section(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    known = {"block_id", "text", "fields", "accessory", "expand"}
    problems.members(block, pointer, {"type"}, known)
    if "text" not in block and "fields" not in block:
        problems.add("missing required field: text or fields", pointer)
    if "text" in block:
        problems.text(block["text"], f"{pointer}/text", 3000)
    if "fields" in block:
        for index, one in enumerate(problems.each(block["fields"], f"{pointer}/fields", 10)):
            problems.text(one, f"{pointer}/fields/{index}", 2000)
    if "accessory" in block:
        check_element(problems, block["accessory"], f"{pointer}/accessory", "section")


def _context(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    if problems.members(block, pointer, {"type", "elements"}, {"block_id"}):
        elements = problems.each(block["elements"], f"{pointer}/elements", 10)
        for index, one in enumerate(elements):
            problems.text(one, f"{pointer}/elements/{index}", 3000)


def _divider(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    problems.members(block, pointer, {"type"}, {"block_id"})


def _actions(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    if not problems.members(block, pointer, {"type", "elements"}, {"block_id"}):
        return
    elements = problems.each(block["elements"], f"{pointer}/elements", 25)
    for index, one in enumerate(elements):
        check_element(problems, one, f"{pointer}/elements/{index}", "actions")
    ids = [one.get("action_id") for one in elements if isinstance(one, dict)]
    if len(ids) != len(set(ids)):
        problems.add("action_id is not unique in its block", pointer)


def _input(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    known = {"block_id", "hint", "optional", "dispatch_action"}
    if not problems.members(block, pointer, {"type", "label", "element"}, known):
        return
    problems.text(block["label"], f"{pointer}/label", 2000, plain=True)
    if "hint" in block:
        problems.text(block["hint"], f"{pointer}/hint", 2000, plain=True)
    for name in ("optional", "dispatch_action"):
        if name in block:
            problems.flag(block[name], f"{pointer}/{name}")
    check_element(problems, block["element"], f"{pointer}/element", "input")


def _image(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    if problems.members(block, pointer, {"type", "image_url", "alt_text"}, {"block_id", "title"}):
        problems.string(block["image_url"], f"{pointer}/image_url", 3000)
        problems.string(block["alt_text"], f"{pointer}/alt_text", 2000)


def _markdown(problems: Problems, block: dict[str, Any], pointer: str) -> None:
    if problems.members(block, pointer, {"type", "text"}, {"block_id"}):
        problems.string(block["text"], f"{pointer}/text", 12_000)


_CHECKS = {
    "header": _header,
    "section": _section,
    "context": _context,
    "divider": _divider,
    "actions": _actions,
    "input": _input,
    "image": _image,
    "markdown": _markdown,
    "rich_text": check_rich_text,
}
