"""Outbound webhooks: subscribe, unsubscribe, rotate the secret, see and redrive what was given up.

A secret leaves the gateway once: in the answer to the registration that brought none. The answer that is
remembered for an idempotency key never has it; it is added on the way out, from the subscription, so a
caller who lost the first answer gets the very same one again (until the secret is rotated).
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson
from aiohttp import web

from adapters.egress import Egress, UrlRejected
from adapters.webhooks.deliver import Sender, Unverified
from adapters.webhooks.sign_out import STANDARD, V1, Signing, key_of, new_secret
from gateway.auth import Caller, Keys
from gateway.http import body_of, parse, reply
from gateway.idempotency import Attempt, Idempotency
from gateway.outbound import TOPIC
from gateway.webhook_wire import MOST_PAGE, OVERLAP_SECONDS, letter_record, record, registered
from host import ids
from host.decisions.state import iso
from host.host import Host
from host.journal import AlreadyReplied
from host.store.records import Conflict, Reply
from host.store.webhooks import Subscription
from schemas.errors import Refusal
from schemas.ids import bound_id_of, tenant_of
from schemas.webhooks import RegisterWebhook, RotateSecret

MOST_SUBSCRIPTIONS: Final = 100
_SCOPE: Final = "webhooks:manage"
_CURSOR: Final = re.compile(r"\d{1,15}\.(anon:)?[A-Za-z0-9._~-]{1,128}/[0-9a-f]{32}")


class WebhookRoutes:
    """`/webhooks` and `/host/sayso/webhooks`."""

    def __init__(
        self, host: Host, keys: Keys, once: Idempotency, egress: Egress, sender: Sender
    ) -> None:
        self._host = host
        self._keys = keys
        self._once = once
        self._egress = egress
        self._sender = sender

    def routes(self) -> list[web.RouteDef]:
        one = "/webhooks/{webhookId}"
        letter = "/host/sayso/webhooks/{webhookId}/dead-letters/{deliveryId}"
        return [
            web.post("/webhooks", self.register),
            web.delete(one, self.unregister),
            web.get(f"{one}/dead-letters", self.dead_letters, allow_head=False),
            web.post(f"{one}/rotate-secret", self.rotate),
            web.get("/host/sayso/webhooks", self.listing, allow_head=False),
            web.post(f"{letter}/redrive", self.redrive),
        ]

    async def register(self, request: web.Request) -> web.Response:
        tenant = self._keys.caller(request, _SCOPE).principal.tenant

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(RegisterWebhook, await body_of(request))
            subscription = _subscription(body, tenant, self._host.clock())
            await self._check(subscription)
            answer = registered(subscription)
            if body.signature_algorithms is not None:
                answer["signatureAlgorithms"] = list(subscription.algorithms)
            kept = _kept(attempt, 201, answer)
            try:
                await self._host.store.subscriptions.add(subscription, kept)
            except Conflict:
                raise await self._first(kept) from None
            return 201, answer

        response = await self._once.run(request, tenant, "registerWebhook", act)
        return await self._with_secret(response) if response.status == 201 else response

    async def unregister(self, request: web.Request) -> web.Response:
        caller, webhook_id = self._named(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            now, kept = self._host.clock(), _kept(attempt, 204, {})
            try:
                gone = await self._host.store.subscriptions.remove(webhook_id, now, kept)
            except Conflict:
                raise await self._first(kept) from None
            if not gone:
                raise _unknown()
            return 204, {}

        tenant = caller.principal.tenant
        response = await self._once.run(request, tenant, "unregisterWebhook", act)
        if response.status != 204:
            return response
        replayed = {k: v for k, v in response.headers.items() if k.startswith("OpenWOP-")}
        return web.Response(status=204, headers=replayed)

    async def rotate(self, request: web.Request) -> web.Response:
        caller, webhook_id = self._named(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(RotateSecret, await body_of(request))
            subscription = await self._subscription(webhook_id)
            if STANDARD not in subscription.algorithms:
                raise Refusal(
                    "validation_error",
                    f"Only a subscription with {STANDARD} can rotate its secret: register another "
                    "one with a new secret, then remove this one.",
                )
            secret = body.secret.get_secret_value()
            _check_key(secret)
            now = self._host.clock()
            until = now + OVERLAP_SECONDS * 1000
            answer = {"rotatedAt": iso(now), "previousSecretExpiresAt": iso(until)}
            kept = _kept(attempt, 200, answer)
            try:
                await self._host.store.subscriptions.rotate(webhook_id, secret, until, now, kept)
            except Conflict:
                raise await self._first(kept) from None
            return 200, answer

        return await self._once.run(request, caller.principal.tenant, "rotateWebhookSecret", act)

    async def dead_letters(self, request: web.Request) -> web.Response:
        _, webhook_id = self._named(request)
        limit = request.query.get("limit", str(MOST_PAGE))
        if not re.fullmatch(r"[0-9]{1,4}", limit) or not 1 <= int(limit) <= MOST_PAGE:
            raise Refusal("validation_error", f"limit is a whole number from 1 to {MOST_PAGE}.")
        cursor = request.query.get("cursor")
        if cursor is not None and not _CURSOR.fullmatch(cursor):
            raise Refusal("validation_error", "cursor is the nextCursor of the page before.")
        await self._subscription(webhook_id)
        page = await self._host.store.outbox.dead(webhook_id, int(limit), cursor)
        body: dict[str, Any] = {"deliveries": [letter_record(d) for d in page.deliveries]}
        if page.cursor is not None:
            body["nextCursor"] = page.cursor
        return reply(200, body)

    async def listing(self, request: web.Request) -> web.Response:
        tenant = self._keys.caller(request, _SCOPE).principal.tenant
        found = await self._host.store.subscriptions.of(tenant)
        return reply(200, {"webhooks": [record(s, self._host.clock()) for s in found]})

    async def redrive(self, request: web.Request) -> web.Response:
        caller, webhook_id = self._named(request)
        delivery_id = bound_id_of(request.match_info["deliveryId"])

        async def act(_: Attempt) -> tuple[int, dict[str, Any]]:
            now = self._host.clock()
            if not await self._host.store.outbox.redrive(webhook_id, delivery_id, now):
                raise Refusal("not_found", "This webhook has no such dead letter.")
            self._host.waiters.wake(TOPIC)
            return 200, {"deliveryId": delivery_id, "status": "due"}

        return await self._once.run(request, caller.principal.tenant, "redriveDelivery", act)

    async def _check(self, subscription: Subscription) -> None:
        """Raises `Refusal` unless deliveries to this endpoint may be owed."""
        have = await self._host.store.subscriptions.of(subscription.tenant)
        if len(have) >= MOST_SUBSCRIPTIONS:
            raise Refusal(
                "validation_error",
                f"This tenant has {len(have)} webhooks, the most there can be: remove one first.",
            )
        try:
            await self._egress.check(subscription.url)
            if STANDARD in subscription.algorithms:
                signing = Signing(subscription.webhook_id, subscription.secret, standard=True)
                now = self._host.clock() // 1000
                await self._sender.challenge(subscription.url, signing, now)
        except UrlRejected as error:
            raise Refusal("webhook_url_rejected", str(error)) from None
        except Unverified as error:
            raise Refusal(
                "webhook_endpoint_unverified", f"The endpoint failed its verification: {error}."
            ) from None

    async def _with_secret(self, response: web.Response) -> web.Response:
        """The answer to a registration, with the secret that was made for it."""
        answer = orjson.loads(response.body)  # type: ignore[arg-type]
        subscription = await self._host.store.subscriptions.get(answer["webhookId"])
        if subscription is not None and subscription.secret_made:
            answer["secret"] = subscription.secret
            response.body = orjson.dumps(answer)
        response.headers["Cache-Control"] = "no-store"
        return response

    def _named(self, request: web.Request) -> tuple[Caller, str]:
        """The caller and the webhook of the path, which is of the caller's tenant."""
        caller = self._keys.caller(request, _SCOPE)
        webhook_id = bound_id_of(request.match_info["webhookId"])
        if tenant_of(webhook_id) != caller.principal.tenant:
            raise Refusal("id_tenant_mismatch", "This webhook belongs to another tenant.")
        return caller, webhook_id

    async def _subscription(self, webhook_id: str) -> Subscription:
        found = await self._host.store.subscriptions.get(webhook_id)
        if found is None:
            raise _unknown()
        return found

    async def _first(self, kept: Reply | None) -> Exception:
        """What to raise when another request was first: its answer, if the key was the reason."""
        found = await self._host.store.replies.find(kept.scope) if kept else None
        return AlreadyReplied(found) if found else Refusal("sayso.unavailable", "Try again.")


