"""Identifier grammars, and the spelling of an id inside one path segment.

Tenant-bound ids are `<tenant>/<opaque>`. In a path every byte outside `[A-Za-z0-9._-]` becomes `~` and
two upper-case hex digits; `%2F` is accepted as well (OpenWOP: identifiers).
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import StringConstraints

from schemas.errors import Refusal

_BOUND = r"^(anon:)?[A-Za-z0-9._~-]{1,128}/[A-Za-z0-9._~-]{16,128}$"
_NAME = r"^[A-Za-z0-9._~:-]{1,128}$"

# `$` matches before a line feed at the end too; `\Z` doesn't.
BOUND_ID: Final = re.compile(_BOUND.replace("$", r"\Z"))
NODE_ID: Final = re.compile(_NAME.replace("$", r"\Z"))
KEY_ID: Final = re.compile(r"^[A-Za-z0-9._~-]{1,128}\Z")
TENANT_ID: Final = re.compile(r"^(anon:)?[A-Za-z0-9._~-]{1,128}\Z")
IDEMPOTENCY_KEY: Final = re.compile(r"^[A-Za-z0-9._~-]{22,128}\Z")

BoundId = Annotated[str, StringConstraints(pattern=_BOUND)]
NodeId = Annotated[str, StringConstraints(pattern=_NAME)]
WorkflowId = NodeId
AgentId = NodeId
EventId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._~-]{16,128}$")]

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_ESCAPE: Final = re.compile(rb"~([0-9A-F]{2})")


def path_segment(value: str) -> str:
    """An id as one path segment: `acme/r1` -> `acme~2Fr1`."""
    return _UNSAFE.sub(_escaped, value)


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"~{byte:02X}" for byte in found[0].encode())


def from_path_segment(segment: str) -> str:
    """The id that a (percent-decoded) path segment spells. Inverse of `path_segment`.

    An id that arrived as `%2F` has its slash already and passes through. Raises `Refusal`
    (`validation_error`) for a `~` that two upper-case hex digits don't follow, or bytes that are not
    UTF-8.
    """
    if "~" not in segment:
        return segment
    plain = segment.replace("~2F", "/")
    if "~" not in plain:
        return plain  # as nearly every id is spelled
    raw = segment.encode("utf-8", "replace")
    if raw.count(b"~") != len(_ESCAPE.findall(raw)):
        raise Refusal(
            "validation_error",
            "An id in a path spells each byte outside A-Z a-z 0-9 . _ - as '~' and two upper-case "
            "hex digits.",
        )
    try:
        return _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), raw).decode()
    except UnicodeDecodeError:
        raise Refusal("validation_error", "The id in the path is not UTF-8.") from None


def bound_id_of(segment: str) -> str:
    """The tenant-bound id that a path segment spells. Raises `Refusal` (`validation_error`).

    A bare id, and an id that was projected twice (which decodes to one without a slash), are refused.
    """
    found = from_path_segment(segment)
    if not BOUND_ID.match(found):
        raise Refusal(
            "validation_error",
            "An id in a path is the whole tenant-bound id, '<tenant>/<id>', with the slash spelled "
            "'~2F' or '%2F', encoded once.",
        )
    return found


def node_id_of(segment: str) -> str:
    """The node id that a path segment spells. Raises `Refusal` (`validation_error`)."""
    found = from_path_segment(segment)
    if not NODE_ID.match(found):
        raise Refusal(
            "validation_error", "A node id has 1 to 128 characters of A-Z a-z 0-9 . _ ~ : -."
        )
    return found


def tenant_of(bound_id: str) -> str:
    """The tenant segment of a tenant-bound id."""
    return bound_id.partition("/")[0]
