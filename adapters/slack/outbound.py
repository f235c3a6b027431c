"""Card -> the message at one address. Makes what Slack shows equal to what is wanted.

Slack has no idempotency key for posting. What this process has posted it remembers, so a delivery
that is repeated because its result was not stored updates that message. What is left is a crash
between Slack's answer and the store: then one card may stand there twice, and both lead to the
same interrupt.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any, Final

from adapters.channel import Delivery, Ref, Shown
from adapters.slack import render
from adapters.slack.client import SlackClient, SlackFailed
from adapters.views import Card

_REMEMBERED: Final = 10_000
_CHANNEL = re.compile(r"[CGD][A-Z0-9]{2,20}\Z")
_USER = re.compile(r"@([UW][A-Z0-9]{2,20})\Z")
_NAME = re.compile(r"#[\w\-]{1,80}\Z")
_TOO_MUCH: Final = {
    "invalid_blocks",
    "msg_blocks_too_long",
    "msg_too_long",
    "invalid_blocks_format",
}
_LOCKED: Final = {"edit_window_closed", "cant_update_message", "block_mismatch"}


def canonical_address(address: str) -> str:
    """`#name`, a channel id or `@` with a user id. Raises `ValueError` with what a right one is."""
    address = address.strip()
    if _CHANNEL.match(address) or _USER.match(address):
        return address
    if _NAME.match(address) and address == address.lower():
        return address
    raise ValueError(
        f"{address[:80]!r} is no Slack address: use a channel name like '#ops' (lower case), a"
        " channel id like 'C0123ABCD', or '@' and a user id like '@U0123ABCD' for a direct message"
    )


class Outbound:
    """Posts and updates. One for a channel."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._posted: OrderedDict[tuple[str, str], dict[str, str]] = OrderedDict()

    async def show(self, delivery: Delivery) -> Shown:
        """Post or update. Raises `DeliveryFailed`."""
        link = self._link(delivery)
        if delivery.thread is not None:
            return await self._show_turn(delivery, link)
        message = render.card(delivery.card, link)
        known = delivery.ref or self._posted.get((delivery.card.interrupt_id, delivery.address))
        if known is not None:
            ref = await self._update(delivery, known, message, link)
        else:
            ref = await self._post(delivery, message, link)
        return Shown(ref)

    def _link(self, delivery: Delivery) -> str:
        """The card's page. A personal answer link goes into a direct message only: it is a
        bearer's.
        """
        if delivery.address.startswith("@") and delivery.link:
            return delivery.link if len(delivery.link) <= 3000 else ""
        return delivery.card.link if len(delivery.card.link) <= 3000 else ""

    async def _show_turn(self, delivery: Delivery, link: str) -> Shown:
        thread, view = delivery.thread, delivery.card
        assert thread is not None
        root_key = (f"thread:{thread.conversation_id}", delivery.address)
        root = delivery.thread_ref or self._posted.get(root_key)
        if root is None:
            channel = await self._channel(delivery.address)
            root = await self._client.post(channel, render.root(view, thread, link))
            self._remember(root_key, root)
        opened = None if delivery.thread_ref else dict(root)
        if not thread.prompt and not thread.closed:
            return Shown(dict(delivery.ref or root), opened)
        message = render.turn(view, thread, link)
        known = delivery.ref or self._posted.get((view.interrupt_id, delivery.address))
        if known is not None:
            return Shown(await self._update(delivery, known, message, link, root=root), opened)
        return Shown(await self._post(delivery, message, link, root=root), opened)

    async def _post(
        self, delivery: Delivery, message: render.Message, link: str, root: Ref | None = None
    ) -> Ref:
        channel = str(root["channel"]) if root else await self._channel(delivery.address)
        thread = str(root["ts"]) if root else ""
        try:
            ref = await self._client.post(channel, message, thread)
        except SlackFailed as failure:
            if failure.error not in _TOO_MUCH:
                raise
            ref = await self._client.post(channel, render.minimal(delivery.card, link), thread)
        self._remember((delivery.card.interrupt_id, delivery.address), ref)
        return dict(ref)

    async def _update(
        self,
        delivery: Delivery,
        ref: Ref,
        message: render.Message,
        link: str,
        root: Ref | None = None,
    ) -> Ref:
        try:
            await self._client.update(ref, message)
        except SlackFailed as failure:
            if failure.error in _TOO_MUCH:
                await self._client.update(ref, render.minimal(delivery.card, link))
            elif failure.error == "message_not_found":
                return await self._deleted(delivery, ref, message, link, root)
            elif failure.error in _LOCKED:
                await self._say_outcome(delivery.card, ref, root)
            else:
                raise
        return dict(ref)

    async def _deleted(
        self,
        delivery: Delivery,
        ref: Ref,
        message: render.Message,
        link: str,
        root: Ref | None,
    ) -> Ref:
        """Somebody deleted the message: an open question is asked again, a closed one is over."""
        self._posted.pop((delivery.card.interrupt_id, delivery.address), None)
        if delivery.card.state != "open":
            return dict(ref)
        return await self._post(delivery, message, link, root)

    async def _say_outcome(self, view: Card, ref: Ref, root: Ref | None) -> None:
        """The workspace lets no message be edited (any more): say how it ended below it."""
        if view.state == "open":
            return
        key = (f"outcome:{view.interrupt_id}:{view.version}", f"{ref['channel']}/{ref['ts']}")
        if key in self._posted:
            return
        thread = str((root or ref)["ts"])
        message = render.card(view)
        self._remember(key, await self._client.post(str(ref["channel"]), message, thread))

    async def _channel(self, address: str) -> str:
        direct = _USER.match(address)
        return await self._client.direct(direct[1]) if direct else address

    def _remember(self, key: tuple[str, str], ref: dict[str, Any]) -> None:
        self._posted[key] = ref
        while len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)
