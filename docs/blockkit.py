"""Block Kit -> HTML that looks like Slack's own drawing of it. Pure.

Only for pictures in the documentation: it draws the blocks that `adapters/slack` makes, and raises on one
that it doesn't know, so that a picture never leaves something out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

Block = dict[str, Any]

_MRKDWN = re.compile(
    r"```\n?(?P<fence>.*?)\n?```|\*(?P<bold>[^*\n]+)\*|<@(?P<person>[A-Z0-9]+)>"
    r"|<!date\^(?P<moment>\d+)\^(?P<format>[^|^>]+)(?:\^[^|>]*)?\|(?P<fallback>[^>]*)>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at the message: their present moment, in their own zone."""

    now: datetime
    people: Mapping[str, str] = field(default_factory=dict)  # names by account

    def words(self, moment: int, pattern: str) -> str:
        """A moment as Slack writes it for this reader, from its date pattern."""
        at = datetime.fromtimestamp(moment, self.now.tzinfo)
        near = {-1: "yesterday", 0: "today", 1: "tomorrow"}
        days = (at.date() - self.now.date()) // timedelta(days=1)
        shown = pattern.replace(
            "{date_short_pretty}", near.get(days, f"{at:%b} {at.day}, {at.year}")
        )
        return shown.replace("{time}", self.clock(at))

    def clock(self, at: datetime) -> str:
        """The time of day, with twelve hours."""
        return f"{at.astimezone(self.now.tzinfo):%I:%M %p}".lstrip("0")


def message(blocks: Sequence[Block], reader: Reader, posted: datetime) -> str:
    """One message of the app, as it stands in a channel."""
    body = "".join(_block(block, reader) for block in blocks)
    return (
        '<div class="message"><div class="avatar">S</div><div class="beside">'
        f'<div class="who"><b>Sayso</b><i>APP</i><span>{reader.clock(posted)}</span></div>'
        f'<div class="blocks">{body}</div></div></div>'
    )


def modal(view: Block, reader: Reader) -> str:
    """An open modal."""
    body = "".join(_block(block, reader) for block in view["blocks"])
    close = f'<span class="button">{_text(view["close"], reader)}</span>' if "close" in view else ""
    submit = ""
    if "submit" in view:
        submit = f'<span class="button primary">{_text(view["submit"], reader)}</span>'
    return (
        '<div class="modal"><div class="top"><div class="avatar small">S</div>'
        f"<h1>{_text(view['title'], reader)}</h1><span>✕</span></div>"
        f'<div class="inside">{body}</div><div class="foot">{close}{submit}</div></div>'
    )


def confirmation(dialog: Block, reader: Reader) -> str:
    """What Slack asks before a press counts."""
    return (
        f'<div class="modal confirm"><div class="top"><h1>{_text(dialog["title"], reader)}</h1>'
        f'<span>✕</span></div><div class="inside"><div class="block">'
        f"{_text(dialog['text'], reader)}</div></div>"
        f'<div class="foot"><span class="button">{_text(dialog["deny"], reader)}</span>'
        f'<span class="button {dialog.get("style", "primary")}">'
        f"{_text(dialog['confirm'], reader)}</span></div></div>"
    )


def home(view: Block, reader: Reader) -> str:
    """The app's Home tab."""
    body = "".join(_block(block, reader) for block in view["blocks"])
    tabs = '<div class="tabs"><b>Home</b><span>Messages</span><span>About</span></div>'
    return f'<div class="home">{tabs}<div class="blocks">{body}</div></div>'


def note(text: str) -> str:
    """A line between what is shown."""
    return f'<div class="note">{html.escape(text)}</div>'


def thread(messages: Sequence[str]) -> str:
    """Replies below a message."""
    return f'<div class="thread">{"".join(messages)}</div>'


def reply(name: str, text: str, at: str) -> str:
    """What a person wrote."""
    return (
        f'<div class="message"><div class="avatar person">{html.escape(name[0])}</div>'
        f'<div class="beside"><div class="who"><b>{html.escape(name)}</b><span>{at}</span></div>'
        f'<div class="blocks"><div class="block">{html.escape(text)}</div></div></div></div>'
    )


def page(body: str) -> str:
    """A whole HTML document around messages or a modal."""
    return (
        f'<!doctype html><meta charset="utf-8"><style>{CSS}</style><div class="shot">{body}</div>'
    )


def _block(block: Block, reader: Reader) -> str:
    try:
        draw = _BLOCKS[block["type"]]
    except KeyError:
        raise ValueError(f"no drawing for a block of type {block['type']!r}") from None
    return f'<div class="block {block["type"]}">{draw(block, reader)}</div>'


