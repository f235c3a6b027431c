"""The Web API methods of the fake Slack. Each takes the arguments and answers as Slack would."""

from __future__ import annotations

import copy
import secrets
import time
from collections.abc import Callable
from typing import Any

from tests.fakes.slack_blocks import (
    MESSAGE_TEXT,
    VIEW_BYTES,
    check_home,
    check_message,
    check_view,
    message_text_length,
    view_bytes,
)
from tests.fakes.slack_echo import message_of, metadata_of, view_of
from tests.fakes.slack_state import (
    TRIGGER_SECONDS,
    Clock,
    Message,
    SlackError,
    Trigger,
    View,
    new_hash,
)


class Workspace:
    """One workspace with one installed app. The methods are those of the Web API, by name."""

    def __init__(self, team: str) -> None:
        self.team = team
        self.bot_user, self.bot_id, self.app_id = "U0BOT", "B0BOT", "A0APP"
        self.users: dict[str, dict[str, Any]] = {}
        self.channels: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, list[str]] = {}
        self.messages: dict[tuple[str, str], Message] = {}
        self.views: dict[str, View] = {}
        self.home: dict[str, View] = {}  # by user; `edits` counts how often it was published
        self.triggers: dict[str, Trigger] = {}
        self.private: list[dict[str, Any]] = []  # what only one person saw
        self.clock = Clock()
        self.add_channel("C0OPS", "ops")
        self.add_user(self.bot_user, "sayso", is_bot=True)
        self.add_user("U0ADA", "ada", display="Ada Lovelace", email="ada@example.com")
        self.add_user("U0BOB", "bob", display="Bob", email="bob@example.com")

    def add_channel(self, channel: str, name: str, *, member: bool = True) -> None:
        self.channels[channel] = {"id": channel, "name": name, "member": member, "archived": False}

    def add_user(
        self, user: str, name: str, *, display: str = "", email: str = "", is_bot: bool = False
    ) -> None:
        profile = {"display_name": display, "real_name": display or name, "email": email}
        self.users[user] = {
            "id": user,
            "name": name,
            "team_id": self.team,
            "is_bot": is_bot,
            "deleted": False,
            "profile": profile,
        }

    def trigger(self, user: str, age: float = 0.0) -> str:
        trigger_id = f"1.2.{secrets.token_hex(12)}"
        self.triggers[trigger_id] = Trigger(user, time.monotonic() - age)
        return trigger_id

    def resolve(self, channel: Any) -> str:
        """The id of `#name`, an id or a user's id (posting to one opens the direct channel)."""
        for known in self.channels.values():
            if channel in (known["id"], f"#{known['name']}", known["name"]):
                if known["archived"]:
                    raise SlackError("is_archived")
                if not known["member"]:
                    raise SlackError("not_in_channel")
                return str(known["id"])
        if channel in self.users:
            return self._direct(str(channel))
        raise SlackError("channel_not_found")

    def _direct(self, user: str) -> str:
        if user not in self.users:
            raise SlackError("user_not_found")
        channel = "D" + user[1:]
        if channel not in self.channels:
            self.add_channel(channel, f"directmessage-{user}")
        return channel

    # -- methods ------------------------------------------------------------------------------

    def auth_test(self, args: dict[str, Any]) -> dict[str, Any]:
        return {
            "url": "https://example.slack.com/",
            "team": "Example",
            "user": "sayso",
            "team_id": self.team,
            "user_id": self.bot_user,
            "bot_id": self.bot_id,
            "is_enterprise_install": False,
        }

    def chat_postMessage(self, args: dict[str, Any]) -> dict[str, Any]:
        channel = self.resolve(args.get("channel"))
        self.check_content(args, 40_000)
        thread = args.get("thread_ts", "")
        if thread and (channel, thread) not in self.messages:
            raise SlackError("thread_not_found")
        if thread and self.messages[(channel, thread)].thread_ts not in ("", thread):
            raise SlackError("cannot_reply_to_message")
        ts = self.clock.ts()
        blocks = copy.deepcopy(args.get("blocks") or [])
        message = Message(channel, ts, args.get("text") or "", blocks, self.bot_user, thread)
        message.metadata = metadata_of(args.get("metadata"))
        self.messages[(channel, ts)] = message
        return {"channel": channel, "ts": ts, "message": message_of(self, message)}

    def chat_update(self, args: dict[str, Any]) -> dict[str, Any]:
        channel, ts = args.get("channel"), args.get("ts")
        if channel not in self.channels:
            raise SlackError("channel_not_found")  # a user's id is not accepted here
        if self.channels[channel]["archived"]:
            raise SlackError("is_inactive")
        message = self.messages.get((str(channel), str(ts)))
        if message is None:
            raise SlackError("message_not_found")
        if message.user != self.bot_user:
            raise SlackError("cant_update_message")
        self.check_content(args, 4_000)
        message.history.append(message.blocks)
        message.text = args["text"] if args.get("text") is not None else message.text
        if "blocks" in args or "text" in args:  # a text alone deletes the blocks
            message.blocks = copy.deepcopy(args.get("blocks") or [])
        if "metadata" in args:  # kept unless it is sent
            message.metadata = metadata_of(args["metadata"])
        message.edits += 1
        return {
            "channel": channel,
            "ts": ts,
            "text": message.text,
            "message": message_of(self, message),
        }

    def chat_getPermalink(self, args: dict[str, Any]) -> dict[str, Any]:
        channel, ts = str(args.get("channel")), str(args.get("message_ts"))
        if (channel, ts) not in self.messages:
            raise SlackError("message_not_found")
        place = f"https://example.slack.com/archives/{channel}/p{ts.replace('.', '')}"
        thread = self.messages[(channel, ts)].thread_ts
        more = f"?thread_ts={thread}&cid={channel}" if thread else ""
        return {"channel": channel, "permalink": place + more}

    def chat_postEphemeral(self, args: dict[str, Any]) -> dict[str, Any]:
        channel = self.resolve(args.get("channel"))
        if args.get("user") not in self.users:
            raise SlackError("user_not_in_channel")
        self.check_content(args, 4_000)
        self.private.append({"by": "chat.postEphemeral", **args, "channel": channel})
        return {"message_ts": self.clock.ts()}

    def conversations_list(self, args: dict[str, Any]) -> dict[str, Any]:
        names = ("id", "name")
        shared = [c for c in self.channels.values() if not c["id"].startswith("D")]
        shown = [c for c in shared if not (c["archived"] and args.get("exclude_archived"))]
        return {"channels": [{name: c[name] for name in names} for c in shown]}

    def conversations_history(self, args: dict[str, Any]) -> dict[str, Any]:
        return self._read(args, lambda m: m.thread_ts in ("", m.ts))

    def conversations_replies(self, args: dict[str, Any]) -> dict[str, Any]:
        thread = args.get("ts")
        if (args.get("channel"), thread) not in self.messages:
            raise SlackError("thread_not_found")
        return self._read(args, lambda m: thread in (m.ts, m.thread_ts))

    def _read(self, args: dict[str, Any], wanted: Callable[[Message], bool]) -> dict[str, Any]:
        """A page of messages, newest first. Takes ids alone, and only where the bot is."""
        known = self.channels.get(str(args.get("channel")))
        if known is None:
            raise SlackError("channel_not_found")
        if not known["member"]:
            raise SlackError("not_in_channel")
        oldest = float(args.get("oldest", 0))
        found = [
            m for m in self.messages.values() if m.channel == known["id"] and float(m.ts) > oldest
        ]
        found = sorted((m for m in found if wanted(m)), key=lambda m: m.ts, reverse=True)
        start, limit = int(args.get("cursor") or 0), int(args.get("limit", 100))
        shown = []
        for message in found[start : start + limit]:
            one = message_of(self, message)
            if message.metadata and args.get("include_all_metadata"):
                one["metadata"] = copy.deepcopy(message.metadata)
            shown.append(one)
        more = str(start + limit) if len(found) > start + limit else ""
        return {"messages": shown, "response_metadata": {"next_cursor": more}}

    def conversations_open(self, args: dict[str, Any]) -> dict[str, Any]:
        users = str(args.get("users", ""))
        return {"channel": {"id": self._direct(users)}}

    def users_info(self, args: dict[str, Any]) -> dict[str, Any]:
        if args.get("user") not in self.users:
            raise SlackError("user_not_found")
        return {"user": self.users[args["user"]]}

    def users_lookupByEmail(self, args: dict[str, Any]) -> dict[str, Any]:
        for user in self.users.values():
            if user["profile"]["email"] == args.get("email") and not user["deleted"]:
                return {"user": user}
        raise SlackError("users_not_found")

    def usergroups_users_list(self, args: dict[str, Any]) -> dict[str, Any]:
        if args.get("usergroup") not in self.groups:
            raise SlackError("no_such_subteam")
        return {"users": self.groups[args["usergroup"]]}

    def views_open(self, args: dict[str, Any]) -> dict[str, Any]:
        trigger = self._spend(args.get("trigger_id"))
        self._check_view(args.get("view"))
        view_id = f"V{secrets.token_hex(5).upper()}"
        opened = View(view_id, copy.deepcopy(args["view"]), trigger.user, new_hash())
        self.views[view_id] = opened
        return {"view": view_of(self, opened)}

    def views_push(self, args: dict[str, Any]) -> dict[str, Any]:
        open_now = [one for one in self.views.values() if one.is_open]
        if len(open_now) >= 3:
            raise SlackError("push_limit_reached")
        return self.views_open(args)

    def views_update(self, args: dict[str, Any]) -> dict[str, Any]:
        view = self.views.get(str(args.get("view_id")))
        if view is None or not view.is_open:
            raise SlackError("not_found")
        if args.get("hash") not in (None, view.hash):
            raise SlackError("hash_conflict")
        self._check_view(args.get("view"))
        self.replace_view(view, args["view"])
        return {"view": view_of(self, view)}

    def views_publish(self, args: dict[str, Any]) -> dict[str, Any]:
        if args.get("user_id") not in self.users:
            raise SlackError("user_not_found")
        user, view = args["user_id"], args.get("view")
        if problems := check_home(view):
            raise SlackError("invalid_arguments", *problems)
        known = self.home.get(user)
        if known is None:
            known = View(f"V{secrets.token_hex(5).upper()}", {}, user, new_hash())
            self.home[user] = known
        elif args.get("hash") not in (None, known.hash):
            raise SlackError("hash_conflict")
        self.replace_view(known, args["view"])
        known.edits += 1
        return {"view": view_of(self, known)}

    # -- what they share ----------------------------------------------------------------------

    def replace_view(self, view: View, new: dict[str, Any]) -> None:
        view.view, view.hash, view.errors = copy.deepcopy(new), new_hash(), {}

    def _spend(self, trigger_id: Any) -> Trigger:
        if str(trigger_id).count(".") != 2 or trigger_id not in self.triggers:
            raise SlackError("invalid_trigger_id")
        trigger = self.triggers[trigger_id]
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        if time.monotonic() - trigger.issued > TRIGGER_SECONDS:
            raise SlackError("expired_trigger_id")
        trigger.used = True
        return trigger

    def check_content(self, args: dict[str, Any], most_text: int) -> None:
        text, blocks = args.get("text"), args.get("blocks")
        if not text and not blocks:
            raise SlackError("no_text")
        if text is not None and len(text) > most_text:
            raise SlackError("msg_too_long")
        if blocks is not None:
            if problems := check_message(blocks):
                raise SlackError("invalid_blocks", *problems)
            if message_text_length(blocks) > MESSAGE_TEXT:
                raise SlackError("msg_blocks_too_long")

    def _check_view(self, view: Any) -> None:
        if problems := check_view(view):
            raise SlackError("invalid_arguments", *problems)
        if view_bytes(view) > VIEW_BYTES:
            raise SlackError("view_too_large")
