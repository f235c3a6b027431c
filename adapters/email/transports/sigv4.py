"""AWS Signature Version 4 of one POST. Pure.

The rules are AWS's "Signature Version 4 signing process"; the tests hold it to AWS's own vectors. No
SDK for this: signing is two dozen lines, and the SDK is larger than the rest of this program.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlsplit

_ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of an IAM user, or temporary ones of a role, which have a session token too."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a signature is good: `us-east-1`, `ses`."""

    region: str
    service: str


def signed_headers(
    method: str,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    credentials: Credentials,
    scope: Scope,
    now: datetime,
) -> dict[str, str]:
    """`headers` with those that sign the request. The URL has no query, and its path is plain."""
    parts = urlsplit(url)
    at = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    sent = {**headers, "Host": parts.netloc, "X-Amz-Date": at}
    if credentials.session_token:
        sent["X-Amz-Security-Token"] = credentials.session_token
    canonical = {name.lower(): " ".join(value.split()) for name, value in sent.items()}
    names = ";".join(sorted(canonical))
    request = "\n".join(
        (
            method,
            quote(parts.path or "/", safe="/-_.~"),
            "",
            *(f"{name}:{canonical[name]}" for name in sorted(canonical)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    where = f"{at[:8]}/{scope.region}/{scope.service}/aws4_request"
    to_sign = "\n".join((_ALGORITHM, at, where, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{credentials.secret_access_key}".encode()
    for part in where.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    sent["Authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key_id}/{where}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return sent
