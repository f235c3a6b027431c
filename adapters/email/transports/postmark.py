"""Postmark: the mail in its parts, over its API ("Send a single email")."""

from __future__ import annotations

import json
from typing import Any, Final

from adapters.email.message import headers
from adapters.email.settings import PostmarkAccount
from adapters.email.transports.http import Http, refused
from adapters.email.transports.port import MARK, Outgoing

_OWN: Final = frozenset({"From", "To", "Subject", "Date", "Reply-To"})
"""Headers that have members of their own in a request, or are Postmark's to write."""

_PASSING: Final = frozenset({100, 405, 412, 413, 429})
"""Error codes that pass by themselves or when an operator acts: maintenance, not allowed to send,
account pending, account may not send, too many requests."""


class PostmarkTransport:
    """Bounces come to its webhook (`inbound.providers.postmark`) with the metadata that each mail
    carries: an envelope sender of ours is not taken."""

    def __init__(self, account: PostmarkAccount, connections: int, timeout: float) -> None:
        self._account = account
        self._http = Http(connections, timeout)

    async def send(self, outgoing: Outgoing) -> str:
        answer = await self._http.post(
            f"{self._account.origin}/email",
            json.dumps(self._request(outgoing)).encode(),
            {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "X-Postmark-Server-Token": self._account.server_token,
            },
        )
        members = answer.members()
        code = members.get("ErrorCode")
        if answer.status != 200 or code != 0:
            passes = False if code in _PASSING or code is None else None
            if answer.status == 401:
                passes = None
            said = f"{code if code is not None else ''} {members.get('Message') or ''}"
            raise refused("Postmark", answer, said, permanent=passes)
        return outgoing.envelope.message_id

    async def close(self) -> None:
        await self._http.close()

    def _request(self, outgoing: Outgoing) -> dict[str, Any]:
        pairs = headers(outgoing.mail, outgoing.envelope, outgoing.date)
        by_name = {name: " ".join(value.split()) for name, value in pairs}
        more = [{"Name": n, "Value": v} for n, v in by_name.items() if n not in _OWN]
        return {
            "From": by_name["From"],
            "To": outgoing.envelope.recipient,
            "ReplyTo": outgoing.envelope.reply_to,
            "Subject": outgoing.mail.subject,
            "TextBody": outgoing.mail.text,
            "HtmlBody": outgoing.mail.html,
            # Without this Postmark writes a Message-ID of its own, and the thread falls apart.
            "Headers": [*more, {"Name": "X-PM-KeepID", "Value": "true"}],
            "MessageStream": self._account.stream,
            **({"Metadata": {MARK: outgoing.envelope.mark}} if outgoing.envelope.mark else {}),
            # Tracking rewrites the one link there is, and hands it to one more company.
            "TrackOpens": False,
            "TrackLinks": "None",
        }
