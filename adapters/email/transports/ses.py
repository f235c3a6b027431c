"""Amazon SES: the whole mail, raw, over its v2 API ("SendEmail", `Content.Raw`)."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any, Final

from adapters.channel import DeliveryFailed
from adapters.email.settings import SesAccount
from adapters.email.transports.http import Http, refused
from adapters.email.transports.port import MARK, Outgoing
from adapters.email.transports.sigv4 import Credentials, Scope, signed_headers

PATH: Final = "/v2/email/outbound-emails"

_PASSING: Final = frozenset(
    {"TooManyRequestsException", "LimitExceededException", "SendingPausedException"}
)
"""Errors with a 4xx status that pass by themselves, or when an operator resumes sending."""


class SesTransport:
    """SES replaces the Message-ID; the one that it answers is the one that recipients see."""

    def __init__(self, account: SesAccount, connections: int, timeout: float) -> None:
        self._account = account
        self._http = Http(connections, timeout)
        self._scope = Scope(account.region, "ses")
        self._credentials = Credentials(
            account.access_key_id, account.secret_access_key, account.session_token
        )

    async def send(self, outgoing: Outgoing) -> str:
        url = f"{self._account.origin}{PATH}"
        body = json.dumps(self._request(outgoing)).encode()
        headers = signed_headers(
            "POST",
            url,
            body,
            {"Content-Type": "application/json"},
            self._credentials,
            self._scope,
            datetime.now(UTC),
        )
        answer = await self._http.post(url, body, headers)
        members = answer.members()
        if answer.status != 200:
            # "MessageRejected", "MessageRejected:http://…" or "com.amazonaws…#MessageRejected".
            named = answer.kind or str(members.get("__type") or "")
            kind = named.partition(":")[0].rpartition("#")[2]
            said = f"{kind} {members.get('message') or members.get('Message') or ''}".strip()
            raise refused("SES", answer, said, permanent=False if kind in _PASSING else None)
        found = members.get("MessageId")
        if not isinstance(found, str) or not found:
            raise DeliveryFailed("SES answered without a message id")
        return self._account.message_id(found)

    async def close(self) -> None:
        await self._http.close()

    def _request(self, outgoing: Outgoing) -> dict[str, Any]:
        envelope = outgoing.envelope
        found: dict[str, Any] = {
            "FromEmailAddress": envelope.sender,
            "Destination": {"ToAddresses": [envelope.recipient]},
            "Content": {"Raw": {"Data": base64.b64encode(outgoing.serialised()).decode()}},
        }
        if envelope.bounces_to:
            found["FeedbackForwardingEmailAddress"] = envelope.bounces_to
            # What a configuration set publishes about this mail names it by this tag.
            found["EmailTags"] = [{"Name": MARK, "Value": envelope.mark}]
        if self._account.configuration_set:
            found["ConfigurationSetName"] = self._account.configuration_set
        return found
