"""The page of the kortyx dialect names tests that there are, and every behaviour once."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dialects" / "kortyx.md").read_text("utf-8")
_FILES = dict(re.findall(r"`([a-z])` is\s+`(tests/[\w/]+\.py)`", PAGE))


def rows() -> list[tuple[int, str]]:
    found = re.findall(r"^\| (\d+) \| [^|]+ \| (.+) \|$", PAGE, re.MULTILINE)
    return [(int(number), text) for number, text in found]


def test_every_behaviour_has_a_row_with_a_test_or_a_reason() -> None:
    numbers = [number for number, _ in rows()]
    assert numbers == list(range(1, 44))
    for number, text in rows():
        assert "::test_" in text or text.startswith(("Can't occur: ", "Not done")), number


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`([a-z])::(test_\w+)`", PAGE)
    assert len(named) > 40
    for file, test in named:
        source = (ROOT / _FILES[file]).read_text("utf-8")
        assert f"def {test}(" in source, test