def _text(text: Block, reader: Reader) -> str:
    """A text object. mrkdwn arrives escaped; plain text doesn't."""
    words: str = text["text"]
    if text["type"] == "plain_text":
        return html.escape(words).replace("\n", "<br>")
    shown, at = "", 0
    for found in _MRKDWN.finditer(words):
        shown += words[at : found.start()].replace("\n", "<br>")
        if found["fence"] is not None:
            shown += f"<pre>{found['fence']}</pre>"
        elif found["bold"] is not None:
            shown += f"<b>{found['bold']}</b>"
        elif found["person"] is not None:
            shown += (
                f'<span class="mention">@{reader.people.get(found["person"], "somebody")}</span>'
            )
        else:
            shown += reader.words(int(found["moment"]), found["format"])
        at = found.end()
    return shown + words[at:].replace("\n", "<br>")


def _header(block: Block, reader: Reader) -> str:
    return f"<h2>{_text(block['text'], reader)}</h2>"


def _section(block: Block, reader: Reader) -> str:
    shown = f"<div>{_text(block['text'], reader)}</div>" if "text" in block else ""
    if "fields" in block:
        cells = "".join(f"<div>{_text(field, reader)}</div>" for field in block["fields"])
        shown += f'<div class="fields">{cells}</div>'
    if "accessory" in block:
        return f'<div class="beside-button"><div>{shown}</div>{_buttons([block["accessory"]], reader)}</div>'
    return shown


def _context(block: Block, reader: Reader) -> str:
    return "".join(f"<span>{_text(element, reader)}</span>" for element in block["elements"])


def _markdown(block: Block, reader: Reader) -> str:
    """Lists, quotes and bold words: what the example has of Markdown."""
    shown = []
    for line in block["text"].split("\n"):
        words = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", line)
        if words.startswith("- "):
            words = f"<li>{words[2:]}</li>"
        elif words.startswith("&gt; "):
            words = f"<blockquote>{words[5:]}</blockquote>"
        shown.append(f"<div>{words or '&nbsp;'}</div>")
    return "".join(shown)


def _actions(block: Block, reader: Reader) -> str:
    return _buttons(block["elements"], reader)


def _buttons(elements: Sequence[Block], reader: Reader) -> str:
    return "".join(
        f'<span class="button {element.get("style", "")}">{_text(element["text"], reader)}</span>'
        for element in elements
    )


def _divider(block: Block, reader: Reader) -> str:
    return "<hr>"


def _rich_text(block: Block, reader: Reader) -> str:
    tags = {
        "rich_text_section": "div",
        "rich_text_preformatted": "pre",
        "rich_text_quote": "blockquote",
    }
    shown = ""
    for part in block["elements"]:
        tag = tags[part["type"]]
        shown += f"<{tag}>{''.join(_rich(element) for element in part['elements'])}</{tag}>"
    return shown


def _rich(element: Block) -> str:
    text = html.escape(str(element.get("text") or element.get("url") or ""))
    for style, tag in (("bold", "b"), ("italic", "em"), ("code", "code"), ("strike", "s")):
        if element.get("style", {}).get(style):
            text = f"<{tag}>{text}</{tag}>"
    return text


def _input(block: Block, reader: Reader) -> str:
    optional = ' <span class="optional">(optional)</span>' if block.get("optional") else ""
    hint = f'<div class="hint">{_text(block["hint"], reader)}</div>' if "hint" in block else ""
    asked = _element(block["element"], reader)
    return f"<label>{_text(block['label'], reader)}{optional}</label>{asked}{hint}"


def _element(element: Block, reader: Reader) -> str:
    kind = element["type"]
    if kind in ("radio_buttons", "checkboxes"):
        chosen = [element.get("initial_option"), *element.get("initial_options", [])]
        return "".join(
            f'<div class="option"><span class="mark {kind}{" on" if option in chosen else ""}"></span>'
            f"{_text(option['text'], reader)}</div>"
            for option in element["options"]
        )
    shown = str(element.get("initial_value") or element.get("initial_date") or "")
    if "initial_option" in element:
        shown = element["initial_option"]["text"]["text"]
    blank = element.get("placeholder", {}).get("text") or _BLANK.get(kind)
    if blank is None:
        raise ValueError(f"no drawing for an element of type {kind!r}")
    inside = html.escape(shown) if shown else f'<span class="blank">{html.escape(blank)}</span>'
    tall = " tall" if element.get("multiline") else ""
    arrow = '<span class="arrow">⌄</span>' if "select" in kind or "picker" in kind else ""
    return f'<div class="entry{tall}">{inside}{arrow}</div>'


_BLANK = {
    "plain_text_input": "Write something",
    "email_text_input": "Write something",
    "url_text_input": "Write something",
    "number_input": "Enter a number",
    "static_select": "Choose an option",
    "multi_static_select": "Choose options",
    "datepicker": "Select a date",
    "timepicker": "Select a time",
    "datetimepicker": "Select a date and time",
}

