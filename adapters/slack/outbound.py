"""Card -> the message at one address. Makes what Slack shows equal to what is wanted.

Never waits for a rate limit: when the pace says 'not yet', so does this, and the pump comes again. Slack has
no idempotency key for posting; see `reconcile` for what keeps a card from being posted twice. What this
process has posted it also remembers, for a delivery that is repeated because its result was not stored.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from typing import Any, Final

from adapters.channel import Delivery, DeliveryFailed, NotYet, Ref, Shown
from adapters.slack import reconcile, render
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
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
    """Posts and updates. One for a workspace."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._pace = client.pace
        self._posted: OrderedDict[tuple[str, str], Ref] = OrderedDict()
        self._unsure: dict[tuple[str, str], Ref] = {}  # intents of posts that nothing is known of

    async def show(self, delivery: Delivery) -> Shown:
        """Post or update. Raises `NotYet`, `DeliveryFailed`."""
        if delivery.thread is not None:
            return await self._show_turn(delivery)
        draw = _Draw(delivery)
        known = await self._known(delivery)
        if known is None:
            return Shown(await self._post(delivery, draw))
        return Shown(await self._update(delivery, known, draw))

    async def _known(self, delivery: Delivery) -> Ref | None:
        """Where its message is, as far as that is known or can be found out."""
        who = (delivery.card.interrupt_id, delivery.address)
        known = reconcile.place(delivery.ref) or self._posted.get(who)
        if known is None and delivery.ref and delivery.ref.get("posting") == reconcile.CARD:
            known = await reconcile.find(self._client, delivery.ref, who[0])
            self._unsure.pop(who, None)
        return known

    async def _show_turn(self, delivery: Delivery) -> Shown:
        root = delivery.thread_ref
        if root is None:
            root = await self._root(delivery)
        opened = None if delivery.thread_ref else dict(root)
        try:
            return Shown(await self._turn(delivery, root), opened)
        except DeliveryFailed as failure:
            failure.thread_ref = opened
            raise

    async def _root(self, delivery: Delivery) -> Ref:
        """The first message of the conversation's thread, posted when it isn't there."""
        thread, ref = delivery.thread, delivery.ref or {}
        assert thread is not None
        name = thread.conversation_id
        who = (f"thread:{name}", delivery.address)
        if (known := self._posted.get(who)) is not None:
            return known
        ref = self._unsure.get(who, ref)  # another turn may have tried to open this thread
        if ref.get("posting") == reconcile.CARD and ref.get("thread"):
            return {"channel": str(ref["channel"]), "ts": str(ref["thread"])}
        if ref.get("posting") == reconcile.ROOT:
            found = await reconcile.find(self._client, ref, name)
            self._unsure.pop(who, None)
            if found is not None:
                self._remember(who, found)
                return found
        channel = await self._channel(delivery.address)
        draw = _Draw(delivery)
        message = render.root(delivery.card, thread, draw.link)
        mark = reconcile.mark(reconcile.ROOT, name, delivery.card.version)
        return await self._send(delivery, who, channel, message, mark)

    async def _turn(self, delivery: Delivery, root: Ref) -> Ref:
        thread = delivery.thread
        assert thread is not None
        known = await self._known(delivery)
        if not thread.prompt and not thread.closed and not thread.intro:
            return dict(known or root)
        draw = _Draw(delivery)
        if known is None:
            return await self._post(delivery, draw, root)
        return await self._update(delivery, known, draw, root)

    async def _post(
        self, delivery: Delivery, draw: _Draw, root: Ref | None = None, reposts: int = 0
    ) -> Ref:
        card = delivery.card
        channel = str(root["channel"]) if root else await self._channel(delivery.address)
        who = (card.interrupt_id, delivery.address)
        mark = reconcile.mark(reconcile.CARD, card.interrupt_id, card.version)
        thread = str(root["ts"]) if root else ""
        try:
            ref = await self._send(delivery, who, channel, draw, mark, thread)
        except SlackFailed as failure:
            if failure.error not in _TOO_MUCH:
                raise
            ref = await self._send(delivery, who, channel, draw.small(), mark, thread)
        return {**ref, "reposts": reposts} if reposts else dict(ref)

    async def _send(
        self,
        delivery: Delivery,
        who: tuple[str, str],
        channel: str,
        message: render.Message | _Draw,
        mark: dict[str, Any],
        thread: str = "",
    ) -> Ref:
        """Post once, when it is its turn, with the intent kept before."""
        if wait := await self._pace.post(who, channel):
            raise NotYet("waits for its turn in the channel", wait)
        intent = reconcile.intent(mark["event_type"], channel, time.time(), thread)
        await _note(delivery, intent)
        drawn = message() if isinstance(message, _Draw) else message
        try:
            ref: Ref = dict(await self._client.post(channel, drawn, thread, mark))
        except SlackFailed as failure:
            if failure.unsure:
                self._unsure[who] = intent
                while len(self._unsure) > _REMEMBERED:
                    del self._unsure[next(iter(self._unsure))]
            else:
                await _note(delivery, None)
            if failure.retry_after is not None:
                raise NotYet(failure.reason, failure.retry_after) from None
            raise
        await self._pace.same(channel, str(ref["channel"]))
        self._unsure.pop(who, None)
        self._remember(who, ref)
        return ref

    async def _update(
        self, delivery: Delivery, ref: Ref, draw: _Draw, root: Ref | None = None
    ) -> Ref:
        card = delivery.card
        who = (card.interrupt_id, delivery.address)
        if wait := await self._pace.update(who, urgent=card.state == "resolved"):
            raise NotYet("waits for its turn among the updates", wait)
        try:
            await self._client.update(ref, draw())
        except SlackFailed as failure:
            if failure.retry_after is not None:
                raise NotYet(failure.reason, failure.retry_after) from None
            if failure.error in _TOO_MUCH:
                await self._client.update(ref, draw.small())
            elif failure.error == "message_not_found":
                return await self._deleted(delivery, ref, draw, root, failure)
            elif failure.error in _LOCKED:
                await self._say_outcome(card, ref, root)
            else:
                raise
        return dict(ref)

    async def _deleted(
        self, delivery: Delivery, ref: Ref, draw: _Draw, root: Ref | None, failure: SlackFailed
    ) -> Ref:
        """Somebody deleted the message: an open question is asked again, once; a closed one is over."""
        self._posted.pop((delivery.card.interrupt_id, delivery.address), None)
        if delivery.card.state != "open":
            return dict(ref)
        if ref.get("reposts"):
            raise failure
        return await self._post(delivery, draw, root, reposts=1)

    async def _say_outcome(self, view: Card, ref: Ref, root: Ref | None) -> None:
        """The workspace lets no message be edited (any more): say how it ended below it."""
        if view.state == "open":
            return
        key = (f"outcome:{view.interrupt_id}:{view.version}", f"{ref['channel']}/{ref['ts']}")
        if key in self._posted:
            return
        thread = str((root or ref)["ts"])
        message = render.card(view)
        self._remember(key, dict(await self._client.post(str(ref["channel"]), message, thread)))

    async def _channel(self, address: str) -> str:
        direct = _USER.match(address)
        return await self._client.direct(direct[1]) if direct else address

    def _remember(self, key: tuple[str, str], ref: Ref) -> None:
        self._posted[key] = ref
        while len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)


class _Draw:
    """Draws a delivery's message when it is its turn: most of those that wait would be drawn in vain."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    def __call__(self) -> render.Message:
        view, thread = self._delivery.card, self._delivery.thread
        if thread is None:
            return render.card(view, self.link)
        if thread.intro and view.kind != "session.post":
            return render.card(view, self.link, below=False)
        return render.turn(view, thread, self.link)

    def small(self) -> render.Message:
        """For what Slack refused: a title and the way to the web page."""
        return render.minimal(self._delivery.card, self.link)

    @property
    def link(self) -> str:
        """The card's page. A personal answer link goes into a direct message only: it is a bearer's."""
        delivery = self._delivery
        personal = delivery.address.startswith("@") and delivery.link
        link = delivery.link if personal else delivery.card.link
        return link if len(link) <= 3000 else ""


async def _note(delivery: Delivery, ref: Ref | None) -> None:
    if delivery.note is not None and not await delivery.note(ref):
        raise DeliveryFailed("somebody else sends it: a newer claim exists")
