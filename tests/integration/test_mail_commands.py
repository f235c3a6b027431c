"""`sayso mail doctor`, `stopped` and `resume`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adapters.email.inbound.ledger import Ledger
from gateway.cli.mail import app
from gateway.cli.store import now_ms
from host.store.sqlite.store import SqliteStore
from tests.fakes.imap_server import ImapServer


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SAYSO_CONFIG", "")
    return tmp_path / "sayso.toml"


async def run(config: Path, text: str, *arguments: str) -> tuple[int, str]:
    """The command with this configuration: exit code, and all that it said."""
    config.write_text(f'data_dir = "{config.parent / "data"}"\n{text}')
    command = [*arguments, "--config", str(config)]
    result = await asyncio.to_thread(CliRunner().invoke, app, command)
    return result.exit_code, result.output


async def test_doctor_logs_into_the_mailbox(config: Path) -> None:
    async with ImapServer() as box:
        settings = (
            '[email.inbound]\naddress = "sayso@example.com"\nauthserv_id = "mx.example.com"\n'
        )
        code, said = await run(config, f'{settings}imap_url = "{box.url}"', "doctor")
        assert code == 0, said
        assert "INBOX at 127.0.0.1 is read, and tells at once" in said
        assert "Authentication-Results of mx.example.com" in said
        wrong = box.url.replace("pw-imap", "other-pw")
        code, said = await run(config, f'{settings}imap_url = "{wrong}"', "doctor")
        assert (code, "can't be read" in said, "other-pw" in said) == (1, True, False)


async def test_doctor_says_what_is_missing(config: Path) -> None:
    code, said = await run(config, "", "doctor")
    assert code == 0
    assert "replies by mail are not taken" in said
    code, said = await run(config, '[email.inbound]\naddress = "r.example.com"\n', "doctor")
    assert code == 1
    assert "no way in is set up" in said


async def test_doctor_says_when_bounces_are_not_heard_of(config: Path) -> None:
    settings = (
        '[email.postmark]\nserver_token = "t"\n[email.inbound]\naddress = "r.example.com"\n'
        'policy = "off"\n'
    )
    code, said = await run(config, f'{settings}mailgun_key = "k"\n', "doctor")
    assert (code, "Postmark mails, and can't tell us what was lost" in said) == (0, True), said
    assert "/mail/postmark/reports" in said
    code, said = await run(config, f'{settings}postmark_password = "p"\n', "doctor")
    assert (code, "what was lost" in said) == (0, False), said


async def test_an_address_that_is_stopped_is_listed_and_resumed(config: Path) -> None:
    data = config.parent / "data"
    data.mkdir()
    store = SqliteStore(data / "sayso.db")
    await store.start()
    await Ledger(store.documents, now_ms).suppress("ada@example.com", "bounced: 5.1.1", 90)
    await store.stop()
    code, said = await run(config, "", "stopped")
    assert (code, "a…@example.com  bounced: 5.1.1" in said) == (0, True)
    assert (await run(config, "", "resume", "no address"))[0] == 2
    assert (await run(config, "", "resume", "Ada@Example.com"))[0] == 0
    assert (await run(config, "", "resume", "ada@example.com"))[0] == 1
    assert "No address is stopped" in (await run(config, "", "stopped"))[1]
