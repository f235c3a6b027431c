"""The pages of the dialects name tests that there are, and every behaviour once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIALECTS = {"kortyx": 43, "symfonic": 55}
"""How many behaviours each page has to speak of."""


def page(dialect: str) -> str:
    return (ROOT / "docs" / "dialects" / f"{dialect}.md").read_text("utf-8")


def rows(dialect: str) -> list[tuple[int, str]]:
    found = re.findall(r"^\| (\d+) \| [^|]+ \| (.+) \|$", page(dialect), re.MULTILINE)
    return [(int(number), text) for number, text in found]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_behaviour_has_a_row_with_a_test_or_a_reason(dialect: str) -> None:
    numbers = [number for number, _ in rows(dialect)]
    assert numbers == list(range(1, DIALECTS[dialect] + 1))
    for number, text in rows(dialect):
        assert "::test_" in text or text.startswith(("Can't occur: ", "Not done")), number


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_test_that_is_named_exists(dialect: str) -> None:
    files = dict(re.findall(r"`([a-z])` is\s+`(tests/[\w/]+\.py)`", page(dialect)))
    named = re.findall(r"`([a-z])::(test_\w+)`", page(dialect))
    assert len(named) > 40
    for file, test in named:
        source = (ROOT / files[file]).read_text("utf-8")
        assert f"def {test}(" in source, test
