"""Answer links: `<public url>/a/<handle>`.

A handle is an HMAC of the interrupt and the person it is for, so that sending a message again gives the
same link; only its SHA-256 is stored. It lives as long as the interrupt and is never logged. An `ow2.`
token in its place opens the same page, for as long as the token is good.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

from adapters.channel import Visitor
from adapters.email import handles
from adapters.views import Person
from host.access import Access
from host.store.port import Store
from schemas.errors import Refusal


class AnswerLinks:
    """Implements `adapters.channel.Links`. `base` is the gateway's public URL, no slash at the end."""

    def __init__(self, store: Store, access: Access, secret: bytes, base: str) -> None:
        self._store = store
        self._access = access
        self._secret = secret
        self.base = base

    async def make(self, interrupt_id: str, person: Person) -> str:
        """The URL of this person's own page for this interrupt."""
        text = "\0".join((interrupt_id, person.channel, person.id)).encode()
        mac = hmac.digest(self._secret, text, "sha256")
        handle = base64.urlsafe_b64encode(mac[:24]).decode()
        await self._store.links.put(
            _hash(handle),
            interrupt_id,
            {"channel": person.channel, "id": person.id, "name": person.name},
        )
        return f"{self.base}/a/{handle}"

    def for_token(self, token: str) -> str:
        """The URL of the page that a token opens."""
        return f"{self.base}/a/{token}"

    async def open(self, handle: str) -> Visitor | None:
        if handle.startswith("ow2."):
            return await self._by_token(handle)
        if len(handle) > 200:
            return None
        found = await self._store.links.find(_hash(handle))
        if found is None:
            return None
        interrupt_id, person = found
        return Visitor(interrupt_id, Person(**person), handle)

    async def mail_handle(self, use: handles.Use, interrupt_id: str, person: Person) -> str:
        """The handle of the address at which this person's replies (or bounces) arrive."""
        handle = handles.derive(self._secret, use, interrupt_id, person.channel, person.id)
        await self._store.links.put(
            handles.digest(handle),
            interrupt_id,
            {"channel": person.channel, "id": person.id, "name": person.name},
        )
        return handle

    async def by_mail_handle(self, handle: str) -> Visitor | None:
        found = await self._store.links.find(handles.digest(handle))
        return None if found is None else Visitor(found[0], Person(**found[1]), handle)

    async def _by_token(self, token: str) -> Visitor | None:
        try:
            claims = await self._access.verify(token)
        except Refusal:
            return None
        try:
            interrupt, _ = await self._access.open(token)
        except Refusal as refusal:
            if refusal.code != "interrupt_already_resolved":
                raise
            return Visitor(claims.interrupt_id, Person("web", "token"), token, may_answer=False)
        who = self._access.bearer(interrupt, claims, token)
        person = Person("principal", who.id, who.name)
        return Visitor(interrupt.interrupt_id, person, token, claims.intent == "resolve")


def _hash(handle: str) -> str:
    return hashlib.sha256(handle.encode()).hexdigest()
