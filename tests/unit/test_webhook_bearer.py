"""Providers that show a token: bearer, CloudEvents, Event Grid; and Mollie's notices."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.webhooks.providers import PROVIDERS
from tests.unit.hook_world import (
    BEARER,
    build,
    events,
    reason,
)


@pytest.mark.parametrize("name", ["bearer", "cloudevents"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"Bearer {BEARER}", ""),
        (f"bearer  {BEARER}", ""),
        (f"Bearer {BEARER}x", "mismatch"),
        (f"Bearer {BEARER[:-1]}", "mismatch"),
        ("Bearer é", "mismatch"),
        (f"Basic {BEARER}", "missing"),
        (BEARER, "missing"),
        ("Bearer", "missing"),
        ("", "missing"),
    ],
)
def test_bearer_tokens(name: str, value: str, expected: str) -> None:
    assert reason(name, (BEARER,), {"Authorization": value}, b"") == expected
    assert reason(name, (), {"Authorization": f"Bearer {BEARER}"}, b"") == "mismatch"


CLOUD = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.paid"}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (
            {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "%2Fshop", "ce-type": "order.paid",
             "content-type": "application/json"},
            b'{"order":"7"}',
        ),
        ({"content-type": "application/cloudevents+json; charset=utf-8"},
         json.dumps(CLOUD | {"data": {"order": "7"}}).encode()),
        ({"content-type": "application/cloudevents-batch+json"},
         json.dumps([CLOUD | {"data": {"order": "7"}}]).encode()),
    ],
    ids=["binary", "structured", "batch"],
)  # fmt: skip
def test_cloudevents_in_their_three_modes(headers: dict[str, str], body: bytes) -> None:
    hook = build("cloudevents", BEARER, correlation={"order": "data.order"})
    [found] = events(hook, body, headers)
    assert found.mapped, found.event.payload
    assert (found.event.event_id, found.event.event_type) == ("/shop 1", "order.paid")
    assert found.event.correlation == {"order": "7"}


@pytest.mark.parametrize(
    ("headers", "body", "says"),
    [
        ({"content-type": "application/json"}, b"{}", "ce- headers"),
        ({"content-type": "application/cloudevents+json"}, b"{}", "has no id"),
        ({"content-type": "application/cloudevents+json"}, b"[]", "is not an object"),
        ({"content-type": "application/cloudevents-batch+json"}, b"{}", "is not a list"),
        ({"content-type": "application/cloudevents+json"},
         json.dumps(CLOUD | {"specversion": "0.3"}).encode(), "specversion 1.0"),
    ],
)  # fmt: skip
def test_what_is_no_cloudevent_is_kept_unmapped(
    headers: dict[str, str], body: bytes, says: str
) -> None:
    [found] = events(build("cloudevents", BEARER), body, headers)
    assert says in found.event.payload["reason"]


def test_cloudevents_handshake() -> None:
    greeting = PROVIDERS["cloudevents"].greeting
    assert greeting is not None
    answer = greeting.answer([BEARER], {}, {"webhook-request-origin": "events.example.com"})
    assert answer is not None
    assert answer.headers["WebHook-Allowed-Origin"] == "events.example.com"
    assert greeting.answer([BEARER], {}, {}) is None
    assert greeting.answer([BEARER], {}, {"webhook-request-origin": "a b\r\nx"}) is None


GRID = {
    "id": "2d1781af",
    "topic": "/subscriptions/s/resourceGroups/g",
    "subject": "7",
    "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent",
    "data": {"validationCode": "512d38b6", "validationUrl": "https://rp.eventgrid.example/v?id=1"},
    "eventTime": "2026-01-25T22:12:19Z",
    "metadataVersion": "1",
    "dataVersion": "1",
}
VALIDATION = {"aeg-event-type": "SubscriptionValidation"}


def handshake(headers: dict[str, str], body: bytes) -> Any:
    answer = PROVIDERS["event_grid"].handshake
    assert answer is not None
    return answer(headers, body)


def test_event_grid_validation_is_answered_with_its_code() -> None:
    body = json.dumps([GRID]).encode()
    assert handshake(VALIDATION, body) == {"validationResponse": "512d38b6"}
    assert handshake({"aeg-event-type": "Notification"}, body) is None
    assert handshake({}, body) is None


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b"7", b"null", b"[7]", b"[[]]", json.dumps([GRID, GRID]).encode(),
     json.dumps([GRID | {"data": {"validationCode": 7}}]).encode(),
     json.dumps([GRID | {"data": {"validationCode": "x" * 513}}]).encode(),
     json.dumps([GRID | {"data": None}]).encode(),
     json.dumps([GRID | {"eventType": "Other"}]).encode()],
)  # fmt: skip
def test_what_only_says_that_it_is_a_validation_is_none(body: bytes) -> None:
    assert handshake(VALIDATION, body) is None


GRID_LIKE = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["eventType", "data", "validationCode"]), inner)
    ),
)


@given(st.binary(max_size=200) | GRID_LIKE.map(lambda value: json.dumps(value).encode()))
def test_no_body_makes_the_handshake_raise(body: bytes) -> None:
    assert handshake(VALIDATION, body) is None


def test_event_grid_events_are_told_apart_by_topic_and_id() -> None:
    hook = build("event_grid", BEARER, correlation={"order": "subject"})
    one = GRID | {"eventType": "Microsoft.Storage.BlobCreated"}
    body = json.dumps([one, one | {"topic": "/other"}, 7]).encode()
    first, other, wrong = events(hook, body)
    assert first.event.event_id == "/subscriptions/s/resourceGroups/g 2d1781af"
    assert first.event.event_type == "Microsoft.Storage.BlobCreated"
    assert other.event.event_id == "/other 2d1781af"
    assert (first.mapped, other.mapped, wrong.mapped) == (True, True, False)
    [wrong] = events(hook, b"{}")
    assert "is not a list" in wrong.event.payload["reason"]


MOLLIE_LIKE = st.from_regex(r"\Aid=(tr|ord|sub)_[A-Za-z0-9]{0,70}[/%.]?\Z")


@given(st.binary(max_size=120) | MOLLIE_LIKE.map(str.encode))
def test_a_mollie_notice_names_a_plain_path_or_nothing(body: bytes) -> None:
    lookup = PROVIDERS["mollie_classic"].lookup
    assert lookup is not None
    try:
        asked = lookup.read(body)
    except ValueError:
        return
    assert re.fullmatch(r"/v2/(payments|orders)/(tr|ord)_[A-Za-z0-9]{4,64}", asked.path)
    assert body == f"id={asked.id}".encode()


def test_a_refund_is_an_event_for_who_wants_it() -> None:
    """The expression of the provider's page."""
    said = "join(':', [id, status, amountRefunded.value || '0', amountChargedBack.value || '0'])"
    hook = build("mollie_classic", "live_" + "k" * 30, event_id=said)
    paid = {"resource": "payment", "id": "tr_1", "status": "paid"}
    refunded = paid | {"amountRefunded": {"value": "5.00", "currency": "EUR"}}
    found = [events(hook, json.dumps(one).encode())[0].event.event_id for one in (paid, refunded)]
    assert found == ["tr_1:paid:0:0", "tr_1:paid:5.00:0"]
