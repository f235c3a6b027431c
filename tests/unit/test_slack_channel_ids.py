"""Channels by name: one listing for all who ask at once, believed for a minute, made anew for a new name."""

from __future__ import annotations

import asyncio
from typing import Any

from adapters.slack.channel_ids import ChannelIds


class Workspace:
    """Lists its channels two to a page. `now` is its clock (seconds)."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.calls = 0
        self.now = 100.0

    async def look(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert method == "conversations.list"
        self.calls += 1
        await asyncio.sleep(0)
        self.now += 0.1
        first = int(arguments.get("cursor") or 0)
        page = self.names[first : first + 2]
        more = str(first + 2) if first + 2 < len(self.names) else ""
        return {
            "channels": [{"id": f"C{name.upper()}", "name": name} for name in page],
            "response_metadata": {"next_cursor": more},
        }

    def ids(self) -> ChannelIds:
        return ChannelIds(self.look, lambda: self.now)


async def test_those_who_ask_at_once_share_one_listing() -> None:
    space = Workspace("ops", "dev", "law")
    ids = space.ids()
    asked = ("#ops", "#dev", "#law", "#nobody", "C0ID")
    assert await asyncio.gather(*map(ids.of, asked)) == ["COPS", "CDEV", "CLAW", "", "C0ID"]
    assert space.calls == 2  # the pages of one listing


async def test_an_id_asks_nothing() -> None:
    space = Workspace("ops")
    assert await space.ids().of("C0ID") == "C0ID"
    assert space.calls == 0


async def test_a_name_that_is_new_is_looked_for_again() -> None:
    space = Workspace("ops")
    ids = space.ids()
    assert await ids.of("#new") == ""
    space.names.append("new")
    assert await ids.of("#new") == "CNEW"
    assert await ids.of("#ops") == "COPS"
    assert space.calls == 2


async def test_a_listing_is_believed_for_a_minute() -> None:
    space = Workspace("ops")
    ids = space.ids()
    await ids.of("#ops")
    space.now += 59
    await ids.of("#ops")
    assert space.calls == 1
    space.now += 2
    await ids.of("#ops")
    assert space.calls == 2
