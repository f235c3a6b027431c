"""Signature Version 4, held to AWS's own test suite (`aws-sig-v4-test-suite`)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adapters.email.transports.sigv4 import Credentials, Scope, signed_headers

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
SCOPE = Scope("us-east-1", "service")
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfI"
    "eoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq"
    "5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9"
    "Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)


@pytest.mark.parametrize(
    ("method", "headers", "body", "token", "names", "signature"),
    [
        ("GET", {}, b"", "", "host;x-amz-date",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", {}, b"", "", "host;x-amz-date",
         "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ("POST", {"My-Header1": "value1"}, b"", "", "host;my-header1;x-amz-date",
         "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        ("POST", {"Content-Type": "application/x-www-form-urlencoded"}, b"Param1=value1", "",
         "content-type;host;x-amz-date",
         "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
        ("POST", {}, b"", TOKEN, "host;x-amz-date;x-amz-security-token",
         "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
    ],
)  # fmt: skip
def test_aws_vectors(
    method: str, headers: dict[str, str], body: bytes, token: str, names: str, signature: str
) -> None:
    credentials = Credentials("AKIDEXAMPLE", SECRET, token)
    url = "https://example.amazonaws.com/"
    found = signed_headers(method, url, body, headers, credentials, SCOPE, NOW)
    assert found["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    assert found["X-Amz-Date"] == "20150830T123600Z"


def test_credentials_don_t_show_their_secrets() -> None:
    shown = repr(Credentials("AKIDEXAMPLE", SECRET, TOKEN))
    assert SECRET not in shown
    assert TOKEN not in shown
