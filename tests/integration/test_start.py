"""What a start imports, and what comes when it is first asked for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import psutil
import pytest

from config.settings import Settings
from gateway.lifecycle import Gateway
from host.store.records import StoreUnavailable
from tests.fakes.valkeys import Valkey, running
from tests.integration.conftest import Api

NOT_AT_START = (
    "adapters.email.app",
    "adapters.pickers",
    "adapters.slack",
    "adapters.webhooks.app",
    "aiosmtpd",
    "aiosmtplib",
    "asyncpg",
    "cryptography.hazmat",
    "gateway.cli.slack",
    "gateway.deciding",
    "gateway.openapi",
    "gateway.registrations",
    "gateway.routes.compat.kortyx",
    "gateway.routes.compat.substructure",
    "gateway.routes.compat.symfonic",
    "host.pauses",
    "host.store.postgres",
    "imapclient",
    "jinja2",
    "jmespath",
    "jsonschema",
    "jwt",
    "lxml",
    "opentelemetry.sdk.trace",  # redis-py imports the SDK's metrics by itself, where they are installed
    "re2",
    "schemas.events",
    "schemas.substructure",
    "schemas.symfonic",
    "slack_bolt",
    "slack_sdk",
    "valkey",
)
"""The libraries and the parts of ours that a gateway with its defaults has no use for."""

_PROGRAM = """
import asyncio, gc, sys
from gateway.cli import serve
from gateway.cli.main import main

async def served(gateway, *_, **__):
    await gateway.start()
    print(*sorted(sys.modules), "collected" if gc.isenabled() else "", sep="\\n")
    await gateway.stop()
    return 0

serve._until_stopped = served
main()
"""


def _modules(data: Path, settings: dict[str, str], *arguments: str) -> set[str]:
    """What the program has imported by the time that it serves."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("SAYSO_", "SLACK_"))}
    environ |= {"SAYSO_DATA_DIR": str(data), "SAYSO_HTTP__PORT": "0", **settings}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def _below(modules: set[str], names: Sequence[str]) -> list[str]:
    return [one for one in names if one in modules or any(m.startswith(f"{one}.") for m in modules)]


def test_a_start_with_the_defaults_imports_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    found = _modules(tmp_path, {}, "dev")
    assert {"gateway.lifecycle", "host.store.sqlite.store", "adapters.web.app"} <= found
    assert _below(found, NOT_AT_START) == []
    assert "collected" in found  # it was off while all that was imported


def test_what_is_set_up_is_imported(tmp_path: Path) -> None:
    settings = {
        "SAYSO_EMAIL__SMTP_URL": "smtp://127.0.0.1:25",
        "JWT_SECRET": "0123456789abcdef0123456789abcdef",
    }
    found = _modules(tmp_path, settings, "dev")
    assert {"adapters.email.app", "jinja2", "host.pauses", "jwt"} <= found
    assert _below(found, ("slack_bolt", "asyncpg", "gateway.routes.compat.symfonic")) == []


@pytest.mark.parametrize(
    "path", ["/compat/kortyx/chat", "/compat/substructure/api/machine/client-tokens"]
)
async def test_a_dialect_is_there_for_the_first_who_speak_it(api: Api, path: str) -> None:
    """All at once; without a credential each is told so by the dialect itself, in its own shape."""
    answers = await asyncio.gather(*(api.call("POST", path, {}, key=None) for _ in range(5)))
    assert {status for status, _, _ in answers} == {401}
    prefix = path.rpartition("/")[0]
    assert (await api.call("POST", f"{prefix}/nowhere"))[0] == 404
    status, _, headers = await api.call("DELETE", path)
    assert (status, headers.get("Allow")) == (405, "POST")
    async with api.session.get(api.gateway.url + "/metrics") as response:
        assert f'route="{path}"' in await response.text()


async def test_a_dialect_that_is_not_set_up_is_nowhere(
    start: Callable[..., Awaitable[Api]],
) -> None:
    api = await start()
    assert (await api.call("POST", "/compat/symfonic/api/v1/interrupts", {}))[0] == 404


async def test_a_start_that_fails_leaves_no_server_behind(tmp_path: Path) -> None:
    """The Valkey starts beside the rest: what fails meanwhile ends it, and the next start finds its place."""
    database = tmp_path / "sayso.db"
    database.write_bytes(b"this is no database" * 1000)
    settings = Settings(data_dir=tmp_path, http={"port": 0})
    with pytest.raises(StoreUnavailable):
        await Gateway(settings, []).start()
    for child in psutil.Process().children(recursive=True):
        assert str(tmp_path) not in " ".join(child.cmdline())
    database.unlink()
    again = Gateway(settings, [])
    await again.start()
    await again.stop()


async def test_a_redis_that_refuses_the_password_ends_the_start(tmp_path: Path) -> None:
    server = Valkey(tmp_path / "redis")
    async with running(server):
        await server.say("CONFIG", "SET", "requirepass", "hunter22")
        url = server.url.replace("redis://", "redis://:another@")
        gateway = Gateway(Settings(data_dir=tmp_path, http={"port": 0}, redis={"url": url}), [])
        with pytest.raises(ValueError, match="refuses the user or the password"):
            await gateway.start()
        assert gateway.health is None or gateway.health.phase != "serving"
