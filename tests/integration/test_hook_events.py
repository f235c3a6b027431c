"""External events through a running gateway: every provider's door, operators' routes, exactly once."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, urlencode

import braintree
import pytest

from adapters.webhooks.providers import PROVIDERS, sign
from schemas.ids import path_segment
from tests.integration.conftest import Api

SECRET = "whsec_a_secret_of_decent_length"
TOKEN = "a-token-of-thirty-two-characters"
BT_SECRET = "pub_key:" + "p" * 32
URL = "https://sayso.example.com/hooks/sms"
EVENTS = "/host/sayso/hooks/events"
HOOKS: dict[str, Any] = {
    "pay": {
        "provider": "stripe",
        "secrets": [SECRET],
        "correlation": {"order": "order"},
        "mode": "live",
    },
    "one": {
        "provider": "generic_hmac",
        "secrets": [SECRET],
        "event_type": "type",
        "event_id": "id",
        "correlation": {"order": "order"},
        "several": "exactlyOne",
    },
    "wrong": {
        "provider": "generic_hmac",
        "secrets": [SECRET],
        "event_type": "kind",
        "event_id": "id",
        "correlation": {"order": "order"},
    },
    "batch": {
        "provider": "gocardless",
        "secrets": [SECRET],
        "correlation": {"order": "links.payment"},
    },
    "tree": {
        "provider": "braintree",
        "secrets": [BT_SECRET],
        "correlation": {"order": "subject.subscription.id"},
    },
    "sms": {
        "provider": "twilio",
        "secrets": [TOKEN],
        "event_type": "MessageStatus",
        "correlation": {"order": "MessageSid"},
        "public_url": URL,
    },
    "cloud": {
        "provider": "cloudevents",
        "secrets": [TOKEN],
        "correlation": {"order": "subject"},
    },
    "grid": {
        "provider": "event_grid",
        "secrets": [TOKEN],
        "correlation": {"order": "subject"},
    },
}


@pytest.fixture
async def shop(start: Callable[..., Awaitable[Api]]) -> Api:
    return await start(hooks=HOOKS)


async def post(
    api: Api, source: str, body: bytes, headers: dict[str, str] | None = None, query: str = ""
) -> tuple[int, Any]:
    """Send what the source's provider would."""
    provider = HOOKS[source]["provider"]
    if headers is None:
        headers = sign(provider, HOOKS[source]["secrets"], body, now=time.time())
    headers = {"Content-Type": "application/json"} | headers
    async with api.session.post(
        f"{api.gateway.url}/hooks/{source}{query}", data=body, headers=headers
    ) as response:
        return response.status, await response.json()


def event(number: int, order: str = "", **more: Any) -> bytes:
    members = {"id": f"evt_{number}", "type": "paid", "order": order or str(number)}
    return json.dumps({**members, "livemode": True, **more}).encode()


def wait_for(order: str, kind: str = "paid", key: str = "k") -> dict[str, Any]:
    data = {"eventType": kind, "correlation": {"order": order}}
    return {"kind": "external-event", "key": key, "data": data}


async def ask(api: Api, payload: dict[str, Any]) -> str:
    record = await api.ask(await api.run(), payload)
    return str(record["interruptId"])


async def answer(api: Api, interrupt_id: str) -> dict[str, Any]:
    """The interrupt once it has ended."""
    _, record, _ = await api.call(
        "GET", f"/host/sayso/interrupts/{path_segment(interrupt_id)}?wait=20"
    )
    assert record["status"] == "resolved", record
    return dict(record)


async def listed(api: Api, **query: str) -> list[dict[str, Any]]:
    status, body, _ = await api.call("GET", f"{EVENTS}?{urlencode(query)}")
    assert status == 200, body
    return list(body["events"])


async def settled(api: Api, **query: str) -> list[dict[str, Any]]:
    """The listing once the worker has nothing to do."""
    async with asyncio.timeout(60):
        while await listed(api, state="due"):
            await asyncio.sleep(0)
    return await listed(api, **query)


# --- doors ----------------------------------------------------------------------------------------


async def test_one_request_with_many_events(shop: Api) -> None:
    waits = [await ask(shop, wait_for(f"PM{n}", "payments.confirmed")) for n in range(5)]
    events = [
        {"id": f"EV{n}", "resource_type": "payments", "action": "confirmed",
         "links": {"payment": f"PM{n}"}}
        for n in range(5)
    ]  # fmt: skip
    body = json.dumps({"events": events}).encode()
    assert await post(shop, "batch", body) == (200, {"status": "stored", "events": 5})
    assert await post(shop, "batch", body) == (200, {"status": "duplicate", "events": 5})
    for number, interrupt_id in enumerate(waits):
        assert (await answer(shop, interrupt_id))["resumeValue"]["id"] == f"EV{number}"
    assert await post(shop, "batch", b'{"events":[]}') == (200, {"status": "stored", "events": 0})


