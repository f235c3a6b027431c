"""The Slack app."""

from __future__ import annotations

import os
from typing import Annotated, Any

from pydantic import Field, SecretStr

from config.section import Section

_PLACE = r"^[TE][A-Z0-9]{2,20}$"
_TENANT = r"^[A-Za-z0-9._~-]{1,128}$"


class Slack(Section):
    """A Slack app. With an app token Sayso connects by Socket Mode and needs no public address.

    With `client_id` and `client_secret` it can be installed in several workspaces; `workspaces` may do so
    without an install link of the operator's. `staleness_seconds`: how old what Slack said of people and
    groups may be at a decision. `tenants`: whose requests the inbox of a workspace or organisation lists.
    `quiet_hours`: when nobody is named in a reminder, in their own zone.
    """

    bot_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
    previous_signing_secret: SecretStr | None = None
    app_token: SecretStr | None = None
    api_url: Annotated[str, Field(pattern=r"^https?://\S+$")] = "https://slack.com/api/"
    pace: Annotated[float, Field(ge=0.1, le=1000)] = 1.0
    client_id: Annotated[str, Field(pattern=r"^[0-9.]{0,64}$")] = ""
    client_secret: SecretStr | None = None
    workspaces: frozenset[Annotated[str, Field(pattern=_PLACE)]] = frozenset()
    tenants: dict[
        Annotated[str, Field(pattern=_PLACE)], Annotated[str, Field(pattern=_TENANT)]
    ] = {}
    match_email: bool = True
    staleness_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    reminders: bool = True
    quiet_hours: Annotated[
        str, Field(pattern=r"^(([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)?$")
    ] = "22:00-07:00"

    @property
    def is_on(self) -> bool:
        """Whether there is an app: one workspace's token, or the credentials to be installed with."""
        return self.bot_token is not None or bool(self.client_id)


def with_slack_names(data: Any) -> Any:
    """Slack's usual variable names, where ours are not set."""
    if not isinstance(data, dict):
        return data
    slack = dict(data.get("slack") or {})
    for name, variable in (
        ("bot_token", "SLACK_BOT_TOKEN"),
        ("signing_secret", "SLACK_SIGNING_SECRET"),
        ("app_token", "SLACK_APP_TOKEN"),
        ("client_id", "SLACK_CLIENT_ID"),
        ("client_secret", "SLACK_CLIENT_SECRET"),
    ):
        if os.environ.get(variable) and not slack.get(name):
            slack[name] = os.environ[variable]
    return {**data, "slack": slack} if slack else data
