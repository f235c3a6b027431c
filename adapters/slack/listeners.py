"""What slack-bolt hands over, by the kind of payload, to the workspace that it came to.

One catch-all listener for each kind: bolt tries its listeners one after the other, and what a payload means
is looked up in tables of ours. With `process_before_response` the answer goes out when the listener returns,
so 'persist, then acknowledge' is the order of the code, without bolt's ten-millisecond poll for an ack.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.channel import Intake
from adapters.slack.acks import Ack
from adapters.slack.client import quiet_logger
from adapters.slack.desk import Desk
from adapters.slack.directory import SlackRoster
from adapters.slack.dispatch import answer
from adapters.slack.options import suggest
from adapters.slack.origin import candidates
from adapters.slack.receive import map_of
from adapters.slack.workspaces import Workspace, Workspaces
from host.store.records import StoreUnavailable

_log = logging.getLogger(__name__)

_ANY = re.compile(r".*", re.DOTALL)


class Listeners:
    """Of one app. `team` is used where Slack names no workspace."""

    def __init__(
        self, workspaces: Workspaces, roster: SlackRoster, intake: Intake, team: str
    ) -> None:
        self._workspaces = workspaces
        self._roster = roster
        self._intake = intake
        self._team = team

    def wire(self, client: AsyncWebClient) -> AsyncApp:
        """Bolt with a catch-all listener for each kind of payload."""
        bolt = AsyncApp(
            name="sayso",
            logger=quiet_logger("bolt", logging.ERROR),
            client=client,
            authorize=_authorized,
            signing_secret="",  # not read: the signature was checked over the raw bytes already
            request_verification_enabled=False,
            ssl_check_enabled=False,  # bolt would answer it before any verification
            ignoring_self_events_enabled=False,  # `receive` knows who is nobody, and why
            attaching_function_token_enabled=False,
            process_before_response=True,
        )
        bolt.action(_ANY)(self._on_action)
        bolt.view_submission(_ANY)(self._on_submission)
        bolt.view_closed(_ANY)(self._on_nothing)  # closing a form is not an answer
        bolt.event(_ANY)(self._on_event)
        bolt.shortcut(_ANY)(self._on_shortcut)
        bolt.options(_ANY)(self._on_options)
        bolt.command(_ANY)(self._on_command)
        return bolt

    async def _on_action(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        if workspace is not None and (desk := _desk(workspace)) is not None and desk.takes(body):
            return answer(await desk.click(body))
        return answer(await workspace.inbound.click(body) if workspace else _not_here(body))

    async def _on_submission(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        if workspace is not None and (desk := _desk(workspace)) is not None and desk.takes(body):
            return answer(await desk.submit(body))
        return answer(await workspace.dialogs.submit(body) if workspace else _not_here(body))

    async def _on_event(self, body: dict[str, Any], req: AsyncBoltRequest) -> BoltResponse:
        count = (req.headers.get("x-slack-retry-num") or ["0"])[0]
        attempt = int(count) if count.isascii() and count.isdigit() else 0
        try:
            if await self._heard(body):
                return answer(Ack())
        except StoreUnavailable:
            return answer(Ack(503))  # Slack tells it again
        workspace = await self._workspaces.of(body)
        if workspace is None:
            return answer(_not_here(body))
        desk = _desk(workspace)
        if desk is not None and map_of(body, "event").get("type") == "app_home_opened":
            await desk.opened(body)
            return answer(Ack())
        return answer(await workspace.inbound.event(body, min(attempt, 99)))

    async def _heard(self, body: dict[str, Any]) -> bool:
        """Whether it was news of an installation or of people, and no word of a person."""
        event = body.get("event")
        if not isinstance(event, dict):
            return False
        revoked = event.get("tokens")
        kind = event.get("type")
        if kind == "app_uninstalled" or (
            kind == "tokens_revoked" and isinstance(revoked, dict) and revoked.get("bot")
        ):
            await self._workspaces.removed(body)
            return True
        return self._roster.heard(event)

    async def _on_nothing(self, body: dict[str, Any]) -> BoltResponse:
        return answer(Ack())

    async def _on_options(self, body: dict[str, Any]) -> BoltResponse:
        return answer(await suggest(self._intake, body, self._team))

    async def _on_shortcut(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        desk = _desk(workspace) if workspace is not None else None
        return answer(await desk.shortcut(body) if desk is not None else Ack())

    async def _on_command(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        if workspace is None:
            return answer(_not_here(body))
        if (desk := _desk(workspace)) is not None:
            return answer(await desk.command(body))
        text = "Sayso has no commands: answer a request with the buttons of its message."
        return answer(Ack(body={"response_type": "ephemeral", "text": text}))


async def _authorized() -> AuthorizeResult:
    """Nothing is asked: bolt would call auth.test, 300 ms of a trigger's three seconds. Which
    installation a payload belongs to is looked up from memory where it is handled, and whether the
    person may do anything is asked of the host, at the decision.
    """
    return AuthorizeResult(enterprise_id=None, team_id=None, bot_token="")


def _desk(workspace: Workspace) -> Desk | None:
    return workspace.presence.desk if workspace.presence is not None else None


def _not_here(body: dict[str, Any]) -> Ack:
    """Nobody can be told anything: there is no token for that workspace."""
    names = ", ".join(candidates(body))[:200]
    _log.warning("slack: a payload of a workspace without an installation: %s", names)
    return Ack()
