"""A strict fake Slack on loopback, for the real SDK to talk to and to be talked to by.

    async with FakeSlack() as slack:
        ...  # start the program with slack.bot_token, slack.signing_secret, slack.api_url
        slack.target = "http://127.0.0.1:PORT"  # or leave it empty: Socket Mode
        message = await slack.posted("C0OPS")
        await slack.click(message, "sayso.accept", user="U0ADA")

It answers as Slack does to what is wrong, keeps what was posted, records every call, fails on
demand, and sends exactly the payloads that Slack sends. It asserts nothing about what the program
does, except where Slack itself would show an error to the person.
"""

from __future__ import annotations

import asyncio
import copy
import html
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import slack_payloads as payloads
from tests.fakes.slack_blocks import check_view
from tests.fakes.slack_elements import Problems, check_option
from tests.fakes.slack_methods import Workspace
from tests.fakes.slack_server import Call, Fault, SlackServer
from tests.fakes.slack_state import Message, View, state_of
from tests.fakes.slack_transport import ACK_SECONDS, Answer, Sent, send_http

__all__ = ["Call", "FakeSlack", "Fault", "Outcome", "SlackTrouble"]


@dataclass(slots=True)
class Outcome:
    """What a person saw after sending a modal."""

    answer: Answer
    closed: bool = False
    errors: dict[str, str] = field(default_factory=dict)  # by label
    view: View | None = None


class SlackTrouble(AssertionError):
    """Slack would show 'We had some trouble connecting' to the person."""


