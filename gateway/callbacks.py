"""`callbackUrl`: where the notice of one run's interrupts goes, as the plain alternative to waiting.

A URL is a subscription of its tenant to the runs that name it: the deliveries, their order, retries and
dead letters are those of every subscription, and so is the guard on what goes out. It is made when a run
first names the URL. All are signed with the operator's `egress.callback_secret`; without one there are
none, since an unsigned notice could be anybody's (OpenWOP: callbackUrl).
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import Final

from adapters.egress import Egress, UrlRejected
from adapters.webhooks.sign_out import STANDARD, V1, key_of
from gateway.webhook_wire import OVERLAP_SECONDS
from host.host import Host
from host.store.records import Conflict
from host.store.webhooks import Subscription
from schemas.errors import Refusal

EVENTS: Final = (
    "interrupt.requested",
    "interrupt.resolved",
    "node.cancelled",
    "node.failed",
    "run.completed",
    "run.failed",
    "run.cancelled",
)
MOST: Final = 100
"""Different URLs that the runs of one tenant may name."""


class Callbacks:
    """`secret` signs every delivery; "" when the operator set none."""

    def __init__(self, host: Host, egress: Egress, secret: str) -> None:
        self._host = host
        self._egress = egress
        self._secret = secret

    async def prepare(self, tenant: str, url: str) -> str:
        """What a run keeps of its callback: `Run.callback`.

        Raises `Refusal` (`validation_error`, `details.field` is `callbackUrl`) for a URL that the guard
        refuses, for one too many, and when there is no secret.
        """
        if not self._secret:
            raise _refused(
                "This gateway does not deliver to a callbackUrl: set egress.callback_secret, or wait or "
                "poll instead."
            )
        try:
            await self._egress.check(url)
        except UrlRejected as error:
            raise _refused(str(error)) from None
        name = f"callback.{hashlib.sha256(url.encode()).hexdigest()[:32]}"
        subscriptions = self._host.store.subscriptions
        known = await subscriptions.get(f"{tenant}/{name}")
        if known is not None and known.secret != self._secret:
            now = self._host.clock()
            until = now + OVERLAP_SECONDS * 1000
            await subscriptions.rotate(known.webhook_id, self._secret, until, now)
        if known is None:
            made = [s for s in await subscriptions.of(tenant) if is_callback(s)]
            if len(made) >= MOST:
                raise _refused(
                    f"The runs of this tenant name {MOST} different URLs already. Use one of them, or remove "
                    "a webhook that is needed no more."
                )
            # Another run may have named it just now: then it is there, which is all that is wanted.
            with contextlib.suppress(Conflict):
                await subscriptions.add(self._subscription(tenant, name, url))
        return name

    def _subscription(self, tenant: str, name: str, url: str) -> Subscription:
        return Subscription(
            webhook_id=f"{tenant}/{name}",
            url=url,
            events=EVENTS,
            secret=self._secret,
            created_at=self._host.clock(),
            tags=(name,),
            algorithms=(V1, STANDARD),
        )


def check_secret(secret: str) -> None:
    """Raises `ValueError` for one that can't sign by both schemes."""
    if not secret:
        return
    try:
        key_of(secret)
    except ValueError as error:
        raise ValueError(f"egress.callback_secret: {error}") from None


def is_callback(subscription: Subscription) -> bool:
    """Whether a subscription was made for a `callbackUrl`."""
    return subscription.webhook_id.partition("/")[2].startswith("callback.")


def _refused(message: str) -> Refusal:
    return Refusal("validation_error", message, field="callbackUrl")
