"""What the fake Slack keeps: messages, views, triggers, people; and what is filled into a view."""

from __future__ import annotations

import copy
import html
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

TRIGGER_SECONDS = 3.0
RESPONSE_URL_USES = 5


class SlackError(Exception):
    """An `ok: false` answer. `messages` go into response_metadata."""

    def __init__(self, error: str, *messages: str) -> None:
        super().__init__(error)
        self.error = error
        self.messages = messages


@dataclass(slots=True)
class Message:
    channel: str
    ts: str
    text: str
    blocks: list[dict[str, Any]]
    user: str
    thread_ts: str = ""
    edits: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    history: list[list[dict[str, Any]]] = field(default_factory=list)

    def buttons(self) -> list[dict[str, Any]]:
        """All buttons, in their order."""
        return [
            element
            for block in self.blocks
            if block["type"] == "actions"
            for element in block["elements"]
        ]

    def shown(self) -> str:
        """All texts of the blocks, as a person would read them."""
        return "\n".join(_texts(self.blocks))


@dataclass(slots=True)
class View:
    id: str
    view: dict[str, Any]
    user: str
    hash: str
    is_open: bool = True
    errors: dict[str, str] = field(default_factory=dict)
    edits: int = 0

    def shown(self) -> str:
        title = [self.view["title"]["text"]] if "title" in self.view else []
        return "\n".join([*title, *_texts(self.view["blocks"])])

    def labels(self) -> list[str]:
        return [one["label"]["text"] for one in self.view["blocks"] if one["type"] == "input"]


@dataclass(slots=True)
class Trigger:
    user: str
    issued: float
    used: bool = False


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["text"]] if isinstance(value.get("text"), str) else []
        return own + [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return []


def stored(value: Any) -> Any:
    """A copy with plain texts escaped, as Slack echoes them in payloads."""
    found = copy.deepcopy(value)

    def walk(one: Any) -> None:
        if isinstance(one, dict):
            if one.get("type") == "plain_text" and isinstance(one.get("text"), str):
                one["text"] = html.escape(one["text"], quote=False)
            for inner in one.values():
                walk(inner)
        elif isinstance(one, list):
            for inner in one:
                walk(inner)

    walk(found)
    return found


class Clock:
    """Message timestamps: unique and rising."""

    def __init__(self) -> None:
        self._last = 0

    def ts(self) -> str:
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"


def new_hash() -> str:
    return f"{int(time.time())}.{secrets.token_hex(4)}"


def state_of(view: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """`view.state.values` after a person filled in `values` ({label or block_id: value}).

    What is not filled in keeps its initial value. Raises AssertionError for what Slack's own client
    would not send: an unknown input, an option that is not offered, a required input left empty.
    """
    inputs = [block for block in view["blocks"] if block["type"] == "input"]
    left = dict(values)
    state: dict[str, Any] = {}
    for block in inputs:
        element = block["element"]
        key = next((k for k in (block["block_id"], block["label"]["text"]) if k in left), None)
        if key is None:
            entered = _initial(element)
        else:
            entered = _entered(element, left.pop(key))
        empty = all(value in (None, []) for name, value in entered.items() if name != "type")
        label = block["label"]["text"]
        assert block.get("optional") or not empty, f"Slack requires an answer to {label!r}"
        state[block["block_id"]] = {element["action_id"]: entered}
    assert not left, f"the view has no input {sorted(left)}; it has {[b['label'] for b in inputs]}"
    return state


def _initial(element: dict[str, Any]) -> dict[str, Any]:
    kind = element["type"]
    found: dict[str, Any] = {"type": kind}
    if kind in ("static_select", "radio_buttons", "external_select"):
        found["selected_option"] = element.get("initial_option")
    elif kind in ("multi_static_select", "checkboxes", "multi_external_select"):
        found["selected_options"] = element.get("initial_options", [])
    elif kind in ("datepicker", "timepicker", "datetimepicker"):
        name = {"datepicker": "date", "timepicker": "time"}.get(kind, "date_time")
        found[f"selected_{name}"] = element.get(f"initial_{name}")
    else:
        found["value"] = element.get("initial_value")
    return found


def _entered(element: dict[str, Any], value: Any) -> dict[str, Any]:
    kind = element["type"]
    if kind == "external_select":  # one of the options that a suggestion gave
        return {"type": kind, "selected_option": value}
    if kind == "multi_external_select":
        return {"type": kind, "selected_options": value}
    if kind in ("static_select", "radio_buttons"):
        return {"type": kind, "selected_option": _option(element, value)}
    if kind in ("multi_static_select", "checkboxes"):
        most = element.get("max_selected_items", 100)
        assert len(value) <= most, f"Slack lets at most {most} be chosen"
        return {"type": kind, "selected_options": [_option(element, one) for one in value]}
    if kind in ("datepicker", "timepicker", "datetimepicker"):
        name = {"datepicker": "date", "timepicker": "time"}.get(kind, "date_time")
        return {"type": kind, f"selected_{name}": value}
    assert isinstance(value, str), "a text input holds a string"
    least, most = element.get("min_length", 0), element.get("max_length", 3000)
    assert least <= len(value) <= most, f"Slack takes {least} to {most} characters here"
    return {"type": kind, "value": value or None}


def _option(element: dict[str, Any], wanted: str) -> dict[str, Any]:
    for option in element["options"]:
        if option["text"]["text"] == wanted:
            found: dict[str, Any] = stored(option)
            return found
    offered = [option["text"]["text"] for option in element["options"]]
    raise AssertionError(f"no option {wanted!r}; offered are {offered}")
