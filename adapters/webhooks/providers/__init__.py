"""The providers that sources may name. A new one is a file here and a line in `PROVIDERS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from adapters.webhooks import verify
from adapters.webhooks.providers.adyen import ADYEN
from adapters.webhooks.providers.adyen_platform import ADYEN_PLATFORM
from adapters.webhooks.providers.bearer import BEARER
from adapters.webhooks.providers.braintree import BRAINTREE
from adapters.webhooks.providers.cloudevents import CLOUDEVENTS
from adapters.webhooks.providers.event_grid import EVENT_GRID
from adapters.webhooks.providers.generic_hmac import GENERIC_HMAC
from adapters.webhooks.providers.github import GITHUB
from adapters.webhooks.providers.gocardless import GOCARDLESS
from adapters.webhooks.providers.linear import LINEAR
from adapters.webhooks.providers.mollie import MOLLIE
from adapters.webhooks.providers.mollie_classic import MOLLIE_CLASSIC
from adapters.webhooks.providers.paddle import PADDLE
from adapters.webhooks.providers.paypal import PAYPAL
from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.providers.razorpay import RAZORPAY
from adapters.webhooks.providers.sendgrid import SENDGRID
from adapters.webhooks.providers.shopify import SHOPIFY
from adapters.webhooks.providers.square import SQUARE
from adapters.webhooks.providers.standard_webhooks import STANDARD_WEBHOOKS
from adapters.webhooks.providers.standard_webhooks_v1a import STANDARD_WEBHOOKS_V1A
from adapters.webhooks.providers.stripe import STRIPE
from adapters.webhooks.providers.svix import SVIX
from adapters.webhooks.providers.twilio import TWILIO

PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType(
    {
        "stripe": STRIPE,
        "github": GITHUB,
        "standard_webhooks": STANDARD_WEBHOOKS,
        "standard_webhooks_v1a": STANDARD_WEBHOOKS_V1A,
        "svix": SVIX,
        "shopify": SHOPIFY,
        "square": SQUARE,
        "paypal": PAYPAL,
        "adyen": ADYEN,
        "adyen_platform": ADYEN_PLATFORM,
        "paddle": PADDLE,
        "braintree": BRAINTREE,
        "gocardless": GOCARDLESS,
        "mollie": MOLLIE,
        "mollie_classic": MOLLIE_CLASSIC,
        "razorpay": RAZORPAY,
        "twilio": TWILIO,
        "sendgrid": SENDGRID,
        "linear": LINEAR,
        "cloudevents": CLOUDEVENTS,
        "event_grid": EVENT_GRID,
        "generic_hmac": GENERIC_HMAC,
        "bearer": BEARER,
    }
)


def provider_named(name: str) -> Provider:
    """The provider of that name. Raises `ValueError` with the names that exist."""
    try:
        return PROVIDERS[name]
    except KeyError:
        raise ValueError(f"no provider {name!r}; one of {', '.join(PROVIDERS)}") from None


def sign(
    provider: str,
    secrets: Sequence[str],
    body: bytes,
    *,
    now: float,
    message_id: str = "",
    url: str = "",
) -> dict[str, str]:
    """The signature headers with which `provider` would send `body` at `now` (Unix seconds).

    Raises `ValueError` as `provider_named` and `verify.sign` do.
    """
    scheme = provider_named(provider).scheme
    return verify.sign(scheme, secrets, body, now=now, message_id=message_id, url=url)
