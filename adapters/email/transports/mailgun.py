"""Mailgun: the whole mail as MIME, over its API ("Send an email in MIME format")."""

from __future__ import annotations

import base64

import aiohttp

from adapters.channel import DeliveryFailed
from adapters.email.settings import MailgunAccount
from adapters.email.transports.http import Http, refused
from adapters.email.transports.port import MARK, Outgoing


class MailgunTransport:
    """Bounces come to its webhook (`inbound.providers.mailgun`) with the variable that each mail
    carries: an envelope sender of ours is not taken."""

    def __init__(self, account: MailgunAccount, connections: int, timeout: float) -> None:
        self._account = account
        self._http = Http(connections, timeout)
        named = base64.b64encode(f"api:{account.api_key}".encode()).decode()
        self._headers = {"Authorization": f"Basic {named}"}

    async def send(self, outgoing: Outgoing) -> str:
        form = aiohttp.FormData()
        form.add_field("to", outgoing.envelope.recipient)
        # Tracking rewrites the one link there is, and hands it to one more company.
        for option in ("o:tracking", "o:tracking-clicks", "o:tracking-opens"):
            form.add_field(option, "no")
        if outgoing.envelope.mark:
            form.add_field(f"v:{MARK}", outgoing.envelope.mark)
        form.add_field(
            "message",
            outgoing.serialised(),
            filename="message.mime",
            content_type="message/rfc822",
        )
        url = f"{self._account.origin}/v3/{self._account.domain}/messages.mime"
        answer = await self._http.post(url, form, self._headers)
        members = answer.members()
        if answer.status != 200:
            raise refused("Mailgun", answer, str(members.get("message") or ""))
        if not members.get("id"):
            raise DeliveryFailed("Mailgun answered without a message id")
        return str(members["id"])

    async def close(self) -> None:
        await self._http.close()