_BLOCKS: dict[str, Callable[[Block, Reader], str]] = {
    "header": _header,
    "section": _section,
    "markdown": _markdown,
    "context": _context,
    "actions": _actions,
    "divider": _divider,
    "rich_text": _rich_text,
    "input": _input,
}

CSS = """
* { box-sizing: border-box; margin: 0; }
body { background: #fff; color: #1d1c1d; font: 15px/1.467 Lato, "Liberation Sans", Arial, sans-serif; }
.shot { width: 620px; padding: 16px 20px; }
.message { display: flex; gap: 10px; }
.avatar { flex: none; width: 36px; height: 36px; border-radius: 8px; background: #1f6b4f; color: #fff;
  font-weight: 700; font-size: 20px; display: grid; place-items: center; }
.avatar.small { width: 28px; height: 28px; font-size: 16px; border-radius: 6px; }
.beside { flex: 1; min-width: 0; }
.who { display: flex; align-items: baseline; gap: 6px; line-height: 1.3; }
.who b { font-weight: 900; }
.who i { font-style: normal; font-size: 10px; font-weight: 700; color: #616061; background: #eeeded;
  border-radius: 2px; padding: 1px 4px; }
.who span { font-size: 12px; color: #616061; }
.blocks { max-width: 560px; }
.block { margin: 8px 0; overflow-wrap: anywhere; }
.block.header { margin: 10px 0 4px; }
h2 { font-size: 18px; line-height: 1.33; font-weight: 900; }
.fields { display: grid; grid-template-columns: 1fr 1fr; gap: 4px 16px; }
pre { font: 12px/1.5 Monaco, Menlo, "Liberation Mono", monospace; white-space: pre-wrap; background: #f8f8f8;
  border: 1px solid #dddddd; border-radius: 4px; padding: 8px; margin: 4px 0; }
code { font: 12px "Liberation Mono", monospace; color: #c01343; border: 1px solid #ddd;
  border-radius: 3px; padding: 1px 3px; }
blockquote { border-left: 4px solid #ddd; padding-left: 12px; }
hr { border: 0; border-top: 1px solid #ddd; }
.context { font-size: 13px; color: #616061; display: flex; flex-wrap: wrap; gap: 2px 8px; }
.actions { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 12px; }
.button { display: inline-block; height: 36px; line-height: 34px; padding: 0 14px; border-radius: 8px;
  border: 1px solid rgba(29, 28, 29, .3); font-weight: 700; font-size: 15px; background: #fff; }
.button.primary { background: #007a5a; border-color: #007a5a; color: #fff; }
.button.danger { background: #e01e5a; border-color: #e01e5a; color: #fff; }
.modal { border: 1px solid #ddd; border-radius: 8px; box-shadow: 0 8px 28px rgba(0, 0, 0, .14);
  width: 520px; margin: 6px auto 14px; }
.top { display: flex; align-items: center; gap: 10px; padding: 16px 20px 12px; }
.top h1 { flex: 1; font-size: 22px; font-weight: 900; line-height: 1.2; }
.top span { color: #616061; }
.confirm { margin-top: 18px; }
.confirm .foot { border-top: 0; padding-top: 0; }
.inside { padding: 0 20px; }
.inside .block { margin: 0 0 20px; }
.foot { display: flex; justify-content: flex-end; gap: 12px; padding: 16px 20px; border-top: 1px solid #eee; }
.beside-button { display: flex; justify-content: space-between; gap: 16px; align-items: flex-start; }
.home { border: 1px solid #ddd; border-radius: 8px; padding: 0 20px 8px; }
.tabs { display: flex; gap: 20px; border-bottom: 1px solid #ddd; margin: 0 -20px 8px; padding: 10px 20px; }
.tabs span { color: #616061; }
.note { color: #616061; font-size: 13px; font-weight: 700; margin: 18px 0 8px; }
.thread { border-left: 2px solid #ddd; margin: 8px 0 0 17px; padding-left: 27px; display: grid; gap: 14px; }
.message + .message { margin-top: 18px; }
.avatar.person { background: #4a6fa5; }
.mention { background: #e8f0f7; color: #1264a3; border-radius: 3px; padding: 0 2px; }
li { margin-left: 20px; }
label { display: block; font-weight: 700; margin-bottom: 6px; }
.optional { font-weight: 400; color: #616061; }
.hint { font-size: 13px; color: #616061; margin-top: 6px; }
.entry { border: 1px solid rgba(29, 28, 29, .5); border-radius: 4px; min-height: 40px;
  padding: 8px 12px; display: flex; justify-content: space-between; }
.entry.tall { min-height: 84px; }
.blank, .arrow { color: #8a8a8a; }
.option { display: flex; align-items: center; gap: 8px; padding: 3px 0; }
.mark { width: 16px; height: 16px; border: 1px solid #616061; border-radius: 3px; background: #fff; }
.mark.radio_buttons { border-radius: 50%; }
.mark.on { border: 5px solid #1264a3; }
"""
