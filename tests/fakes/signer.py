"""A domain that signs its mail with DKIM, and its key as DNS has it."""

from __future__ import annotations

import base64
from email.message import EmailMessage

import dkim
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


class Signer:
    """A domain that signs its mail, and its key as DNS has it."""

    def __init__(self) -> None:
        made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._private = made.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )
        public = made.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.record = b"v=DKIM1; k=rsa; p=" + base64.b64encode(public)

    def signed(self, mail: EmailMessage) -> bytes:
        fields = [b"from", b"subject", b"date", b"message-id", b"content-type"]
        raw = mail.as_bytes()
        header = dkim.sign(
            raw,
            b"s1",
            b"example.com",
            self._private,
            include_headers=fields,
            canonicalize=(b"relaxed", b"relaxed"),
        )
        return bytes(header) + raw
