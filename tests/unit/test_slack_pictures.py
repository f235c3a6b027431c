"""Every card, modal and list of Slack has a picture, and the page shows each."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from host.decisions.inbox import ASKS_PEOPLE
from schemas.payloads import KINDS

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str) -> Any:
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    return importlib.import_module(name)


def test_each_is_drawn_and_shown() -> None:
    page = (DOCS / "slack-cards.md").read_text("utf-8")
    names = [name for name, _ in script("slack_pictures").pictures()]
    assert len(names) == len(set(names)) >= 20
    for name in names:
        assert (DOCS / "pictures" / f"{name}.png").is_file(), f"{name}: run make docs"
        assert f"pictures/{name}.png" in page, name


def test_the_examples_have_every_kind_and_every_ending() -> None:
    examples = script("slack_scenario")
    cards = [
        *examples.short_questions(),
        *examples.others(),
        *examples.endings(),
        examples.quorum(),
    ]
    cards += [examples.conversation()[2]]
    kinds = {card.kind for card in cards}
    assert kinds >= ASKS_PEOPLE
    assert set(KINDS) - kinds == {"conversation.start", "conversation.close"}
    assert {card.state for card in cards} == {"open", "resolved", "expired", "cancelled"}
