"""The strict checker's lower half: text, option and confirm objects, and interactive elements."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

_TOKEN = re.compile(r"<[^<>\n]+>")
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt);)")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?\Z")


def units(text: str) -> int:
    """UTF-16 code units, the longest way in which a client may count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def stored_length(text: str, *, mrkdwn: bool) -> int:
    """The length that Slack counts: the text as it is stored, with entities."""
    if mrkdwn:
        kept = _TOKEN.sub(lambda match: "x" * len(match[0]), text)
        kept = _BARE_AMPERSAND.sub("&amp;", kept)
    else:
        kept = text.replace("&", "&amp;")
    return units(kept.replace("<", "&lt;").replace(">", "&gt;"))


class Problems:
    """Collects complaints in Slack's own form."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.text_total = 0

    def add(self, message: str, pointer: str) -> None:
        self.found.append(f"[ERROR] {message} [json-pointer:{pointer}]")

    def members(
        self,
        value: Any,
        pointer: str,
        required: set[str],
        optional: set[str] = frozenset(),  # type: ignore[assignment]
    ) -> bool:
        """An object with exactly these members. Whether it is safe to look inside."""
        if not isinstance(value, dict):
            self.add("must be an object", pointer)
            return False
        for name in sorted(value.keys() - required - optional):
            self.add(f"no more than the known properties allowed: {name}", pointer)
        missing = sorted(required - value.keys())
        for name in missing:
            self.add(f"missing required field: {name}", f"{pointer}/{name}")
        return not missing

    def string(self, value: Any, pointer: str, most: int, *, least: int = 1) -> bool:
        if not isinstance(value, str):
            self.add("must be a string", pointer)
            return False
        if units(value) < least:
            self.add(f"must be more than {least - 1} characters", pointer)
        if units(value) > most:
            self.add(f"must be less than {most + 1} characters", pointer)
        return True

    def flag(self, value: Any, pointer: str) -> None:
        if not isinstance(value, bool):
            self.add("must be a boolean", pointer)

    def text(self, value: Any, pointer: str, most: int, *, plain: bool = False) -> None:
        """A text object: 1 to `most` characters as they are stored."""
        if not self.members(value, pointer, {"type", "text"}, {"emoji", "verbatim"}):
            return
        kind = value["type"]
        if kind not in ("plain_text", "mrkdwn") or (plain and kind != "plain_text"):
            self.add(f"unsupported type: {kind}", f"{pointer}/type")
        if kind == "plain_text" and "verbatim" in value:
            self.add("verbatim is for mrkdwn only", pointer)
        if kind == "mrkdwn" and "emoji" in value:
            self.add("emoji is for plain_text only", pointer)
        if not isinstance(value["text"], str):
            self.add("must be a string", f"{pointer}/text")
            return
        length = stored_length(value["text"], mrkdwn=kind == "mrkdwn")
        self.text_total += length
        if not value["text"].strip():
            self.add("must be more than 0 characters", f"{pointer}/text")
        if length > most:
            self.add(f"must be less than {most + 1} characters", f"{pointer}/text")
        if re.search("[\ud800-\udfff]", value["text"]):
            self.add("must be valid Unicode", f"{pointer}/text")

    def ids(self, value: dict[str, Any], pointer: str, *names: str) -> None:
        for name in names:
            if name in value:
                self.string(value[name], f"{pointer}/{name}", 255)

    def each(self, value: Any, pointer: str, most: int, *, least: int = 1) -> list[Any]:
        """A list of `least` to `most` items; what there is of it."""
        if not isinstance(value, list):
            self.add("must be an array", pointer)
            return []
        if not least <= len(value) <= most:
            self.add(f"must have {least} to {most} items, has {len(value)}", pointer)
        return value


def check_confirm(problems: Problems, value: Any, pointer: str) -> None:
    if problems.members(value, pointer, {"title", "text", "confirm", "deny"}, {"style"}):
        problems.text(value["title"], f"{pointer}/title", 100, plain=True)
        problems.text(value["text"], f"{pointer}/text", 300)
        problems.text(value["confirm"], f"{pointer}/confirm", 30, plain=True)
        problems.text(value["deny"], f"{pointer}/deny", 30, plain=True)
        if value.get("style", "primary") not in ("primary", "danger"):
            problems.add("unsupported style", f"{pointer}/style")


def check_option(problems: Problems, value: Any, pointer: str) -> None:
    if problems.members(value, pointer, {"text", "value"}, {"description"}):
        problems.text(value["text"], f"{pointer}/text", 75)
        problems.string(value["value"], f"{pointer}/value", 150)
        if "description" in value:
            problems.text(value["description"], f"{pointer}/description", 75)


def check_element(problems: Problems, value: Any, pointer: str, place: str) -> None:
    """One interactive element in `place`: actions, input or section (an accessory)."""
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in _CHECKS:
        problems.add(f"unsupported element: {kind}", pointer)
        return
    if place not in _PLACES[kind]:
        problems.add(f"unsupported element in {place}: {kind}", pointer)
    problems.ids(value, pointer, "action_id")
    _CHECKS[kind](problems, value, pointer)
    if "confirm" in value:
        check_confirm(problems, value["confirm"], f"{pointer}/confirm")
    if "placeholder" in value:
        problems.text(value["placeholder"], f"{pointer}/placeholder", 150, plain=True)


def _button(problems: Problems, value: dict[str, Any], pointer: str) -> None:
    known = {"action_id", "url", "value", "style", "confirm", "accessibility_label"}
    if not problems.members(value, pointer, {"type", "text"}, known):
        return
    problems.text(value["text"], f"{pointer}/text", 75, plain=True)
    for name, most in (("value", 2000), ("url", 3000), ("accessibility_label", 75)):
        if name in value:
            problems.string(value[name], f"{pointer}/{name}", most)
    if "url" in value and not re.match(r"https?://[^\s]+\Z", str(value["url"])):
        problems.add("invalid url", f"{pointer}/url")
    if value.get("style", "primary") not in ("primary", "danger"):
        problems.add("unsupported style", f"{pointer}/style")


def _options(most: int, many: bool, extra: set[str]) -> Any:
    initial = "initial_options" if many else "initial_option"

    def check(problems: Problems, value: dict[str, Any], pointer: str) -> None:
        known = {"action_id", "confirm", "focus_on_load", initial} | extra
        if not problems.members(value, pointer, {"type", "options"}, known):
            return
        options = problems.each(value["options"], f"{pointer}/options", most)
        for index, option in enumerate(options):
            check_option(problems, option, f"{pointer}/options/{index}")
        values = [option.get("value") for option in options if isinstance(option, dict)]
        if len(values) != len(set(map(str, values))):
            problems.add("option values must be unique", f"{pointer}/options")
        if initial in value:
            chosen = value[initial] if many else [value[initial]]
            for option in problems.each(chosen, f"{pointer}/{initial}", most):
                if option not in options:
                    problems.add("must be one of the options in full", f"{pointer}/{initial}")
        _whole(problems, value, pointer, "max_selected_items", 1, 100)

    return check


def _external(many: bool) -> Any:
    initial = "initial_options" if many else "initial_option"

    def check(problems: Problems, value: dict[str, Any], pointer: str) -> None:
        known = {
            "action_id",
            "confirm",
            "focus_on_load",
            "placeholder",
            "min_query_length",
            initial,
        }
        problems.members(
            value, pointer, {"type"}, known | ({"max_selected_items"} if many else set())
        )
        _whole(problems, value, pointer, "min_query_length", 0, 255)
        _whole(problems, value, pointer, "max_selected_items", 1, 100)
        if initial in value:
            chosen = value[initial] if many else [value[initial]]
            for index, option in enumerate(problems.each(chosen, f"{pointer}/{initial}", 100)):
                check_option(problems, option, f"{pointer}/{initial}/{index}")

    return check


def _whole(
    problems: Problems, value: dict[str, Any], pointer: str, name: str, least: int, most: int
) -> None:
    if name in value and not (type(value[name]) is int and least <= value[name] <= most):
        problems.add(f"must be an integer from {least} to {most}", f"{pointer}/{name}")


def _moment(name: str, valid: Any) -> Any:
    def check(problems: Problems, value: dict[str, Any], pointer: str) -> None:
        known = {"action_id", "confirm", "focus_on_load", name}
        if name != "initial_date_time":
            known |= {"placeholder"}
        if name == "initial_time":
            known |= {"timezone"}
        problems.members(value, pointer, {"type"}, known)
        if name in value and not valid(value[name]):
            problems.add("not a valid moment", f"{pointer}/{name}")

    return check


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(date.fromisoformat(value)) == value
    except ValueError:
        return False


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and f"{datetime.strptime(value, '%H:%M'):%H:%M}" == value
    except ValueError:
        return False


def _is_epoch(value: Any) -> bool:
    return type(value) is int and len(str(value)) == 10


_TYPED = {"action_id", "initial_value", "placeholder", "focus_on_load", "dispatch_action_config"}


def _text_input(problems: Problems, value: dict[str, Any], pointer: str) -> None:
    problems.members(value, pointer, {"type"}, _TYPED | {"multiline", "min_length", "max_length"})
    _whole(problems, value, pointer, "min_length", 0, 3000)
    _whole(problems, value, pointer, "max_length", 1, 3000)
    if value.get("min_length", 0) > value.get("max_length", 3000):
        problems.add("min_length above max_length", pointer)
    if "multiline" in value:
        problems.flag(value["multiline"], f"{pointer}/multiline")
    if "initial_value" in value:
        most = value.get("max_length", 3000)
        problems.string(value["initial_value"], f"{pointer}/initial_value", most)


def _address_input(problems: Problems, value: dict[str, Any], pointer: str) -> None:
    problems.members(value, pointer, {"type"}, _TYPED)
    if "initial_value" in value:
        problems.string(value["initial_value"], f"{pointer}/initial_value", 3000)


def _number_input(problems: Problems, value: dict[str, Any], pointer: str) -> None:
    known = _TYPED | {"min_value", "max_value"}
    if not problems.members(value, pointer, {"type", "is_decimal_allowed"}, known):
        return
    problems.flag(value["is_decimal_allowed"], f"{pointer}/is_decimal_allowed")
    for name in ("min_value", "max_value", "initial_value"):
        number = value.get(name, "0")
        if not isinstance(number, str) or not _DECIMAL.match(number):
            problems.add("must be a decimal number in a string", f"{pointer}/{name}")
        elif "." in number and not value["is_decimal_allowed"]:
            problems.add("no decimals allowed", f"{pointer}/{name}")


_CHECKS: dict[str, Any] = {
    "button": _button,
    "static_select": _options(100, False, {"placeholder"}),
    "multi_static_select": _options(100, True, {"placeholder", "max_selected_items"}),
    "external_select": _external(False),
    "multi_external_select": _external(True),
    "radio_buttons": _options(10, False, set()),
    "checkboxes": _options(10, True, set()),
    "overflow": _options(5, False, set()),
    "datepicker": _moment("initial_date", _is_date),
    "timepicker": _moment("initial_time", _is_time),
    "datetimepicker": _moment("initial_date_time", _is_epoch),
    "plain_text_input": _text_input,
    "email_text_input": _address_input,
    "url_text_input": _address_input,
    "number_input": _number_input,
}

_EVERYWHERE = {"actions", "input", "section"}
_PLACES: dict[str, set[str]] = {
    "button": {"actions", "section"},
    "overflow": {"actions", "section"},
    "static_select": _EVERYWHERE,
    "multi_static_select": {"input", "section"},
    "external_select": _EVERYWHERE,
    "multi_external_select": {"input", "section"},
    "radio_buttons": _EVERYWHERE,
    "checkboxes": _EVERYWHERE,
    "datepicker": _EVERYWHERE,
    "timepicker": _EVERYWHERE,
    "datetimepicker": {"actions", "input"},
    "plain_text_input": {"input"},
    "email_text_input": {"input"},
    "url_text_input": {"input"},
    "number_input": {"input"},
}