async def test_a_form_of_braintree_and_its_challenge(shop: Api) -> None:
    configured = braintree.Configuration(
        braintree.Environment.Sandbox, "m", public_key="pub_key", private_key="p" * 32
    )
    sdk = braintree.BraintreeGateway(configured)
    url = f"{shop.gateway.url}/hooks/tree"
    challenge = "20f9f8ed05f77439fe955c977e4c8a53"
    async with shop.session.get(f"{url}?bt_challenge={challenge}") as response:
        assert response.status == 200
        assert await response.text() == sdk.webhook_notification.verify(challenge)
    async with shop.session.get(f"{url}?bt_challenge=x") as response:
        assert response.status == 400
    interrupt_id = await ask(shop, wait_for("sub_1", "subscription_canceled"))
    form = sdk.webhook_testing.sample_notification("subscription_canceled", "sub_1")
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    status, said = await post(shop, "tree", urlencode(form).encode(), kind)
    assert (status, said) == (200, {"status": "stored"})
    assert (await answer(shop, interrupt_id))["resumeValue"]["kind"] == "subscription_canceled"


async def test_twilio_signs_the_configured_url_with_the_query_that_came(shop: Api) -> None:
    form = urlencode({"MessageStatus": "delivered", "MessageSid": "SM1"}).encode()
    scheme = PROVIDERS["twilio"].scheme
    sent = scheme.seal([TOKEN], form, now=0, message_id="", url=URL + "?a=%20b&c=1")
    assert (await post(shop, "sms", form, dict(sent.headers), "?a=%20b&c=1"))[0] == 200
    assert (await post(shop, "sms", form, dict(sent.headers), "?c=1&a=%20b"))[0] == 401
    forwarded = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    sent = scheme.seal([TOKEN], form, now=0, message_id="", url="https://evil.example/hooks/sms")
    assert (await post(shop, "sms", form, {**sent.headers, **forwarded}))[0] == 401


async def test_cloudevents_handshake_and_binary_mode(shop: Api) -> None:
    url = f"{shop.gateway.url}/hooks/cloud"
    asked = {"WebHook-Request-Origin": "events.example.com", "WebHook-Request-Rate": "120"}
    async with shop.session.options(url, headers=asked) as response:
        assert response.status == 200
        assert response.headers["WebHook-Allowed-Origin"] == "events.example.com"
    interrupt_id = await ask(shop, wait_for("7"))
    headers = {
        "Authorization": f"Bearer {TOKEN}", "ce-specversion": "1.0", "ce-id": "1",
        "ce-source": "/shop", "ce-type": "paid", "ce-subject": "7",
    }  # fmt: skip
    assert (await post(shop, "cloud", b'{"total":5}', headers))[0] == 200
    assert (await answer(shop, interrupt_id))["resumeValue"]["data"] == {"total": 5}
    assert (await post(shop, "cloud", b"{}", headers | {"Authorization": "Bearer x"}))[0] == 401


async def test_event_grid_is_validated_only_with_the_token(shop: Api) -> None:
    kind = "Microsoft.EventGrid.SubscriptionValidationEvent"
    asked = {"id": "v1", "topic": "/t", "eventType": kind, "data": {"validationCode": "512d38b6"}}
    body = json.dumps([asked]).encode()
    said = {"aeg-event-type": "SubscriptionValidation"}
    token = {"Authorization": f"Bearer {TOKEN}"}
    for wrong in ({}, {"Authorization": "Bearer of-some-other-token-at-all"}):
        status, answered = await post(shop, "grid", body, said | wrong)
        assert status == 401
        assert "512d38b6" not in json.dumps(answered)
    assert await post(shop, "grid", body, said | token) == (200, {"validationResponse": "512d38b6"})
    assert await listed(shop) == [], "a handshake is no event"
    interrupt_id = await ask(shop, wait_for("7"))
    paid = json.dumps([{"id": "1", "topic": "/t", "subject": "7", "eventType": "paid"}]).encode()
    note = {"aeg-event-type": "Notification"}
    assert await post(shop, "grid", paid, note | token) == (200, {"status": "stored"})
    assert await post(shop, "grid", paid, note | token) == (200, {"status": "duplicate"})
    assert (await answer(shop, interrupt_id))["resumeValue"]["id"] == "1"


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_other_doors_have_no_handshake(shop: Api, method: str) -> None:
    url = f"{shop.gateway.url}/hooks"
    async with shop.session.request(method, f"{url}/pay") as response:
        assert (response.status, response.headers["Allow"]) == (405, "POST")
    async with shop.session.request(method, f"{url}/nobody") as response:
        assert response.status == 404


# --- operators ------------------------------------------------------------------------------------


