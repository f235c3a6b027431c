"""What Slack says when it doesn't do what it was asked, in the channel's terms. Pure."""

from __future__ import annotations

from typing import Final

from slack_sdk.errors import SlackApiError

from adapters.channel import DeliveryFailed

_TRANSIENT: Final = {
    "accesslimited",
    "external_channel_migrating",
    "fatal_error",
    "internal_error",
    "message_limit_exceeded",
    "ratelimited",
    "request_timeout",
    "rollup_error",
    "service_unavailable",
    "team_added_to_org",
}

# Slack says of these that what was asked may have been done all the same.
_UNSURE: Final = {"", "fatal_error", "internal_error", "request_timeout", "service_unavailable"}

_ADVICE: Final = {
    "account_inactive": "the app was removed or its bot is deactivated; install it again",
    "channel_not_found": "no such channel, or it is private and the bot is not in it",
    "invalid_auth": "the bot token is wrong; set SLACK_BOT_TOKEN",
    "is_archived": "the channel is archived",
    "is_inactive": "the channel is archived",
    "message_not_found": "somebody deleted the message, and the one that was posted in its place",
    "missing_scope": "the app lacks a scope; add it and install the app again",
    "not_in_channel": "invite the bot to the channel",
    "restricted_action": "the workspace lets nobody but its owners post there",
    "thread_not_found": "somebody deleted the first message of the thread",
    "token_expired": "the bot token is over; install the app again",
    "token_revoked": "the bot token was revoked; install the app again",
    "user_not_found": "no such user in this workspace",
}


class SlackFailed(DeliveryFailed):
    """Slack said no, or said nothing. `error` is Slack's own word, or empty.

    `unsure`: what was asked may have been done all the same. `sent=False`: it never left this machine.
    """

    def __init__(
        self,
        method: str,
        error: str,
        *,
        detail: str = "",
        retry_after: float | None = None,
        sent: bool = True,
    ) -> None:
        permanent = bool(error) and error not in _TRANSIENT
        advice = detail or _ADVICE.get(error, "")
        reason = f"Slack {method}: {error or 'no answer'}" + (f" ({advice})" if advice else "")
        code = error if error in _ADVICE else ""
        super().__init__(reason, permanent=permanent, retry_after=retry_after, code=code)
        self.error = error
        self.unsure = sent and error in _UNSURE


def refusal(method: str, failure: SlackApiError) -> SlackFailed:
    """Slack's refusal without its response: that one holds the request's texts."""
    response = failure.response
    status = int(getattr(response, "status_code", None) or getattr(response, "status", None) or 0)
    data = getattr(response, "data", None)
    error = str(data.get("error", "")) if isinstance(data, dict) else ""
    if status == 429:
        after = str(response.headers.get("Retry-After", ""))
        return SlackFailed(
            method, "ratelimited", retry_after=float(after) if after.isdigit() else 30
        )
    if status >= 500 or not error:
        return SlackFailed(method, "", detail=f"HTTP {status}")
    detail = ""
    if isinstance(data, dict) and error in ("invalid_blocks", "invalid_arguments"):
        notes = (data.get("response_metadata") or {}).get("messages") or []
        detail = "; ".join(str(note) for note in notes)[:300]
    elif isinstance(data, dict) and error == "missing_scope":
        detail = f"the app lacks the scope {str(data.get('needed', '?'))[:100]}; install it again"
    return SlackFailed(method, error, detail=detail)
