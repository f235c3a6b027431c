"""The coordination URL, and that the keys of one script share a slot."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import SSLConnection
from redis.crc import key_slot

from host.coordination.redis import RedisCoordination
from host.coordination.servers import MOST_HOSTS, parse
from host.coordination.tls import sharing


def test_one_server() -> None:
    found = parse("redis://ada:s%40me@cache:7000/3")
    assert (found.kind, found.tls, found.hosts) == ("one", False, ())
    assert found.options == {
        "username": "ada",
        "password": "s@me",
        "host": "cache",
        "port": 7000,
        "db": 3,
    }


def test_a_unix_socket() -> None:
    assert parse("unix:///run/valkey.sock").options["path"] == "/run/valkey.sock"


def test_tls_with_a_certificate_authority_of_ones_own(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    found = parse(f"rediss://cache:6380/0?ssl_ca_certs={ca}")
    assert found.tls
    assert found.options["connection_class"] is SSLConnection
    assert found.options["ssl_ca_certs"] == str(ca)


def test_connections_of_one_client_read_the_authorities_once() -> None:
    shared = sharing(SSLConnection)
    one, two = shared(host="one"), shared(host="two")
    assert one.ssl_context.get() is two.ssl_context.get()
    assert sharing(SSLConnection)(host="one").ssl_context is not one.ssl_context  # another client


def test_a_certificate_file_that_is_not_there_is_named_by_its_option(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ssl_ca_certs names a file that is not there") as caught:
        parse(f"rediss+cluster://u:hunter2@cache?ssl_ca_certs={tmp_path / 'none.pem'}")
    assert "hunter2" not in str(caught.value)


def test_sentinels() -> None:
    found = parse(
        "redis+sentinel://u:pw@one:1000,two,[::1]:3000/my%20main/2"
        "?sentinel_password=other&sentinel_username=s&health_check_interval=5"
    )
    assert found.kind == "sentinel"
    assert found.hosts == (("one", 1000), ("two", 26379), ("::1", 3000))
    assert found.name == "my main"
    assert found.options == {
        "username": "u",
        "password": "pw",
        "db": 2,
        "health_check_interval": 5,
    }
    assert found.sentinel == {"username": "s", "password": "other"}


def test_sentinels_behind_tls_take_the_same_certificates(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    found = parse(f"rediss+sentinel://one/main?ssl_ca_certs={ca}")
    assert found.tls
    assert found.options == {"db": 0, "ssl_ca_certs": str(ca)}
    assert found.sentinel == {"ssl_ca_certs": str(ca)}


def test_a_cluster() -> None:
    found = parse("redis+cluster://:pw@one:7000,two:7001")
    assert (found.kind, found.hosts) == ("cluster", (("one", 7000), ("two", 7001)))
    assert found.options == {"password": "pw"}
    assert parse("redis+cluster://one/0").hosts == (("one", 6379),)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "cache:6379",
        "http://u:hunter2@cache",
        "redis+other://u:hunter2@cache",
        "unix+cluster:///hunter2",
        "redis+sentinel://u:hunter2@one,two",  # no name of a primary
        "redis+sentinel://u:hunter2@one/main/two",
        "redis+sentinel://u:hunter2@one,/main",
        "redis+sentinel://u:hunter2@one:port/main",
        "redis+sentinel://u:hunter2@one:99999/main",
        "redis+cluster://u:hunter2@one/1",  # a cluster has one database
        "redis+cluster://u:hunter2@",
        "redis+cluster://u:hunter2@" + ",".join(["h"] * (MOST_HOSTS + 1)),
        "redis://u:hunter2@cache:port/0",
        "redis://u:hunter2@cache?socket_timeout=soon",
    ],
)
def test_what_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match=r"redis\+sentinel://") as caught:
        parse(url)
    assert "hunter2" not in str(caught.value)


@given(st.text(max_size=60), st.from_regex(r"[a-z0-9-]{1,32}", fullmatch=True))
def test_the_keys_of_a_lock_share_a_slot(name: str, prefix: str) -> None:
    """One script takes both; a cluster refuses keys of two slots."""
    keys = RedisCoordination("unix:///unused", prefix)._lock_keys(name)
    assert len(set(keys)) == 2
    assert len({key_slot(key.encode("utf-8", "surrogatepass")) for key in keys}) == 1
