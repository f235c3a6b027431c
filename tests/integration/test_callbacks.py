"""`callbackUrl`: the notice of one run's interrupts, signed, guarded, and of that run alone."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.webhooks.sign_out import signature, standard_signature
from tests.fakes.webhook_receiver import Receiver
from tests.integration.conftest import Api, approval

SECRET = "whsec_" + base64.b64encode(b"c" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()
ASK = "/host/sayso/interrupts"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
async def api(start: Any, receiver: Receiver) -> Api:
    found: Api = await start(egress={"allow": [receiver.origin], "callback_secret": SECRET})
    return found


async def ask(api: Api, **more: Any) -> dict[str, Any]:
    body = {"nodeId": "gate", "payload": approval(), "notify": [], **more}
    status, asked, _ = await api.call("POST", ASK, body)
    assert status == 201, asked
    return dict(asked)


async def test_a_run_that_names_a_url_is_told_there(api: Api, receiver: Receiver) -> None:
    await ask(api)  # this one names none
    asked = await ask(api, callbackUrl=receiver.url)
    run = asked["runId"].replace("/", "~2F")
    body = {"resumeValue": {"action": "accept"}}
    assert (await api.call("POST", f"/runs/{run}/interrupts/gate", body))[0] == 200
    first, second = await receiver.wait(2)
    assert [first.event["type"], second.event["type"]] == [
        "interrupt.requested",
        "interrupt.resolved",
    ]
    assert {got.body["runId"] for got in receiver.deliveries} == {asked["runId"]}
    assert second.event["payload"]["resumeValue"]["action"] == "accept"


async def test_what_is_sent_is_signed_by_both_schemes(api: Api, receiver: Receiver) -> None:
    await ask(api, callbackUrl=receiver.url)
    (got,) = await receiver.wait(1)
    at = int(got.headers["OpenWOP-Timestamp"])
    assert got.headers["OpenWOP-Signature"] == signature(SECRET, at, got.raw)
    expected = standard_signature(SECRET, got.headers["webhook-id"], at, got.raw)
    assert got.headers["webhook-signature"] == expected


async def test_a_run_of_the_protocol_may_name_one_too(api: Api, receiver: Receiver) -> None:
    body = {"workflowId": "sayso.external", "callbackUrl": receiver.url}
    status, run, _ = await api.call("POST", "/runs", body)
    assert status == 201
    segment = run["runId"].replace("/", "~2F")
    await api.call("POST", f"/host/sayso/runs/{segment}/complete", {})
    (got,) = await receiver.wait(1)
    assert got.event["type"] == "run.completed"
    _, document, _ = await api.call("GET", "/.well-known/openwop")
    assert document["interrupt"]["callbackDelivery"] is True


async def test_one_url_is_one_subscription(api: Api, receiver: Receiver) -> None:
    for _ in range(3):
        await ask(api, callbackUrl=receiver.url)
    _, page, _ = await api.call("GET", "/host/sayso/webhooks")
    assert len(page["webhooks"]) == 1
    await receiver.wait(3)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/x", "https://169.254.169.254/", "ftp://a.example", ""]
)
async def test_a_url_that_leads_inside_is_refused(api: Api, url: str) -> None:
    body = {"workflowId": "sayso.external", "callbackUrl": url}
    status, refused, _ = await api.call("POST", "/runs", body)
    assert (status, refused["error"]) == (400, "validation_error")
    assert refused["details"]["field"] == "callbackUrl"


async def test_a_new_secret_of_the_operator_is_taken_up(
    start: Any, receiver: Receiver, tmp_path: Any
) -> None:
    chosen = {"data_dir": tmp_path / "kept"}
    first = await start(egress={"allow": [receiver.origin], "callback_secret": SECRET}, **chosen)
    await ask(first, callbackUrl=receiver.url)
    await receiver.wait(1)
    await first.gateway.stop()
    second = await start(egress={"allow": [receiver.origin], "callback_secret": OTHER}, **chosen)
    await ask(second, callbackUrl=receiver.url)
    got = (await receiver.wait(2))[-1]
    at = int(got.headers["OpenWOP-Timestamp"])
    signed = got.headers["webhook-signature"].split(" ")
    assert standard_signature(OTHER, got.headers["webhook-id"], at, got.raw) in signed


async def test_a_secret_that_can_not_sign_does_not_start(start: Any) -> None:
    with pytest.raises(ValueError, match=r"egress\.callback_secret"):
        await start(egress={"callback_secret": "short"})