class FakeSlack:
    """The server and its drivers. What it keeps is in `space`; the most used of it is here too."""

    def __init__(self, team: str = "T0TEAM") -> None:
        self.bot_token, self.app_token = "xoxb-fake-bot", "xapp-fake-app"
        self.signing_secret = "fake-signing-secret"
        self.target = ""
        self.path = "/slack/events"
        self.ack_seconds = ACK_SECONDS
        self.space = Workspace(team)
        self.server = SlackServer(self.space, self.bot_token, self.app_token)
        self.messages, self.views = self.space.messages, self.space.views
        self.private = self.space.private  # what only one person saw
        self.calls, self.faults = self.server.calls, self.server.faults
        self.limits = self.server.limits
        self.sockets = self.server.sockets
        self.sent: list[Sent] = []

    @property
    def api_url(self) -> str:
        return f"{self.server.base_url}/api/"

    async def __aenter__(self) -> FakeSlack:
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()

    # -- looking ------------------------------------------------------------------------------

    async def until(
        self, condition: Callable[[], Any], what: str = "", patience: float = 10
    ) -> Any:
        """Wait until `condition()` is true; what it returned. Looked at after each change."""
        end = time.monotonic() + patience
        while not (found := condition()):
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"in vain: waited {patience} s for {what or condition}")
            self.server.changed.clear()
            try:
                await asyncio.wait_for(self.server.changed.wait(), left)
            except TimeoutError:
                continue
        return found

    async def posted(self, channel: str = "", count: int = 1) -> Message:
        """The `count`th message of the program in `channel` (or anywhere), once it's there."""

        def found() -> Message | None:
            own = [m for m in self.messages.values() if m.user == self.space.bot_user]
            own = [m for m in own if not channel or m.channel == channel]
            return own[count - 1] if len(own) >= count else None

        message: Message = await self.until(found, f"message {count} in {channel or 'Slack'}")
        return message

    async def opened(self, count: int = 1, *, ready: bool = True) -> View:
        """The `count`th modal, once it shows its form or a sentence (not 'Loading…')."""

        def found() -> View | None:
            views = list(self.views.values())
            if len(views) < count:
                return None
            return None if ready and "Loading" in views[count - 1].shown() else views[count - 1]

        view: View = await self.until(found, f"modal {count}")
        return view

    async def told(self, count: int = 1) -> dict[str, Any]:
        """The `count`th private note, once it's there."""
        await self.until(lambda: len(self.private) >= count, f"private note {count}")
        return self.private[count - 1]

    def called(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    # -- what a person does -------------------------------------------------------------------

    async def click(
        self,
        message: Message,
        action_id: str,
        *,
        user: str = "U0ADA",
        team: str = "",
        blocks: list[dict[str, Any]] | None = None,
        trigger_age: float = 0.0,
        action_ts: str = "",
    ) -> Answer:
        """Press a button of `message` (of an earlier state of it, with `blocks`)."""
        for block in message.blocks if blocks is None else blocks:
            for element in block.get("elements", []):
                if element.get("action_id") == action_id:
                    payload = payloads.block_actions(
                        self.space,
                        message,
                        copy.deepcopy(element),
                        block.get("block_id", "auto"),
                        user=user,
                        team=team,
                        trigger_id=self.space.trigger(user, trigger_age),
                        response_url=self.server.response_url(user),
                        action_ts=action_ts or self.space.clock.ts(),
                    )
                    return await self.send("interactive", payload)
        raise AssertionError(f"the message has no {action_id!r}: {message.shown()}")

    async def submit(
        self, view: View, values: dict[str, Any], *, user: str = "", team: str = ""
    ) -> Outcome:
        """Fill in a modal by its labels and send it; then do what the answer says."""
        assert view.is_open, "the modal is closed"
        assert "submit" in view.view, "the modal has nothing to send"
        state = state_of(view.view, values)
        payload = payloads.view_submission(
            self.space, view, state, user=user or view.user, team=team
        )
        return self._apply(view, await self.send("interactive", payload))

    async def suggest(self, view: View, label: str, typed: str) -> list[dict[str, Any]]:
        """Type into an external menu: the options that Slack would show, or nothing at all where it
        takes what it was given for wrong."""
        [block] = [b for b in view.view["blocks"] if b.get("label", {}).get("text") == label]
        assert block["element"]["type"] in ("external_select", "multi_external_select")
        payload = payloads.block_suggestion(self.space, view, block, typed)
        answer = await self.send("interactive", payload)
        assert answer.status == 200
        assert answer.seconds < ACK_SECONDS
        assert isinstance(answer.body, dict)
        assert answer.body.keys() == {"options"}
        options: list[dict[str, Any]] = answer.body["options"]
        problems = Problems()
        for index, option in enumerate(problems.each(options, "/options", 100, least=0)):
            check_option(problems, option, f"/options/{index}")
        assert not problems.found, problems.found
        return options

    async def close(self, view: View) -> Answer:
        """Close a modal without sending it. Slack tells so only when asked to; this always does."""
        view.is_open = False
        payload = payloads.view_closed(self.space, view, user=view.user)
        return await self.send("interactive", payload)

    async def reply(self, channel: str, thread_ts: str, text: str, *, user: str = "U0ADA") -> Sent:
        """Write a reply in a thread."""
        ts = self.space.clock.ts()
        written = html.escape(text, quote=False)
        self.messages[(channel, ts)] = Message(channel, ts, written, [], user, thread_ts)
        event = payloads.message_event(
            self.space, channel, ts, written, user=user, thread_ts=thread_ts
        )
        return await self.emit(event)

    async def mention(
        self, channel: str, thread_ts: str, text: str, *, user: str = "U0ADA"
    ) -> tuple[Sent, Sent]:
        """A reply that names the app: two events with one ts, as Slack sends them."""
        ts = self.space.clock.ts()
        written = f"<@{self.space.bot_user}> {html.escape(text, quote=False)}"
        event = payloads.message_event(
            self.space, channel, ts, written, user=user, thread_ts=thread_ts
        )
        named = {name: value for name, value in event.items() if name != "channel_type"}
        named["type"] = "app_mention"
        return await self.emit(named), await self.emit(event)

    async def edit(self, message: Message, text: str) -> Sent:
        """Change what somebody wrote."""
        before = payloads.written(self.space, message)
        message.text = html.escape(text, quote=False)
        edited = {"user": message.user, "ts": self.space.clock.ts()}
        after = payloads.written(self.space, message) | {"edited": edited}
        return await self.emit(payloads.message_changed(self.space, message, before, after))

    async def delete(self, message: Message) -> Sent:
        """Take back what somebody wrote."""
        del self.messages[(message.channel, message.ts)]
        before = payloads.written(self.space, message)
        return await self.emit(payloads.message_changed(self.space, message, before, None))

    async def emit(self, event: dict[str, Any]) -> Sent:
        """Send any event in its envelope."""
        await self.send("events_api", payloads.event_callback(self.space, event))
        return self.sent[-1]

    async def retry(self, sent: Sent, number: int = 1, reason: str = "http_timeout") -> Answer:
        """Deliver an event again, with the headers that say so."""
        headers = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason}
        return await self.send(sent.kind, sent.payload, headers)

    async def send(
        self, kind: str, payload: dict[str, Any], headers: dict[str, str] | None = None
    ) -> Answer:
        """Deliver a payload over HTTP when `target` is set, else over the newest socket."""
        if self.target:
            url = self.target.rstrip("/") + self.path
            answer = await send_http(url, self.signing_secret, kind, payload, headers or {})
        else:
            answer = await self.sockets.send(kind, payload, headers or {}, self.ack_seconds)
        self.sent.append(Sent(kind, payload, answer))
        self.server.changed.set()
        return answer

    def _apply(self, view: View, answer: Answer) -> Outcome:
        """Do with the modal what Slack would; raise where it would show its generic failure."""
        if answer.status != 200 or answer.seconds > ACK_SECONDS:
            raise SlackTrouble(f"HTTP {answer.status} after {answer.seconds:.1f} s")
        body = answer.body
        if body is None:
            view.is_open = False
            return Outcome(answer, closed=True)
        action = body.get("response_action") if isinstance(body, dict) else None
        if action == "clear" and body.keys() == {"response_action"}:
            view.is_open = False
            return Outcome(answer, closed=True)
        if action == "errors" and body.keys() == {"response_action", "errors"}:
            inputs = {b["block_id"]: b for b in view.view["blocks"] if b["type"] == "input"}
            if not body["errors"] or not body["errors"].keys() <= inputs.keys():
                raise SlackTrouble(f"errors of no input: {body['errors']}")
            view.errors = dict(body["errors"])
            found = {inputs[k]["label"]["text"]: text for k, text in view.errors.items()}
            return Outcome(answer, errors=found, view=view)
        if action == "update" and body.keys() == {"response_action", "view"}:
            if problems := check_view(body["view"]):
                raise SlackTrouble("; ".join(problems))
            self.space.replace_view(view, body["view"])
            return Outcome(answer, view=view)
        raise SlackTrouble(f"not an answer to a modal: {body!r}")
