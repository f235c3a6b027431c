"""The protocol versions that this gateway can speak, and what differs between them.

One gateway speaks one version at a time (setting `protocol.version`). 2.1 is the closed wire of the first
stable interrupt specification; 2.45 adds members to closed objects, so a strict 2.1 consumer would
refuse its events (OpenWOP: event payloads).
"""

from __future__ import annotations

from typing import Final, Literal, get_args

ProtocolVersion = Literal["2.1", "2.45"]
VERSIONS: Final[tuple[ProtocolVersion, ...]] = get_args(ProtocolVersion)
DEFAULT_VERSION: Final[ProtocolVersion] = "2.1"


def is_wide(version: ProtocolVersion) -> bool:
    """Whether `interrupt.resolved` says who decided what, and `node.suspended` any reason."""
    return version != "2.1"


def next_version(version: ProtocolVersion) -> str:
    """The minor version after this one: how long an experimental record is promised."""
    major, _, minor = version.partition(".")
    return f"{major}.{int(minor) + 1}"
