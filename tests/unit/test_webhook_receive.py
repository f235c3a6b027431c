"""Verified bodies: strict JSON, the mapping, and what becomes of what can't be mapped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.channel import InboundEvent
from adapters.webhooks import receive as receiving
from adapters.webhooks.receive import (
    UNMAPPED,
    MappingFailed,
    digest,
    normalise,
    receive_again,
    receive_all,
    unmapped,
)
from adapters.webhooks.settings import HookSource
from adapters.webhooks.strict_json import parse

SECRET = "whsec_a_secret_of_decent_length"
EVENT: dict[str, Any] = {
    "id": "evt_1",
    "type": "checkout.session.completed",
    "data": {"object": {"metadata": {"order": " 4711 "}, "amount": 12.50, "livemode": True}},
}
BODY = json.dumps(EVENT).encode()


def source(**changes: Any) -> HookSource:
    settings: dict[str, Any] = {
        "id": "stripe-live",
        "provider": "stripe",
        "secrets": [SECRET],
        "correlation": {"order": "data.object.metadata.order"},
    }
    return HookSource.build(**(settings | changes))


def receive(hook: HookSource, headers: dict[str, str], body: bytes) -> InboundEvent:
    """The one event of a body. Raises `MappingFailed`."""
    try:
        event = parse(body)
    except ValueError:
        [found] = receive_all(hook, headers, body)
        assert not found.mapped
        payload = found.event.payload
        raise MappingFailed(payload["key"], payload["reason"], payload["event"]) from None
    visible = {name: value for name, value in headers.items() if name in hook.headers}
    return receiving.receive(hook, visible, event, body)


def failure(hook: HookSource, body: bytes, headers: dict[str, str] | None = None) -> MappingFailed:
    with pytest.raises(MappingFailed) as failed:
        receive(hook, headers or {}, body)
    return failed.value


def test_a_mapped_event() -> None:
    event = receive(source(), {}, BODY)
    assert event.event_id == "evt_1"
    assert event.event_type == "checkout.session.completed"
    assert event.correlation == {"order": "4711"}
    assert event.payload == EVENT
    assert event.raw == BODY


def test_a_payload_expression_shapes_the_resume_value() -> None:
    hook = source(payload="{order: data.object.metadata.order, paid: data.object.amount}")
    assert receive(hook, {}, BODY).payload == {"order": " 4711 ", "paid": 12.5}


def test_correlation_keys_without_a_value_are_left_out() -> None:
    hook = source(
        correlation={
            "order": "data.object.metadata.order",
            "live": "data.object.livemode",
            "amount": "data.object.amount",
            "nothing": "data.object.metadata.absent",
        }
    )
    assert receive(hook, {}, BODY).correlation == {
        "order": "4711",
        "live": "true",
        "amount": "12.5",
    }


def test_a_source_without_correlation_maps_to_none() -> None:
    assert receive(source(correlation={}), {}, BODY).correlation == {}


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"event_type": "kind"}, "event_type", "nothing at 'kind'"),
        ({"event_type": "data"}, "event_type", "object or a list"),
        ({"event_id": "nope"}, "event_id", "nothing at 'nope'"),
        ({"payload": "nope"}, "payload", "nothing at 'nope'"),
        ({"correlation": {"a": "x", "b": "y"}}, "correlation", "a ('x'), b ('y')"),
        ({"correlation": {"a": "data"}}, "correlation.a", "object or a list"),
        (
            {"correlation": {"a": "length(data.object.amount)"}},
            "correlation.a",
            "JMESPathTypeError",
        ),
        ({"correlation": {"a": "join(type)"}}, "correlation.a", "Error"),
    ],
)
def test_a_mapping_that_yields_nothing_says_which_key(
    changes: dict[str, Any], key: str, says: str
) -> None:
    failed = failure(source(**changes), BODY)
    assert failed.key == key
    assert says in failed.reason
    assert failed.event == EVENT


def test_reasons_quote_nothing_of_the_event() -> None:
    body = json.dumps({"id": "evt", "type": "t", "card": "4242-SECRET"}).encode()
    failed = failure(source(correlation={"a": "abs(card)"}), body)
    assert "4242" not in str(failed)


def test_nobody_forges_an_event_of_ours() -> None:
    body = json.dumps(EVENT | {"type": UNMAPPED}).encode()
    assert failure(source(), body).key == "event_type"


def test_an_unmapped_event_keeps_everything_an_operator_needs() -> None:
    hook = source(correlation={"a": "x"})
    event = unmapped(BODY, failure(hook, BODY))
    assert event.event_type == UNMAPPED
    assert event.event_id == digest(BODY)
    assert event.correlation == {}
    assert event.payload["key"] == "correlation"
    assert event.payload["event"] == EVENT
    assert event.raw == BODY


def github(**changes: Any) -> HookSource:
    return source(
        id="forge",
        provider="github",
        correlation={"pr": "pull_request.number"},
        **changes,
    )


def test_github_takes_its_type_from_the_header_and_its_id_from_the_body() -> None:
    body = b'{"action":"closed","pull_request":{"number":7}}'
    headers = {"x-github-event": "pull_request", "x-github-delivery": "chosen-by-a-stranger"}
    event = receive(github(), headers, body)
    assert (event.event_type, event.correlation) == ("pull_request", {"pr": "7"})
    again = receive(github(), headers | {"x-github-delivery": "another"}, body)
    assert event.event_id == again.event_id == digest(body)
    assert failure(github(), body).key == "event_type"


def test_a_type_may_be_put_together() -> None:
    hook = github(event_type="join('.', [header('X-GitHub-Event'), action])")
    headers = {"x-github-event": "pull_request"}
    body = b'{"action":"closed","pull_request":{"number":7}}'
    assert receive(hook, headers, body).event_type == "pull_request.closed"


def test_only_the_providers_headers_can_be_read() -> None:
    with pytest.raises(ValueError, match=r"event_type: header 'authorization'"):
        github(event_type="header('authorization')")
    with pytest.raises(ValueError, match="one name in single quotes"):
        github(event_type="header(action)")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"payload=%7B%7D", "not JSON"),
        (b'{"a":1}x', "not JSON"),
        (b'\xef\xbb\xbf{"a":1}', "not JSON"),
        (b"\xff\xfe{", "not UTF-8"),
        (b'{"a":1,"a":1}', "same key twice"),
        (b'[{"b":{"a":1,"a":2}}]', "same key twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":1e400}', "too large"),
        (b'{"a":-1e400}', "too large"),
        (b'{"a":18446744073709551616}', "64 bits"),
        (b'{"a":' + b"9" * 5000 + b"}", "64 bits"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"\\udfff":1}', "surrogate"),
        (b"[" * 65 + b"]" * 65, "64 deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "64 deep"),
        (b"[" * 200_000, "64 deep"),
    ],
)
def test_strict_json(body: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(body)
    failed = failure(source(), body)
    assert failed.key == "body"
    assert unmapped(body, failed).payload["event"] is None


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a":18446744073709551615}', {"a": 2**64 - 1}),
        (b'{"a":-9223372036854775808}', {"a": -(2**63)}),
        (b"[" * 64 + b"]" * 64, None),
        (b'"\\ud83d\\ude00"', "😀"),
        (b" 1 ", 1),
    ],
)
def test_what_strict_json_lets_through(body: bytes, value: Any) -> None:
    assert value is None or parse(body) == value
    assert parse(body) is not None


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(), st.lists))
def test_parse_is_the_inverse_of_dumps(value: Any) -> None:
    assert parse(json.dumps(value).encode()) == value


@given(st.binary(max_size=300))
def test_any_bytes_are_mapped_or_kept(body: bytes) -> None:
    assert failure(source(), body).key in {"body", "event_type"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("", None),
        ("  ", None),
        (" Order-7 ", "Order-7"),
        ("007", "007"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (12345678901234567890, "12345678901234567890"),
        (1.0, "1"),
        (-0.0, "0"),
        (12.50, "12.5"),
        (1e3, "1000"),
        (1e22, "10000000000000000000000"),
        (0.1, "0.1"),
    ],
)
def test_normalise(value: Any, text: str | None) -> None:
    assert normalise(value) == text


@pytest.mark.parametrize("value", [[], {}, ["a"], "a\nb", "a\x00b", "x" * 513])
def test_normalise_refuses(value: Any) -> None:
    with pytest.raises(ValueError):
        normalise(value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"id": "a/b"}, "id:"),
        ({"id": ""}, "id:"),
        ({"tenant": ""}, "tenant:"),
        ({"provider": "strype"}, "no provider 'strype'"),
        ({"secrets": []}, "secrets:"),
        ({"secrets": "a-single-string"}, "secrets:"),
        ({"secrets": ["x" * 9] * 9}, "secrets:"),
        ({"secrets": [SECRET, "short"]}, r"secrets\[1\]"),
        ({"max_body": 0}, "max_body:"),
        ({"max_body": 1 << 30}, "max_body:"),
        ({"tolerance": 0}, "tolerance:"),
        ({"tolerance": float("nan")}, "tolerance:"),
        ({"tolerance": 1e9}, "tolerance:"),
        ({"event_type": "a.["}, "event_type: not a JMESPath expression"),
        ({"event_type": "  "}, "event_type: the expression is empty"),
        ({"payload": "a" * 513}, "payload: the expression has more than 512"),
        ({"event_id": "nope(a)"}, "event_id: no JMESPath function 'nope'"),
        ({"correlation": {"order": "@["}}, r"correlation\.order: not a JMESPath"),
        ({"correlation": {"": "a"}}, "correlation:"),
        ({"correlation": {str(n): "a" for n in range(17)}}, "correlation:"),
        ({"signature": {"header": "X-Sig"}}, "scheme of stripe is fixed"),
        ({"provider": "bearer", "secrets": ["t" * 32], "tolerance": 9}, "signs no time"),
        ({"provider": "square"}, "public_url: square signs the URL"),
        ({"provider": "square", "public_url": "hooks/x"}, "public_url: an absolute"),
        ({"provider": "github", "mode": "live"}, "mode: events of github"),
        ({"provider": "generic_hmac"}, "event_type: the expression is empty"),
        ({"provider": "generic_hmac", "signature": {"colour": "x"}}, r"signature\.colour"),
        ({"provider": "generic_hmac", "signature": {"encoding": "rot13"}}, "one of hex, base64"),
        ({"provider": "generic_hmac", "signature": {"header": " "}}, "may not be empty"),
        ({"provider": "generic_hmac", "signature": {"separator": ""}}, "may not be empty"),
        ({"provider": "generic_hmac", "signature": {"timestamp_key": "t"}}, "leaves out"),
    ],
)
def test_a_source_that_cannot_work_is_refused_when_it_is_built(
    changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        source(**changes)
    assert str(refused.value).startswith("webhook source ")
    assert SECRET not in str(refused.value)


def test_a_deep_expression_is_an_error_too() -> None:
    with pytest.raises(ValueError, match="event_type"):
        source(event_type="!" * 511 + "(")


def test_a_generic_source_says_how_it_is_signed() -> None:
    hook = source(
        provider="generic_hmac",
        event_type="kind",
        signature={
            "header": "X-Acme-Signature",
            "signature_key": "s",
            "timestamp_key": "t",
            "base": "{timestamp}.{body}",
            "encoding": "base64",
        },
        tolerance=60,
    )
    assert hook.scheme.header == "X-Acme-Signature"
    assert hook.scheme.timed
    assert hook.scheme.tolerance == 60.0


def test_secrets_are_not_in_the_repr() -> None:
    assert SECRET not in repr(source())


# --- live and test ---------------------------------------------------------------------------------


def stripe_event(**members: Any) -> bytes:
    return json.dumps({**EVENT, **members}).encode()


@pytest.mark.parametrize(
    ("wanted", "members", "says"),
    [
        ("live", {"livemode": True}, ""),
        ("test", {"livemode": False}, ""),
        ("", {"livemode": False}, ""),
        ("", {}, ""),
        ("live", {"livemode": False}, "a test event at a source for live events"),
        ("test", {"livemode": True}, "a live event at a source for test events"),
        ("live", {}, "nothing at"),
        ("live", {"livemode": "perhaps"}, "neither live nor test"),
        ("test", {"livemode": None}, "nothing at"),
    ],
)
def test_test_and_live_cannot_cross(wanted: str, members: dict[str, Any], says: str) -> None:
    [found] = receive_all(source(mode=wanted), {}, stripe_event(**members))
    assert found.mapped == (not says)
    if says:
        assert found.event.event_type == UNMAPPED
        assert found.event.payload["key"] == "mode"
        assert says in found.event.payload["reason"]


# --- mapped again ----------------------------------------------------------------------------------


def test_what_was_kept_can_be_mapped_again_with_its_headers() -> None:
    body = b'{"action":"closed","pull_request":{"number":7}}'
    headers = {"x-github-event": "pull_request", "authorization": "not kept"}
    [wrong] = receive_all(github(event_type="nothing"), headers, body)
    assert not wrong.mapped
    assert wrong.event.headers == {"x-github-event": "pull_request"}
    again = receive_again(github(), wrong.event.headers, wrong.event.raw)
    assert again.mapped
    assert (again.event.event_type, again.event.correlation) == ("pull_request", {"pr": "7"})


def test_what_cannot_be_read_is_kept_again() -> None:
    again = receive_again(source(), {}, b"not json")
    assert not again.mapped
    assert again.event.payload["key"] == "body"