def _subscription(body: RegisterWebhook, tenant: str, now: int) -> Subscription:
    """Raises `Refusal` (`validation_error`)."""
    algorithms = tuple(dict.fromkeys(body.signature_algorithms or (V1,)))
    if V1 not in algorithms:
        raise _invalid("signatureAlgorithms", f"{V1} is always among them")
    secret = body.secret.get_secret_value() if body.secret else ""
    if STANDARD in algorithms:
        _check_key(secret)
    return Subscription(
        webhook_id=ids.bound(tenant, now),
        url=body.url,
        events=tuple(dict.fromkeys(body.events)),
        secret=secret or new_secret(),
        created_at=now,
        tags=tuple(dict.fromkeys(body.tags or ())),
        algorithms=algorithms,
        secret_made=not secret,
    )


def _check_key(secret: str) -> None:
    try:
        key_of(secret)
    except ValueError as error:
        raise _invalid("secret", str(error)) from None


def _invalid(member: str, message: str) -> Refusal:
    errors = [{"path": [member], "message": message}]
    return Refusal("validation_error", f"{member}: {message}.", errors=errors)


def _unknown() -> Refusal:
    return Refusal("not_found", "There is no such webhook.")


def _kept(attempt: Attempt, status: int, answer: dict[str, Any]) -> Reply | None:
    if attempt.scope is None:
        return None
    return Reply(attempt.scope, attempt.digest, status, orjson.dumps(answer))
