"""The gateway's own secrets, where several gateways start in one data folder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gateway.keyring import KeyringFile
from gateway.secrets import dev_api_key, make_private, own_secrets, write_private

MAKERS: tuple[Callable[[Path], Any], ...] = (
    own_secrets,
    dev_api_key,
    lambda data: KeyringFile(data).read(),
)


@pytest.mark.parametrize("make", MAKERS)
def test_of_many_that_start_at_once_all_have_the_same(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    together = threading.Barrier(8)

    def start(_: int) -> Any:
        together.wait()
        return make(tmp_path / "data")

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(start, range(8)))
    assert all(one == found[0] for one in found)
    [kept] = (tmp_path / "data").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_one_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    make_private(path, "first")
    make_private(path, "second")
    assert path.read_text() == "first"
    write_private(path, "third")
    assert path.read_text() == "third"
    assert list(tmp_path.iterdir()) == [path]
