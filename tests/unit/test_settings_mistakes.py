"""A setting that is spelled wrong is named, with the one that was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import SettingsError, load, misspelt


def test_every_mistake_is_told_and_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "sayso.toml"
    file.write_text('timezone = "Mars"\n[http]\nprt = 1\n[slak]\nbot_token = "xoxb-secret"\n')
    monkeypatch.setenv("SAYSO_CONFIG", str(file))
    monkeypatch.setenv("SAYSO_HTTP__PORTS", "hidden")
    with pytest.raises(SettingsError) as caught:
        load()
    assert sorted(str(caught.value).splitlines()[1:]) == [
        "  http.ports: there is no such setting; did you mean port?",
        "  http.prt: there is no such setting; did you mean port?",
        "  slak: there is no such setting; did you mean slack?",
        "  timezone: must be a time zone like Europe/Berlin, or UTC",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SAYSO_HTTP_PORT", "; did you mean SAYSO_HTTP__PORT?"),
        ("SAYSO_EMAIL_SMTP_URL", "; did you mean SAYSO_EMAIL__SMTP_URL?"),
        ("SAYSO_NOTIFFY", "; did you mean SAYSO_NOTIFY?"),
        ("SAYSO_QUITE_OTHER", ""),
    ],
)
def test_a_variable_that_is_no_setting(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "hidden")
    assert f"{name} in the environment is no setting{meant}" in misspelt()


def test_variables_that_are_somebody_elses_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the client, of a table's members, and what Kubernetes sets for a service of our name."""
    named = (
        "URL",
        "API_KEY",
        "CONFIG",
        "HOOKS__S__SECRETS",
        "PORT",
        "PORT_8080_TCP",
        "SERVICE_HOST",
    )
    for name in named:
        monkeypatch.setenv(f"SAYSO_{name}", "tcp://10.0.0.1:8080")
    said = " ".join(misspelt())
    assert not [name for name in named if f"SAYSO_{name} " in said]
