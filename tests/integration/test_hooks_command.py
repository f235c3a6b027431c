"""`sayso hooks test`: what it says of a sample, without and beside a running gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from tests.integration.conftest import Api

SECRET = "whsec_a_secret_of_decent_length"
EVENT = {"id": "evt_1", "type": "paid", "order": "7", "livemode": True}
SENDGRID = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw"
    "+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs the command on a body; answers with its exit code and all that it said."""
    monkeypatch.setenv("SAYSO_CONFIG", "")
    config, sample = tmp_path / "sayso.toml", tmp_path / "body"
    config.write_text(
        f"""
tenant = "acme"
data_dir = "{tmp_path / "data"}"
[hooks.pay]
provider = "stripe"
secrets = ["{SECRET}"]
correlation = {{ order = "order" }}
mode = "live"
several = "exactlyOne"
[hooks.forge]
provider = "github"
secrets = ["{SECRET}"]
[hooks.mail]
provider = "sendgrid"
secrets = ["{SENDGRID}"]
correlation = {{ to = "email" }}
[hooks.tree]
provider = "braintree"
secrets = ["public:private-key-of-some-length"]
""",
        "utf-8",
    )

    def run(source: str, body: Any, *more: str) -> tuple[int, str]:
        sample.write_bytes(body if isinstance(body, bytes) else json.dumps(body).encode())
        arguments = ["hooks", "test", source, str(sample), "-c", str(config), *more]
        result = CliRunner().invoke(app, arguments)
        assert SECRET not in result.output
        return result.exit_code, result.output

    return run


def test_a_sample_is_signed_verified_and_mapped(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run("pay", EVENT)
    assert code == 0
    assert "signature   holds" in said
    assert "event       paid, id evt_1" in said
    assert 'correlation {"order": "7"}' in said
    assert "there is no database yet" in said


@pytest.mark.parametrize(
    ("source", "body", "more", "code", "says"),
    [
        ("pay", EVENT | {"livemode": False}, (), 1, "mode: a test event at a source for live events"),
        ("pay", b"not json", (), 1, "fails: body: not JSON"),
        ("pay", {"id": "e"}, (), 1, "fails: mode: nothing at"),
        ("pay", b"x" * (2**20 + 1), (), 1, "HTTP 413"),
        ("forge", {"action": "closed"}, ("-H", "X-GitHub-Event: push"), 0, "event       push, id sha"),
        ("forge", {"action": "closed"}, (), 1, "fails: event_type"),
        ("forge", {}, ("-H", "nonsense"), 2, "'Name: value'"),
        ("mail", [{"event": "open", "email": "a@b", "sg_event_id": "1"}], (), 0, "not made: only"),
        ("tree", b"<notification><kind>check</kind></notification>", (), 0, "event       check"),
        ("nobody", {}, (), 2, "there are: pay, forge, mail, tree"),
    ],
)  # fmt: skip
def test_what_it_says(
    run: Callable[..., tuple[int, str]],
    source: str,
    body: Any,
    more: tuple[str, ...],
    code: int,
    says: str,
) -> None:
    got, said = run(source, body, *more)
    assert says in said
    assert got == code


async def test_it_shows_whom_the_event_would_answer(
    start: Callable[..., Awaitable[Api]], run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    api = await start(data_dir=tmp_path / "data")
    code, said = await asyncio.to_thread(run, "pay", EVENT)
    assert (code, "it would be kept until one comes" in said) == (0, True)
    data = {"eventType": "paid", "correlation": {"order": "7"}}
    payload = {"kind": "external-event", "key": "k", "data": data}
    first = await api.ask(await api.run(), payload)
    code, said = await asyncio.to_thread(run, "pay", EVENT)
    assert (code, f"would end {first['interruptId']}" in said) == (0, True)
    await api.ask(await api.run(), payload)
    code, said = await asyncio.to_thread(run, "pay", EVENT)
    assert (code, "exactly one may: it would be parked" in said) == (0, True)
    _, listed, _ = await api.call("GET", "/host/sayso/hooks/events")
    assert listed == {"events": []}, "nothing is stored"