async def test_unmatched_late_and_duplicate_events_are_listed(shop: Api) -> None:
    first = await ask(shop, wait_for("1"))
    await post(shop, "pay", event(1))
    await answer(shop, first)
    await post(shop, "pay", event(2, "1"))
    await post(shop, "pay", event(3, "3"))
    await post(shop, "pay", event(3, "3"))
    found = {one["eventId"]: one["state"] for one in await settled(shop, source="pay")}
    assert found == {"evt_1": "applied", "evt_2": "late", "evt_3": "unmatched"}
    [late] = await listed(shop, state="late")
    assert late["correlation"] == {"order": "1"}
    [twice] = await listed(shop, state="duplicate")
    assert (twice["eventId"], twice["duplicates"]) == ("evt_3", 1)
    [applied] = await listed(shop, state="applied")
    assert applied["matched"] == [first]


async def test_a_test_event_ends_no_live_wait(shop: Api) -> None:
    interrupt_id = await ask(shop, wait_for("1"))
    assert await post(shop, "pay", event(1, livemode=False)) == (200, {"status": "stored"})
    [failed] = await settled(shop, state="failed")
    assert "a test event at a source for live events" in failed["error"]
    await post(shop, "pay", event(1))
    assert (await answer(shop, interrupt_id))["resumeValue"]["livemode"] is True


async def test_a_parked_event_is_matched_by_hand(shop: Api) -> None:
    waits = [await ask(shop, wait_for("7")) for _ in range(2)]
    await post(shop, "one", event(1, "7"))
    [parked] = await settled(shop, state="parked")
    assert "2 waits match" in parked["error"]
    path = f"{EVENTS}/one/evt_1/match"
    status, said, _ = await shop.call("POST", path, {"interruptId": waits[1]})
    assert (status, said) == (
        200,
        {"source": "one", "eventId": "evt_1", "interruptId": waits[1]},
    )
    assert (await answer(shop, waits[1]))["resumeValue"]["id"] == "evt_1"
    status, said, _ = await shop.call("POST", path, {"interruptId": waits[0]})
    assert (status, said["error"]) == (409, "interrupt_already_resolved")
    _, record, _ = await shop.call("GET", f"/host/sayso/interrupts/{path_segment(waits[0])}")
    assert record["status"] == "open"


async def test_of_many_hands_one_matches(shop: Api) -> None:
    waits = [await ask(shop, wait_for("other", key=f"k{n}")) for n in range(6)]
    await post(shop, "pay", event(1, "nobody"))
    await settled(shop)
    path = f"{EVENTS}/pay/evt_1/match"
    answers = await asyncio.gather(
        *(shop.call("POST", path, {"interruptId": one}) for one in waits)
    )
    assert sorted(status for status, _, _ in answers) == [200] + [409] * 5
    [applied] = await listed(shop, state="applied")
    assert len(applied["matched"]) == 1


async def test_what_cannot_be_matched_by_hand(shop: Api) -> None:
    await post(shop, "wrong", event(1))
    await post(shop, "pay", event(2))
    [failed] = await settled(shop, state="failed")
    external = await ask(shop, wait_for("other"))
    approval = (await shop.ask(await shop.run()))["interruptId"]
    strict = wait_for("strict") | {"resumeSchema": {"type": "object", "required": ["total"]}}
    refusing = await ask(shop, strict)
    name = quote(failed["eventId"], safe="")
    for path, interrupt_id, status, error in (
        (f"wrong/{name}", external, 400, "validation_error"),
        ("pay/evt_2", approval, 400, "validation_error"),
        ("pay/evt_2", refusing, 400, "validation_error"),
        ("pay/evt_2", "other/0123456789abcdef", 403, "id_tenant_mismatch"),
        ("pay/evt_2", "acme/0123456789abcdef", 404, "not_found"),
        ("pay/evt_9", external, 404, "not_found"),
        ("nobody/evt_2", external, 404, "not_found"),
    ):
        got, said, _ = await shop.call(
            "POST", f"{EVENTS}/{path}/match", {"interruptId": interrupt_id}
        )
        assert (got, said["error"]) == (status, error), (path, interrupt_id, said)
    # A refusal gives the event up again: it can still be matched with another.
    status, _, _ = await shop.call("POST", f"{EVENTS}/pay/evt_2/match", {"interruptId": external})
    assert status == 200


