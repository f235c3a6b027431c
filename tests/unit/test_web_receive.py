"""A form post becomes a response, or is refused, and never anything in between."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.channel import Visitor
from adapters.views import Action, Choice, Field, Form, Person
from adapters.web import nonces, receive
from adapters.web.nonces import FormSeal, NonceRefused, browser_cookie
from adapters.web.settings import WebSettings, is_loopback

SECRET = b"s" * 32
PUBLIC = WebSettings("https://sayso.example.com/x", SECRET, ("https://other.example.com",))
LOCAL = WebSettings("http://127.0.0.1:8080", SECRET)
VISITOR = Visitor("intr-1", Person("web", "p1"), "handle")


def parse(**members: str) -> receive.Submission:
    return receive.parse_submission(urlencode({"action": "accept", **members}).encode())


@pytest.mark.parametrize(
    ("settings", "origins", "sites", "host", "allowed"),
    [
        (PUBLIC, ["https://sayso.example.com"], [], "sayso.example.com", True),
        (PUBLIC, ["https://other.example.com"], [], "other.example.com", True),
        (PUBLIC, ["null"], ["same-origin"], "sayso.example.com", True),
        (PUBLIC, [], ["same-origin"], "sayso.example.com", True),
        (PUBLIC, [], [], "sayso.example.com", False),
        (PUBLIC, ["null"], [], "sayso.example.com", False),
        (PUBLIC, ["null"], ["same-site"], "sayso.example.com", False),
        (PUBLIC, ["null"], ["cross-site"], "sayso.example.com", False),
        (PUBLIC, ["null"], ["none"], "sayso.example.com", False),
        (PUBLIC, [], ["same-origin", "cross-site"], "sayso.example.com", False),
        (PUBLIC, ["https://evil.example"], ["same-origin"], "sayso.example.com", False),
        (PUBLIC, ["http://sayso.example.com"], [], "sayso.example.com", False),
        (PUBLIC, ["https://sayso.example.com.evil.example"], [], "sayso.example.com", False),
        (PUBLIC, ["https://sayso.example.com", "https://evil.example"], [], "x", False),
        (PUBLIC, ["http://evil.example"], [], "evil.example", False),
        (LOCAL, ["http://127.0.0.1:8080"], [], "127.0.0.1:8080", True),
        (LOCAL, ["http://localhost:9000"], [], "localhost:9000", True),
        (LOCAL, ["http://[::1]:9000"], [], "[::1]:9000", True),
        (LOCAL, ["http://localhost:9001"], [], "localhost:9000", False),
        (LOCAL, ["http://rebound.example:8080"], [], "rebound.example:8080", False),
    ],
)
def test_only_our_own_pages_may_post(
    settings: WebSettings, origins: list[str], sites: list[str], host: str, allowed: bool
) -> None:
    assert receive.from_our_page(origins, sites, host, settings) is allowed


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"action=approve",
        b"action=accept&action=reject",
        b"nonce=a&nonce=b&action=accept",
        b"action=accept&v.f0=%ff",
        b"action=accept&v.f0=\xc3\xa4",
        b"action=accept" + b"&v.f0=" * (receive.MAX_MEMBERS + 1),
    ],
)
def test_a_damaged_form_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="the form"):
        receive.parse_submission(body)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        read = receive.parse_submission(body)
    except ValueError:
        return
    assert read.action in {"accept", "reject", "refine", "edit-accept", "ask", "answer"}


def test_values_reach_the_form_as_it_wants_them() -> None:
    form = Form(
        "t",
        (
            Field("f0", ("a",), "A", "choices", choices=(Choice("x", "X"), Choice("y", "Y"))),
            Field("f1", ("b",), "B", "datetime"),
            Field("f2", ("c",), "C", "datetime"),
            Field("f3", ("d",), "D", "longtext"),
        ),
    )
    body = urlencode(
        [
            ("action", "answer"),
            ("v.f0", "1"),
            ("v.f0", "0"),
            ("v.f1", "2026-11-29T19:30"),
            ("v.f2", "2026-11-29T19:30:15"),
            ("v.f3", "one\r\ntwo"),
            ("v.unknown", "x"),
        ]
    )
    assert receive.raw_values(form, receive.parse_submission(body.encode())) == {
        "f0": ["1", "0"],
        "f1": "2026-11-29T19:30:00Z",
        "f2": "2026-11-29T19:30:15Z",
        "f3": "one\ntwo",
    }


def test_a_response_says_who_what_and_which_version() -> None:
    form = Form("t", (Field("f0", ("feedback",), "Why?", "longtext"),))
    submission = parse(**{"action": "reject", "v.f0": "too much"})
    read = receive.read_response(
        submission,
        visitor=VISITOR,
        action=Action("reject", "Reject"),
        form=form,
        nonce_id="n",
        version=7,
    )
    assert read.errors == {}
    assert read.response is not None
    assert read.response.value == {"feedback": "too much"}
    assert (read.response.action, read.response.version) == ("reject", 7)
    assert (read.response.person, read.response.token) == (VISITOR.person, "")


def test_a_bearer_token_in_the_link_goes_along_and_stays_out_of_the_log() -> None:
    visitor = Visitor("intr-1", Person("web", "p1"), "ow2.hs256.k.payload.mac")
    read = receive.read_response(
        parse(), visitor=visitor, action=None, form=None, nonce_id="n", version=1
    )
    assert read.response is not None
    assert read.response.token == "ow2.hs256.k.payload.mac"
    assert "payload" not in repr(read)


@pytest.mark.parametrize(("posted", "counts"), [({}, False), ({"confirmed": "yes"}, True)])
def test_high_risk_counts_only_when_confirmed(posted: dict[str, str], counts: bool) -> None:
    read = receive.read_response(
        parse(**posted),
        visitor=VISITOR,
        action=Action("accept", "Approve", confirm="I checked the amount."),
        form=None,
        nonce_id="n",
        version=1,
    )
    assert (read.response is not None) is counts
    assert (receive.CONFIRMED in read.errors) is not counts


def test_one_press_has_one_key() -> None:
    first, same = parse(**{"v.f0": "a"}), parse(**{"v.f0": "a"})
    assert receive.dedupe_key("n", first) == receive.dedupe_key("n", same)
    others = [
        receive.dedupe_key("m", first),
        receive.dedupe_key("n", parse(**{"v.f0": "b"})),
        receive.dedupe_key("n", parse(**{"action": "reject", "v.f0": "a"})),
    ]
    assert receive.dedupe_key("n", first) not in others
    assert len(set(others)) == 3


def test_a_nonce_opens_for_its_link_and_browser_alone() -> None:
    seal = FormSeal(SECRET)
    nonce = seal.issue("handle", "cookie", 5)
    assert seal.open(nonce, "handle", "cookie").version == 5
    assert seal.open(seal.issue("handle", "cookie", 5), "handle", "cookie") != seal.open(
        nonce, "handle", "cookie"
    )
    cases = [
        (nonce, "other", "cookie", "foreign"),
        (nonce, "handle", "other", "foreign"),
        (nonce[:-1] + ("A" if nonce[-1] != "A" else "B"), "handle", "cookie", "foreign"),
        (FormSeal(b"t" * 32).issue("handle", "cookie", 5), "handle", "cookie", "foreign"),
        (seal.note("handle", "x"), "handle", "cookie", "foreign"),
        ("x" * 10_000, "handle", "cookie", "foreign"),
        ("", "handle", "cookie", "missing"),
        (nonce, "handle", "", "missing"),
    ]
    for given_nonce, handle, cookie, why in cases:
        with pytest.raises(NonceRefused) as refused:
            seal.open(given_nonce, handle, cookie)
        assert refused.value.why == why


def test_a_nonce_ages_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from itsdangerous import TimestampSigner

    seal = FormSeal(SECRET)
    born = TimestampSigner("x").get_timestamp()
    nonce, note = seal.issue("handle", "cookie", 1), seal.note("handle", "Recorded.")
    for later, alive in [(nonces.MAX_AGE - 5, True), (nonces.MAX_AGE + 5, False)]:
        monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _, at=born + later: at)
        if alive:
            assert seal.open(nonce, "handle", "cookie").version == 1
        else:
            with pytest.raises(NonceRefused) as refused:
                seal.open(nonce, "handle", "cookie")
            assert refused.value.why == "aged"
            # Somebody else's stays foreign, however old.
            with pytest.raises(NonceRefused) as refused:
                seal.open(nonce, "handle", "other")
            assert refused.value.why == "foreign"
    assert seal.read_note(note, "handle") == ""


def test_a_note_is_read_on_its_own_page_alone() -> None:
    seal = FormSeal(SECRET)
    note = seal.note("handle", "Recorded.")
    assert seal.read_note(note, "handle") == "Recorded."
    assert seal.read_note(note, "other") == ""
    assert seal.read_note("nonsense", "handle") == ""
    assert seal.read_note(seal.issue("handle", "c", 1), "handle") == ""


def test_a_good_cookie_is_kept_and_any_other_replaced() -> None:
    made, fresh = browser_cookie(None)
    assert fresh
    assert browser_cookie(made) == (made, False)
    for bad in ["", "short", "x" * 65, "ä" * 40, "a;b" * 12]:
        replaced, fresh = browser_cookie(bad)
        assert fresh
        assert replaced != bad


@pytest.mark.parametrize(
    ("url", "secret", "sentence"),
    [
        ("http://sayso.example.com", SECRET, "use https"),
        ("http://localhost.example.com", SECRET, "use https"),
        ("ftp://x", SECRET, "no web address"),
        ("sayso.example.com", SECRET, "no web address"),
        ("https://sayso.example.com", b"short", "32 bytes"),
    ],
)
def test_unsafe_settings_are_refused(url: str, secret: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        WebSettings(url, secret)


def test_settings_know_their_origin_and_keep_their_secret() -> None:
    settings = WebSettings("https://Sayso.Example.com:443/prefix", b"v" * 32)
    assert settings.origins == {"https://sayso.example.com"}
    assert (settings.secure, settings.cookie_prefix) == (True, "__Host-")
    assert (LOCAL.secure, LOCAL.cookie_prefix) == (False, "")
    assert "vvvv" not in repr(settings)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
