"""The certification document, and the page that says which test holds which obligation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from config.settings import Settings
from gateway.certification import document
from gateway.routes import discovery

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAYSO_CONFIG", raising=False)


def test_a_relaxation_is_written_down_with_its_reason() -> None:
    settings = Settings(relaxations={"approver-lists": "load test of June, see ticket 4711"})
    [relaxed] = document(settings)["relaxations"]
    assert relaxed["obligation"] == "interrupt.approver-enforcement"
    assert "4711" in relaxed["reason"]
    assert "4711" not in Path(discovery.__file__).read_text()


def test_a_relaxation_needs_a_reason_and_a_known_name() -> None:
    for bad in ({"approver-lists": ""}, {"tokens": "because we can"}):
        with pytest.raises(ValidationError):
            Settings(relaxations=bad)  # type: ignore[arg-type]


def test_by_default_nothing_is_relaxed() -> None:
    assert document(Settings())["relaxations"] == []


def test_every_test_that_the_conformance_page_names_exists() -> None:
    page = (ROOT / "docs" / "conformance.md").read_text()
    file = ""
    names = re.findall(r"`((?:tests/[\w/]+\.py)?)::(test_\w+)`", page)
    assert len(names) > 40
    for path, name in names:
        file = path or file
        text = (ROOT / file).read_text()
        assert f"def {name}(" in text or f"{name} =" in text, f"{file}::{name}"
