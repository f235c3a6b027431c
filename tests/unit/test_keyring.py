"""Rotating token keys: add, promote, retire; nothing outstanding is orphaned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from gateway.keyring import Keyring, KeyringError, KeyringFile
from host.tokens import LONGEST_TTL_MS
from schemas.errors import Refusal
from schemas.tokens import TokenClaims

NOW = 1_789_128_000_000
CLAIMS = TokenClaims(
    run_id="acme/run-000000000000001",
    node_id="gate",
    interrupt_id="acme/int-000000000000001",
    expires_at=datetime.fromtimestamp(NOW / 1000, UTC) + timedelta(minutes=30),
    intent="resolve",
)


def test_a_rotation_orphans_no_token() -> None:
    ring, first = Keyring("", {}).add(NOW)
    ring = ring.promote(first)
    old = ring.ring(NOW).mint(CLAIMS)
    ring, second = ring.add(NOW)
    assert ring.ring(NOW).mint(CLAIMS).split(".")[2] == first  # added is not yet promoted
    ring = ring.promote(second).retire(first, NOW)
    held = ring.ring(NOW)
    assert held.mint(CLAIMS).split(".")[2] == second
    assert held.verify(old) == CLAIMS
    late = ring.ring(NOW + LONGEST_TTL_MS)
    with pytest.raises(Refusal):
        late.verify(old)
    assert late.verify(held.mint(CLAIMS)) == CLAIMS


def test_what_would_break_signing_is_refused() -> None:
    ring, first = Keyring("", {}).add(NOW)
    ring = ring.promote(first)
    with pytest.raises(KeyringError, match="signs now"):
        ring.retire(first, NOW)
    ring, second = ring.add(NOW)
    ring = ring.retire(second, NOW)
    with pytest.raises(KeyringError, match="retired"):
        ring.promote(second)
    with pytest.raises(KeyringError, match="retired already"):
        ring.retire(second, NOW)
    with pytest.raises(KeyringError, match="no key"):
        ring.promote("other")


def test_the_file_is_private_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    file = KeyringFile(tmp_path)
    made = file.read()
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.read() == made
    file.path.write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        file.read()


def test_the_command_rotates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYSO_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("SAYSO_CONFIG", raising=False)
    run = CliRunner().invoke
    before = KeyringFile(tmp_path).read()
    kid = run(app, ["keys", "add"]).stdout.strip()
    assert run(app, ["keys", "retire", before.current]).exit_code == 1
    assert run(app, ["keys", "promote", kid]).exit_code == 0
    assert run(app, ["keys", "retire", before.current]).exit_code == 0
    after = KeyringFile(tmp_path).read()
    assert after.current == kid
    assert after.keys[before.current].until is not None
    shown = run(app, ["keys", "list"]).stdout
    assert kid in shown
    assert after.keys[kid].secret not in shown
