"""The egress guard: which addresses are public, which URLs are refused, what an exception covers."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from adapters.egress import (
    Egress,
    UrlRejected,
    check_public,
    parse,
)
from adapters.public_addresses import embedded, is_public
from config.settings import Settings

INSIDE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
    "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254",
    "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::10.0.0.1", "::2", "::ffff:127.0.0.1", "::ffff:10.1.2.3",
    "::ffff:a9fe:a9fe", "0:0:0:0:0:ffff:7f00:1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe",
    "64:ff9b::10.0.0.1", "64:ff9b:1::1", "64:ff9b:1::808:808", "100::1", "2001::1",
    "2001:0:7f00:1::", "2001:0:808:808::", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1",
    "2002:c0a8:1::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
    "fec0::1", "ff02::1", "ff0e::1",
]  # fmt: skip
OUTSIDE = [
    "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
    "192.167.255.255", "198.17.255.255", "198.20.0.0", "223.255.255.255",
    "2606:4700:4700::1111", "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", OUTSIDE)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("text", ["", "example.com", "127.1", "0177.0.0.1", "2130706433", "::1::"])
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not is_public(text)


@given(st.ip_addresses(v=4))
def test_an_embedded_address_is_judged_by_what_it_embeds(address: IPv4Address) -> None:
    number = int(address)
    for prefix, shift in ((0xFFFF << 32, 0), (0x64_FF9B << 96, 0), (0x2002 << 112, 80)):
        spelled = IPv6Address(prefix | number << shift)
        assert embedded(spelled) == address
        assert is_public(str(spelled)) == is_public(str(address))


@given(st.ip_addresses())
def test_nothing_is_public_that_the_library_calls_local(address: Any) -> None:
    found = ip_address(str(address))
    if is_public(str(address)):
        assert not found.is_loopback
        assert not found.is_link_local
        assert not found.is_multicast
        assert not found.is_unspecified


# --- URLs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/x",
        "http://127.0.0.1:9999/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://LOCALHOST./x",
        "https://api.localhost/x",
        "https://10.0.0.8/x",
        "https://192.168.1.1/x",
        "https://169.254.169.254/latest",
        "https://[::1]/x",
        "https://[fd00::1]/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://[::ffff:7f00:1]/x",
        "https://[64:ff9b::7f00:1]/x",
        "https://metadata.google.internal/x",
        "https://printer.local/x",
        "https://2130706433/x",
        "https://0x7f000001/x",
        "https://0177.0.0.1/x",
        "https://127.1/x",
        "https://127.0.0.1./x",
        "https://①②⑦.0.0.1/x",
    ],
)
def test_urls_that_lead_inside(url: str) -> None:
    with pytest.raises(UrlRejected):
        check_public(parse(url))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.com",
        "/relative",
        "//hooks.example.com/x",
        "ftp://hooks.example.com/x",
        "javascript:alert(1)",
        "https://",
        "https:///x",
        "https://user@hooks.example.com/x",
        "https://user:secret@hooks.example.com/x",
        "https://hooks.example.com/x#frag",
        "https://hooks.example.com:99999/x",
        "https://hooks.example.com/a b",
        "https://hooks.example.com/\r\nHost: inside",
        "https://hooks.example.com/" + "a" * 2048,
    ],
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(UrlRejected) as refused:
        check_public(parse(url))
    assert "secret@" not in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    try:
        target = parse(text)
    except UrlRejected:
        return
    assert target.scheme in ("http", "https")
    assert target.host


def test_an_exception_is_one_origin_exactly() -> None:
    egress = Egress(["http://127.0.0.1:9999", "https://hooks.corp.example:443"])
    for url in ("http://127.0.0.1:9999/any/path?x=1", "https://hooks.corp.example/x"):
        assert egress.allows(parse(url))
    for url in (
        "http://127.0.0.1:9998/x",
        "https://127.0.0.1:9999/x",
        "http://localhost:9999/x",
        "http://127.0.0.1.example.com:9999/x",
        "http://hooks.corp.example/x",
        "https://hooks.corp.example:444/x",
    ):
        assert not egress.allows(parse(url))


def test_conformance_mode_excepts_loopback_with_a_port() -> None:
    egress = Egress(loopback=True)
    assert egress.allows(parse("http://127.0.0.1:31234/hook"))
    for url in ("http://127.0.0.1/x", "http://localhost:80/x", "http://10.0.0.1:80/x"):
        assert not egress.allows(parse(url))
    assert not Egress().allows(parse("http://127.0.0.1:31234/hook"))


@pytest.mark.parametrize("text", ["http://hooks.example.com:99999", "hooks", ""])
def test_an_exception_that_is_no_origin_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"egress\.allow"):
        Egress([text])


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1",
        "127.0.0.1:9999",
        "http://127.0.0.1:9999/",
        "http://*:9999",
        "http://user@127.0.0.1:9999",
        "ftp://127.0.0.1:9999",
    ],
)
def test_the_setting_takes_exact_origins_alone(text: str) -> None:
    assert Settings(egress={"allow": ["http://127.0.0.1:9999", "https://[::1]:8443"]})  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Settings(egress={"allow": [text]})  # type: ignore[arg-type]
