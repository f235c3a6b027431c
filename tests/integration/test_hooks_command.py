"""`sayso hooks test`: what it says of a sample, without and beside a running gateway."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from typer.testing import CliRunner

from gateway.cli.main import app
from tests.fakes.mollie import KEY as MOLLIE
from tests.fakes.mollie import payment
from tests.integration.conftest import Api

SECRET = "whsec_a_secret_of_decent_length"
EVENT = {"id": "evt_1", "type": "paid", "order": "7", "livemode": True}
SENDGRID = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw"
    "+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
)


def certificate() -> str:
    """As base64 of DER: one that the operator pinned for PayPal."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "paypal")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    made = made.not_valid_before(start).not_valid_after(start + timedelta(days=365))
    signed = made.public_key(key.public_key()).sign(key, SHA256())
    return base64.b64encode(signed.public_bytes(Encoding.DER)).decode()


CERTIFICATE = certificate()


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
[hooks.sender]
provider = "standard_webhooks_v1a"
secrets = ["whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="]
correlation = {{ order = "order" }}
[hooks.mollie]
provider = "mollie_classic"
secrets = ["{MOLLIE}"]
correlation = {{ order = "metadata.order" }}
[hooks.bank]
provider = "paypal"
secrets = ["WEBHOOK:{CERTIFICATE}"]
correlation = {{ order = "resource.custom_id" }}
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
        assert MOLLIE not in result.output
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
        ("mail", [{"event": "open", "email": "a@b", "sg_event_id": "1"}], (), 1, "not made: only"),
        ("tree", b"<notification><kind>check</kind></notification>", (), 0, "event       check"),
        ("nobody", {}, (), 2, "there are: pay, forge, mail, sender, mollie, bank, tree"),
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


ONLY_THEIRS = [
    ("bank", {"id": "WH-1", "event_type": "paid", "resource": {"custom_id": "7"}}, (),
     "only PayPal has the private key", "paid, id WH-1"),
    ("mail", [{"event": "open", "email": "7", "sg_event_id": "1"}], (),
     "only SendGrid has the private key", "open, id 1"),
    ("sender", {"type": "paid", "order": "7"}, ("-H", "webhook-id: msg_1"),
     "only the sender has the private key", "paid, id msg_1"),
    ("mollie", payment(), (), "Mollie signs nothing", "payment.paid, id tr_d0b0E3EA3v:paid"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "body", "more", "why", "event"), ONLY_THEIRS)
def test_where_only_the_provider_can_sign(
    run: Callable[..., tuple[int, str]],
    source: str,
    body: Any,
    more: tuple[str, ...],
    why: str,
    event: str,
) -> None:
    code, said = run(source, body, *more)
    assert code == 1
    assert f"not made: {why}" in said
    assert "--unsigned" in said
    assert "event       " not in said, "what nobody verified is shown when it is asked for"
    code, said = run(source, body, *more, "--unsigned")
    assert code == 0
    assert "NOT VERIFIED" in said
    assert "holds" not in said
    assert f"event       {event}" in said
    assert '"7"' in said.partition("correlation")[2].partition("answer")[0]
    assert "waits       none" in said


def test_an_unsigned_sample_of_another_provider_is_marked_too(
    run: Callable[..., tuple[int, str]],
) -> None:
    code, said = run("pay", EVENT, "--unsigned")
    assert (code, "NOT VERIFIED" in said, "holds" in said) == (0, True, False)
    code, said = run("pay", b"not json", "--unsigned")
    assert (code, "NOT VERIFIED" in said, "fails: body" in said) == (1, True, True)


async def test_an_unsigned_sample_shows_whom_it_would_answer(
    start: Callable[..., Awaitable[Api]], run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    api = await start(data_dir=tmp_path / "data")
    data = {"eventType": "payment.paid", "correlation": {"order": "7"}}
    asked = await api.ask(await api.run(), {"kind": "external-event", "key": "k", "data": data})
    _, said = await asyncio.to_thread(run, "mollie", payment(), "--unsigned")
    assert "NOT VERIFIED" in said
    assert f"would end {asked['interruptId']}" in said
    _, listed, _ = await api.call("GET", "/host/sayso/hooks/events")
    assert listed == {"events": []}, "nothing is stored"


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