async def test_a_mapping_is_corrected_and_the_event_replayed(
    start: Callable[..., Awaitable[Api]], tmp_path: Any
) -> None:
    folder = {"data_dir": tmp_path / "kept"}
    before = await start(hooks=HOOKS, **folder)
    body = event(5)
    await post(before, "wrong", body)
    [failed] = await settled(before, state="failed")
    assert failed["eventId"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
    assert "event_type: nothing at 'kind'" in failed["error"]
    path = f"{EVENTS}/wrong/{quote(failed['eventId'], safe='')}/replay"
    status, said, _ = await before.call("POST", path)
    assert (status, said["state"]) == (200, "due")
    assert len(await settled(before, state="failed")) == 1  # nothing was corrected
    await before.gateway.stop()
    fixed = {**HOOKS, "wrong": {**HOOKS["wrong"], "event_type": "type"}}
    after = await start(hooks=fixed, **folder)
    interrupt_id = await ask(after, wait_for("5"))
    status, said, _ = await after.call("POST", path)
    assert (status, said) == (200, {"source": "wrong", "eventId": "evt_5", "state": "due"})
    assert (await answer(after, interrupt_id))["resumeValue"]["id"] == "evt_5"
    # What the provider repeats is known now by its own id, and a second replay finds nothing to do.
    assert await post(after, "wrong", body) == (200, {"status": "duplicate"})
    status, said, _ = await after.call("POST", path)
    assert (status, said["error"]) == (409, "interrupt_already_resolved")


async def test_operators_need_the_scope_and_see_their_tenant(shop: Api) -> None:
    await post(shop, "pay", event(1))
    await settled(shop)
    paths = [("GET", EVENTS), *(("POST", f"{EVENTS}/pay/evt_1/{a}") for a in ("match", "replay"))]
    body = {"interruptId": "other/0123456789abcdef"}
    for method, path in paths:
        sent = None if method == "GET" or path.endswith("replay") else body
        status, _, _ = await shop.call(method, path, sent, key="read-key-0123456789")
        assert status == 403
        status, said, _ = await shop.call(method, path, sent, key="alien-key-123456789")
        assert said.get("events") == [] if method == "GET" else status == 404


@pytest.mark.parametrize(
    "query",
    ["state=lost", "state=", "limit=0", "limit=1001", "limit=x", "source=a/b", "source=",
     "cursor=%21", "cursor=", "cursor=e30", "cursor=" + "A" * 3000],
)  # fmt: skip
async def test_wrong_questions(shop: Api, query: str) -> None:
    status, said, _ = await shop.call("GET", f"{EVENTS}?{query}")
    assert (status, said["error"]) == (400, "validation_error")


async def test_pages_follow_each_other(shop: Api) -> None:
    for number in range(5):
        await post(shop, "pay", event(number))
    seen: list[str] = []
    cursor = ""
    while True:
        _, page, _ = await shop.call("GET", f"{EVENTS}?limit=2{cursor}")
        seen += [one["eventId"] for one in page["events"]]
        if "nextCursor" not in page:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert sorted(seen) == [f"evt_{n}" for n in range(5)]


# --- exactly once ---------------------------------------------------------------------------------


async def test_a_thousand_events_three_times_in_any_order(shop: Api) -> None:
    """Half of the waits come before their events, half after; every one ends once, and none is lost."""
    count, rng = 1000, random.Random(20260101)
    run = await shop.run()
    stripe = HOOKS["pay"]["secrets"][0]

    async def wait(number: int) -> None:
        record = await shop.ask(run, wait_for(str(number), key=f"k{number}"), node=f"n{number}")
        waits[number] = record["interruptId"]

    async def send(number: int) -> None:
        body, stamp = event(number), int(time.time())
        mac = hmac.digest(stripe.encode(), f"{stamp}.".encode() + body, "sha256").hex()
        status, said = await post(shop, "pay", body, {"Stripe-Signature": f"t={stamp},v1={mac}"})
        assert status == 200, said
        answers.append(said["status"])

    waits: dict[int, str] = {}
    answers: list[str] = []
    early = [("wait", n) for n in range(0, count, 2)]
    rest = [("wait", n) for n in range(1, count, 2)] + [("event", n) for n in range(count)] * 3
    rng.shuffle(early)
    rng.shuffle(rest)
    work = iter([*early, *rest])

    async def worker() -> None:
        for what, number in work:
            await (wait(number) if what == "wait" else send(number))

    await asyncio.gather(*(worker() for _ in range(32)))
    assert sorted(answers) == ["duplicate"] * 2 * count + ["stored"] * count
    for number in range(count):
        record = await answer(shop, waits[number])
        assert record["resumeValue"]["id"] == f"evt_{number}"
    assert await settled(shop, state="unmatched") == []
    store = shop.gateway.host.store
    log: list[Any] = []
    while page := await store.log.events(run.replace("~2F", "/"), len(log) - 1, 1000):
        log += page
    resolved = [e.payload["interruptId"] for e in log if e.type == "interrupt.resolved"]
    assert len(resolved) == count
    assert set(resolved) == set(waits.values())
    applied = 0
    for number in range(count):
        found = await store.shelf.get("pay", f"evt_{number}")
        assert found is not None
        assert (found.matched, found.duplicates) == ((waits[number],), 2)
        applied += found.state == "applied"
    assert applied == count
