"""`sayso ask` and the help of commands: what is wrong is a sentence, and no traceback."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from gateway.cli import ask
from gateway.cli.main import app


@pytest.mark.parametrize(
    ("url", "timeout", "says"),
    [
        ("sayso.example.com", None, "the gateway's URL looks like https://"),
        ("https://sayso.example.com", None, "give an API key"),
        ("http://127.0.0.1:9", 0.0, "timeout: seconds"),
    ],
)
def test_what_cannot_be_asked_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    timeout: float | None,
    says: str,
) -> None:
    monkeypatch.setenv("SAYSO_URL", url)
    monkeypatch.delenv("SAYSO_API_KEY", raising=False)
    assert ask.ask_and_wait("Deploy?", None, None, timeout) == 2
    assert says in capsys.readouterr().err


def test_who_interrupts_it_is_told_that_the_question_is_withdrawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("SAYSO_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("sayso.client.Sayso.drive", interrupted)
    assert ask.ask_and_wait("Deploy?", None, None, None) == 130
    assert "Withdrawn" in capsys.readouterr().err


def test_help_loses_no_name_in_brackets() -> None:
    shown = CliRunner().invoke(app, ["hash-key", "--help"]).output
    assert "`api_keys`" in shown
