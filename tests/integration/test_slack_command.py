"""`sayso slack`: the manifest, the doctor with what to do, install links and the list of installations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from config.settings import Settings
from gateway.cli.main import app
from gateway.doctor import slack as checks
from gateway.doctor.finding import Finding
from tests.fakes.slack import FakeSlack, Fault
from tests.integration.conftest import Api

Start = Callable[..., Awaitable[Api]]
SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        fake.server.registry.scopes = tuple(checks.BOT_SCOPES)
        yield fake


def settings_of(
    fake: FakeSlack, tmp_path: Path, slack: dict[str, Any] | None = None, **more: Any
) -> Settings:
    given = {
        "bot_token": fake.bot_token,
        "signing_secret": SECRET,
        "api_url": fake.api_url,
        **(slack or {}),
    }
    chosen = {"notify": ("slack:#ops",), "data_dir": tmp_path / "data", **more}
    return Settings(slack=given, **chosen)


async def examined(settings: Settings, post: str = "") -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    async for one in checks.everything(settings, [], post):
        found.setdefault(one.subject, []).append(one)
        assert (one.level == "ok") == (not one.do)  # whatever is wrong says what to do
        for secret in (settings.slack.bot_token, settings.slack.signing_secret):
            assert secret is None or secret.get_secret_value() not in f"{one}"
    return found


def levels(found: dict[str, list[Finding]], subject: str) -> list[str]:
    return [one.level for one in found[subject]]


async def test_all_is_well(slack: FakeSlack, tmp_path: Path, start: Start) -> None:
    api = await start(
        slack={
            "bot_token": slack.bot_token,
            "signing_secret": SECRET,
            "api_url": slack.api_url,
        }
    )
    slack.space.groups["S0ONCALL"] = []
    slack.server.registry.handles["S0ONCALL"] = "oncall"
    groups = {"rota": {"slack": ["@oncall", "T0TEAM/S0ONCALL"]}}
    settings = settings_of(
        slack, tmp_path, groups=groups, notify=("slack:#ops", "slack:C0OPS", "slack:@U0ADA")
    )
    data = settings.data_dir
    data.mkdir()
    (data / "url").write_text(api.gateway.url + "\n")
    found = await examined(settings, post="#ops")
    assert {one.level for part in found.values() for one in part} == {"ok"}, found
    assert found.keys() == {"slack", "signing secret", "channel", "user groups", "test card"}
    message = await slack.posted("C0OPS")
    assert "A test of the Slack connection" in message.shown()
    assert not [b for b in message.buttons() if b["action_id"].startswith("sayso.acc")]


@pytest.mark.parametrize(
    ("method", "error", "words"),
    [
        ("auth.test", "invalid_auth", "Set SLACK_BOT_TOKEN"),
        ("auth.test", "token_revoked", "Install the app again"),
        ("auth.test", "account_inactive", "Install the app again"),
    ],
)
async def test_a_token_that_does_not_work(
    slack: FakeSlack, tmp_path: Path, method: str, error: str, words: str
) -> None:
    slack.faults[method] = Fault(error=error, times=9)
    found = await examined(settings_of(slack, tmp_path))
    assert levels(found, "slack") == ["fail"]
    assert words in found["slack"][0].do


async def test_scopes_that_lack_are_named_with_what_for(slack: FakeSlack, tmp_path: Path) -> None:
    slack.server.registry.scopes = ("chat:write", "users:read", "im:write")
    slack.server.registry.missing = {"usergroups:read", "users:read.email"}
    found = await examined(settings_of(slack, tmp_path, groups={"g": {"slack": ["@x"]}}))
    assert levels(found, "slack") == ["ok", "warn"]
    assert "usergroups:read (who is in a user group" in found["slack"][1].sentence
    assert "users:read.email (knows somebody" in found["slack"][1].sentence
    assert levels(found, "user groups") == ["fail"]  # the configuration needs them


@pytest.mark.parametrize(
    ("change", "address", "level", "words"),
    [
        ({}, "#nowhere", "fail", "invite the bot"),
        ({"member": False}, "#ops", "fail", "/invite"),
        ({"member": False}, "C0OPS", "fail", "/invite"),
        ({"archived": True}, "#ops", "fail", "another channel"),
        ({"shared": True}, "C0OPS", "warn", "channel of your own"),
        ({"private": True, "member": False}, "C0OPS", "fail", "private"),
        ({}, "@U0NOBODY", "fail", ""),
    ],
)
async def test_a_channel_that_can_not_be_used(
    slack: FakeSlack, tmp_path: Path, change: dict[str, Any], address: str, level: str, words: str
) -> None:
    slack.space.channels["C0OPS"].update(change)
    found = await examined(settings_of(slack, tmp_path, notify=(f"slack:{address}",)))
    assert levels(found, "channel") == [level]
    assert words in found["channel"][0].do


async def test_a_deactivated_person_can_not_be_asked(slack: FakeSlack, tmp_path: Path) -> None:
    slack.space.users["U0BOB"]["deleted"] = True
    found = await examined(settings_of(slack, tmp_path, notify=("slack:@U0BOB",)))
    assert levels(found, "channel") == ["fail"]


async def test_a_group_that_there_is_not(slack: FakeSlack, tmp_path: Path) -> None:
    found = await examined(settings_of(slack, tmp_path, groups={"g": {"slack": ["@x", "S0X"]}}))
    assert "@x" in found["user groups"][0].sentence
    assert "S0X" in found["user groups"][0].sentence


async def test_the_signing_secret_is_tried_on_the_gateway_that_runs(
    slack: FakeSlack, tmp_path: Path, start: Start
) -> None:
    api = await start(
        slack={"bot_token": slack.bot_token, "signing_secret": SECRET, "api_url": slack.api_url}
    )
    data = tmp_path / "data"
    data.mkdir()
    other = {"signing_secret": SECRET[::-1]}
    found = await examined(settings_of(slack, tmp_path, slack=other))
    assert levels(found, "signing secret") == ["warn"]  # nothing ran with that data folder
    (data / "url").write_text(api.gateway.url)
    found = await examined(settings_of(slack, tmp_path, slack=other))
    assert levels(found, "signing secret") == ["fail"]
    assert "Restart" in found["signing secret"][0].do
    found = await examined(
        settings_of(slack, tmp_path, slack={"signing_secret": "not-a-slack-one-at-all"})
    )
    assert levels(found, "signing secret") == ["warn", "fail"]
    (data / "url").write_text("http://127.0.0.1:1")
    found = await examined(settings_of(slack, tmp_path))
    assert "does not answer" in found["signing secret"][0].sentence


async def test_the_socket_is_asked_for(slack: FakeSlack, tmp_path: Path) -> None:
    good = {"app_token": slack.app_token, "signing_secret": None}
    found = await examined(settings_of(slack, tmp_path, slack=good))
    assert levels(found, "socket") == ["ok"]
    assert "signing secret" not in found
    bad = {"app_token": "xapp-wrong", "signing_secret": None}
    found = await examined(settings_of(slack, tmp_path, slack=bad))
    assert levels(found, "socket") == ["fail"]
    assert "connections:write" in found["socket"][0].do
    assert slack.sockets.opened == 0


async def test_nothing_is_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)
    found = await examined(Settings(data_dir=tmp_path))
    assert levels(found, "slack") == ["fail"]
    assert "sayso slack manifest" in found["slack"][0].do


def run(*words: str, **environment: str) -> Any:
    return CliRunner().invoke(app, ["slack", *words], env=environment)


def test_the_manifest_is_json_that_slack_takes(tmp_path: Path) -> None:
    made = run("manifest", SAYSO_DATA_DIR=str(tmp_path))
    assert made.exit_code == 0, made.output
    assert json.loads(made.output)["settings"]["socket_mode_enabled"]
    made = run("manifest", "--http", "--url", "https://s.example/", "--name", "Ask")
    assert json.loads(made.output)["settings"]["interactivity"]["request_url"] == (
        "https://s.example/slack/events"
    )
    assert json.loads(made.output)["features"]["bot_user"]["display_name"] == "Ask"
    for wrong in (["--http"], ["--oauth"], ["--name", "x" * 36]):
        assert run("manifest", *wrong, SAYSO_DATA_DIR=str(tmp_path)).exit_code == 2


async def test_an_install_link_and_the_list(
    slack: FakeSlack, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = slack.server.registry
    api = await start(
        slack={
            "signing_secret": SECRET,
            "api_url": slack.api_url,
            "client_id": registry.client_id,
            "client_secret": registry.client_secret,
        }
    )
    data = api.gateway.settings.data_dir
    (data / "url").write_text(api.gateway.url + "\n")
    environment = {
        "SAYSO_DATA_DIR": str(data),
        "SLACK_CLIENT_ID": registry.client_id,
        "SLACK_CLIENT_SECRET": registry.client_secret,
    }
    none = await asyncio.to_thread(run, "installations", **environment)
    assert none.output.startswith("Nowhere yet"), none.output
    link = (await asyncio.to_thread(run, "install-link", **environment)).output.strip()
    assert link.startswith(f"{api.gateway.url}/slack/install?ticket=")
    async with api.session.get(link, allow_redirects=False) as response:
        assert response.status == 302
    missing = await asyncio.to_thread(run, "install-link", SAYSO_DATA_DIR=str(data))
    assert missing.exit_code == 2
