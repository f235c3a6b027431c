"""Which IP addresses are public: what an outbound request may connect to. Pure.

An address that embeds an IPv4 address in a standard form (mapped, compatible, NAT64, 6to4) is judged by
that one, whatever its spelling. The rest is judged by the standard library's view of the IANA
special-purpose registries and by a table of our own: the library calls several networks global that lead
inside, and its view changes between patch releases.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address

_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",  # private
        "100.64.0.0/10",  # carrier-grade NAT; cloud metadata services live here too
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's platform service, reachable from every machine in it
        "169.254.0.0/16",  # link-local, cloud metadata
        "192.0.0.0/24",  # protocol assignments, a cloud's metadata
        "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "198.18.0.0/15",  # benchmarking
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)  # fmt: skip
_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "64:ff9b:1::/48",  # NAT64 of the local network
        "100::/64",  # discard
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32", "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # unique local, cloud metadata
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, deprecated and still routed inside
        "ff00::/8",  # multicast
    )
)  # fmt: skip
_COMPATIBLE: Final = IPv6Network("::/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether an address may be connected to. `text` is one as the resolver spells it.

    False for what is not an address at all: unknown is not public.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return _public(address)


def _public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _V4)
    inner = embedded(address)
    if inner is not None:
        return _public(inner)
    return address.is_global and not any(address in network for network in _V6)


def embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside a mapped, 6to4, NAT64 or compatible address."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
