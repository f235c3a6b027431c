"""An SNS topic with a key of its own, and the https site where SNS keeps certificates, on loopback.

The site's TLS certificate is of an authority of its own: a client reaches it only when it trusts that one,
and resolves the name of SNS to it (`Resolver`).
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import socket
import ssl
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail"
NAME = "sns.eu-west-1.amazonaws.com"
HOST = f"https://{NAME}"
PATH = "/SimpleNotificationService-0123456789abcdef.pem"
CERTIFICATE = f"{HOST}{PATH}"


class Sns:
    """Signs messages as SNS does, and keeps which certificates were asked for."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.pem = _certificate(self.key, self.key, "sns.amazonaws.com", "sns.amazonaws.com")
        self.fetched: list[str] = []

    async def fetch(self, url: str) -> bytes:
        self.fetched.append(url)
        return self.pem

    def message(self, at: float, version: str = "2", **more: str) -> bytes:
        """A notification of `at` (Unix seconds), or with `Type` a confirmation."""
        sent = dt.datetime.fromtimestamp(at, dt.UTC).isoformat().replace("+00:00", "Z")
        members = {
            "Type": "Notification",
            "MessageId": "m1",
            "TopicArn": TOPIC,
            "Message": "hello",
            "Timestamp": sent,
            "SignatureVersion": version,
            "SigningCertURL": CERTIFICATE,
            **more,
        }
        names = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token"]
        if members["Type"] == "Notification":
            names = ["Message", "MessageId", "Subject", "Timestamp"]
        names += ["TopicArn", "Type"]
        text = "".join(f"{n}\n{members[n]}\n" for n in names if n in members)
        digest = SHA256() if version == "2" else SHA1()
        signature = self.key.sign(text.encode(), PKCS1v15(), digest)
        return json.dumps({**members, "Signature": base64.b64encode(signature).decode()}).encode()


class SnsSite:
    """Use as `async with`. `authority` is the PEM file to trust, `asked` the paths with their queries."""

    def __init__(self, sns: Sns, folder: Path) -> None:
        self._sns = sns
        self.authority = folder / "authority.pem"
        self.asked: list[str] = []
        root, own = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in "12")
        self.authority.write_bytes(_certificate(root, root, "Test", "Test", authority=True))
        chain = folder / "site.pem"
        private = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain.write_bytes(private + _certificate(own, root, NAME, "Test"))
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(chain)

    async def __aenter__(self) -> SnsSite:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._server = TestServer(app)
        await self._server.start_server(ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @property
    def port(self) -> int:
        assert self._server.port is not None
        return self._server.port

    def resolver(self, **_: Any) -> Resolver:
        """What a connector asks for names."""
        return Resolver(self.port)

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        if request.path == PATH:
            return web.Response(body=self._sns.pem)
        return web.Response(text="<ConfirmSubscriptionResponse/>")


class Resolver(AbstractResolver):
    """Knows one name."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host != NAME:
            raise OSError(f"no such name: {host}")
        found = ResolveResult(
            hostname=host,
            host="127.0.0.1",
            port=self._port,
            family=socket.AF_INET,
            proto=0,
            flags=socket.AI_NUMERICHOST,
        )
        return [found]

    async def close(self) -> None:
        """Nothing to close."""


def _certificate(
    key: rsa.RSAPrivateKey,
    issuer: rsa.RSAPrivateKey,
    name: str,
    by: str,
    *,
    authority: bool = False,
) -> bytes:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    made = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(by))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(dt.datetime(2020, 1, 1))
        .not_valid_after(dt.datetime(2040, 1, 1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(issuer, SHA256())
    )
    return made.public_bytes(Encoding.PEM)
