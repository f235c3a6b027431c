"""The documentation says what is so: tables, samples, links and pictures are checked against the code."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from config.settings import Settings, load
from gateway import channels, workflows
from schemas.workflows import NodeType, TriggerRule

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
SAMPLE = ROOT / "config" / "sample.toml"
_LINK = re.compile(r"\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")
_CODE_PATH = re.compile(
    r"`((?:schemas|host|adapters|gateway|config|sdk|bench|docs|examples)/[\w./-]+)`"
)


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No setting of the machine that the tests run on. Restores what `load` sets as well."""
    for name in list(os.environ):
        if name.startswith(("SAYSO_", "SLACK_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SAYSO_CONFIG", "")
    return monkeypatch


def script(name: str) -> ModuleType:
    """A script of docs/, which finds its neighbours as it does when it is started."""
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    return importlib.import_module(name)


# --- configuration --------------------------------------------------------------------------------


def test_the_settings_tables_are_current() -> None:
    table = script("settings_table")
    page = table.PAGE.read_text("utf-8")
    assert table.rewritten(page) == page, "run: python docs/settings_table.py"


def test_a_setting_without_its_sentence_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    table = script("settings_table")
    monkeypatch.delitem(table.MEANING, "http.port")
    with pytest.raises(ValueError, match=r"lacks \['http\.port'\]"):
        table.tables()


def test_every_variable_of_the_tables_is_read(clean_environment: pytest.MonkeyPatch) -> None:
    """The names on the page are the ones that the settings listen to."""
    plain = {
        "SAYSO_HTTP__PORT": "0",
        "SAYSO_TENANT": "acme",
        "SAYSO_EMAIL__FROM": "ada@example.com",
    }
    listed = {one.variable for one in script("settings_table").settings()}
    assert plain.keys() <= listed
    for name, value in plain.items():
        clean_environment.setenv(name, value)
    found = load()
    assert (found.http.port, found.tenant, found.email.from_) == (0, "acme", "ada@example.com")


def uncommented() -> str:
    """The sample with every setting switched on that it offers."""
    lines = SAMPLE.read_text("utf-8").splitlines()
    offered = [re.sub(r"^#(?=\S)", "", line) for line in lines]
    return "\n".join(line for line in offered if line != "notify = []") + "\n"


def test_the_sample_loads_as_it_is(clean_environment: pytest.MonkeyPatch) -> None:
    settings = load(SAMPLE)
    assert [person.id for person in settings.people] == ["ada", "bela"]
    assert not settings.api_keys, "a key that everybody can read is no key"


def test_the_sample_loads_with_everything_switched_on(
    clean_environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = tmp_path / "sayso.toml"
    whole.write_text(uncommented(), "utf-8")
    clean_environment.setenv("SLACK_BOT_TOKEN", "xoxb-not-a-token")
    clean_environment.setenv("SLACK_APP_TOKEN", "xapp-not-a-token")
    clean_environment.setenv("SAYSO_EMAIL__SMTP_URL", "smtps://user:password@smtp.example.com:465")
    settings = load(whole)
    assert settings.notify == ("slack:#approvals",)
    assert settings.api_keys[0].id == "billing-agent"
    assert sorted(build(settings)) == ["email", "slack", "web", "webhooks"]


def build(settings: Settings) -> dict[str, Any]:
    """The channels of these settings, wired to nothing and not started."""
    nothing: Any = None
    doors = channels.Doors(nothing, nothing, nothing, nothing)
    return dict(channels.build(settings, settings.http.public_url, "f" * 48, doors))


# --- pages ----------------------------------------------------------------------------------------


def links() -> list[tuple[Path, str]]:
    found = []
    for page in PAGES:
        for match in _LINK.finditer(page.read_text("utf-8")):
            target = match[1] or match[2]
            if not target.startswith(("http://", "https://", "mailto:")):
                found.append((page, target))
    return found


@pytest.mark.parametrize(
    ("page", "target"), links(), ids=lambda one: str(one).removeprefix(f"{ROOT}/")
)
def test_every_link_leads_somewhere(page: Path, target: str) -> None:
    path, _, heading = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    assert there.exists()
    if heading:
        words = re.findall(r"^#+ (.+)$", there.read_text("utf-8"), re.MULTILINE)
        assert heading in {re.sub(r"[^\w -]", "", w.lower()).replace(" ", "-") for w in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = set(_CODE_PATH.findall(page.read_text("utf-8")))
    assert not {path for path in named if not (ROOT / path).exists()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_can_be_read_in_an_editor(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.startswith(("# ", "<"))
    prose = re.sub(r"^(\||```|<|!\[).*$", "", text, flags=re.MULTILINE)
    assert max(len(line) for line in prose.splitlines()) <= 130


# --- pictures -------------------------------------------------------------------------------------


def test_every_picture_can_be_drawn_and_is_there() -> None:
    pictures = script("pictures")
    shots = {shot.name: shot for shot in pictures.shots()}
    there = {path.stem: path for path in pictures.PICTURES.glob("*.png")}
    assert shots.keys() == there.keys()
    assert all(path.stat().st_size <= pictures.LARGEST for path in there.values())
    assert "Approved by Ada Lindqvist" in shots["slack-outcome"].document
    assert "Approve" in shots["answer-page"].document


def test_the_drawing_leaves_nothing_out() -> None:
    blockkit = script("blockkit")
    asked = script("scenario").ASKED
    with pytest.raises(ValueError, match="carousel"):
        blockkit.message([{"type": "carousel"}], blockkit.Reader(asked), asked)


def test_the_drawing_escapes_what_people_wrote() -> None:
    blockkit = script("blockkit")
    asked = script("scenario").ASKED
    text = {"type": "plain_text", "text": "<script>alert(1)</script>"}
    drawn = blockkit.message([{"type": "section", "text": text}], blockkit.Reader(asked), asked)
    assert "<script>" not in drawn
    assert "&lt;script&gt;" in drawn


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (0, "today 12:04 PM"),
        (24, "tomorrow 12:04 PM"),
        (-24, "yesterday 12:04 PM"),
        (72, "Sep 14, 2026 12:04 PM"),
    ],
)
def test_the_drawing_tells_moments_as_slack_does(hours: int, words: str) -> None:
    scenario, blockkit = script("scenario"), script("blockkit")
    moment = round(scenario.ASKED.timestamp()) + hours * 3600
    assert blockkit.Reader(scenario.ASKED).words(moment, "{date_short_pretty} {time}") == words


# --- workflows ------------------------------------------------------------------------------------


def test_the_workflow_of_the_page_is_one() -> None:
    example = (ROOT / "examples" / "workflows" / "refund.json").read_text("utf-8")
    assert example in (DOCS / "workflows.md").read_text("utf-8")
    [flow] = workflows.load(ROOT / "examples" / "workflows")
    assert [node.id for node in flow.roots()] == ["details"]


def test_the_page_names_every_type_of_node_and_every_rule() -> None:
    page = (DOCS / "workflows.md").read_text("utf-8")
    for name in (*get_args(NodeType), *get_args(TriggerRule)):
        assert f"| `{name}`" in page
