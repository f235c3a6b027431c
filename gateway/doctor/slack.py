"""`sayso slack doctor`: everything about the Slack app that can be checked from here.

It asks Slack and the running gateway, and changes nothing but with `post`: then one test card stands in
that channel. What only a person can try (whether the signing secret is Slack's own) is said.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.client import SlackClient
from adapters.slack.manifest import BOT_SCOPES, EVENTS_PATH
from adapters.slack.settings import SlackSettings
from config.settings import Settings
from gateway.doctor import slack_places as places
from gateway.doctor.finding import Finding, fail, ok, warn
from gateway.doctor.slack_places import ADVICE

PATIENCE: Final = 10.0  # seconds, for each call
_NEEDED: Final = (
    "chat:write",
)  # without the others something is missing, without these everything


async def token(settings: SlackSettings, subject: str = "slack") -> AsyncIterator[Finding]:
    """The token works, and the app has the scopes that are used."""
    client = SlackClient(settings)
    await client.open()
    try:
        async for finding in _token(client.web_client(settings.bot_token), subject):
            yield finding
    finally:
        await client.close()


async def _token(web: AsyncWebClient, subject: str) -> AsyncIterator[Finding]:
    try:
        answer = await web.auth_test()
    except SlackApiError as error:
        data = error.response.data
        reason = str(data.get("error", "")) if isinstance(data, dict) else ""
        yield fail(subject, f"auth.test: {reason[:80]}", ADVICE.get(reason, ADVICE["invalid_auth"]))
        return
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        yield fail(subject, f"no answer: {type(error).__name__}", "Check the network.")
        return
    yield ok(subject, f"the bot token is of {str(answer.get('team', 'a workspace'))[:80]}")
    listed = str(answer.headers.get("x-oauth-scopes", ""))
    have = {scope.strip() for scope in listed.split(",") if scope.strip()}
    missing = sorted(BOT_SCOPES.keys() - have)
    if not have:
        return
    if not missing:
        yield ok(subject, "the app has all scopes that are used")
        return
    without = "; ".join(f"{scope} ({BOT_SCOPES[scope]})" for scope in missing)
    told = fail if set(missing) & set(_NEEDED) else warn
    yield told(subject, f"the app lacks {without}", ADVICE["missing_scope"])


async def signing(settings: Settings) -> AsyncIterator[Finding]:
    """The running gateway takes what is signed with the configured secret, and nothing else."""
    secret = settings.slack.signing_secret
    if secret is None:
        if settings.slack.app_token is None:
            yield fail(
                "signing secret",
                "there is neither a signing secret nor an app token: Slack can't reach us",
                "Set SLACK_SIGNING_SECRET (Basic Information), or SLACK_APP_TOKEN for Socket Mode.",
            )
        return
    text = secret.get_secret_value()
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        yield warn(
            "signing secret",
            "does not look like one of Slack's, which are 32 hexadecimal digits",
            "Copy it from Basic Information; it is not the client secret or the verification token.",
        )
    try:
        url = settings.http.public_url or (settings.data_dir / "url").read_text().strip()
    except OSError:
        yield warn("signing secret", "no gateway has run here, so it was not tried", "Start it.")
        return
    yield await _probe(url + EVENTS_PATH, text)


async def _probe(url: str, secret: str) -> Finding:
    body = json.dumps({"type": "url_verification", "challenge": "sayso-doctor", "token": "x"})
    stamp = str(int(time.time()))
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    headers = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": signature or "",
    }
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            said, status = (
                (await response.content.read(500)).decode(errors="replace"),
                response.status,
            )
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return fail(
            "signing secret",
            f"{url} does not answer ({type(error).__name__})",
            "Start the gateway, or correct http.public_url: this is the address that Slack sends to.",
        )
    if status == 200 and "sayso-doctor" in said:
        return ok(
            "signing secret",
            f"{url} takes it; that it is Slack's own shows when somebody presses a button",
        )
    if status == 401:
        return fail(
            "signing secret",
            f"{url} refuses it: the gateway that runs has another one",
            "Restart the gateway with this configuration.",
        )
    return fail("signing secret", f"{url} answers {status}", "Is it this gateway? See its log.")


async def socket(settings: Settings) -> AsyncIterator[Finding]:
    """Slack hands out a socket for the app token. It is not connected to: the gateway's is."""
    if settings.slack.app_token is None:
        return
    app_token = settings.slack.app_token.get_secret_value()
    client = SlackClient(_chosen(settings))
    await client.open()
    try:
        await client.web_client(None).apps_connections_open(app_token=app_token)
    except SlackApiError as error:
        data = error.response.data
        reason = str(data.get("error", "")) if isinstance(data, dict) else ""
        yield fail(
            "socket",
            f"apps.connections.open: {reason[:80]}",
            "Set SLACK_APP_TOKEN to an app-level token with connections:write, and switch Socket Mode on.",
        )
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        yield fail("socket", f"no answer: {type(error).__name__}", "Check the network.")
    else:
        yield ok("socket", "Slack opens one for this app token")
    finally:
        await client.close()


def _chosen(settings: Settings, bot_token: str = "") -> SlackSettings:
    slack = settings.slack
    given = slack.bot_token.get_secret_value() if slack.bot_token else ""
    return SlackSettings(
        bot_token=bot_token or given or "xoxb-none",
        signing_secrets=("unused",),
        api_url=slack.api_url,
        request_timeout=PATIENCE,
    )


async def slack_app(settings: Settings) -> AsyncIterator[Finding]:
    """The check of `sayso doctor`: the token of the settings and its scopes."""
    if settings.slack.bot_token is None:
        return
    try:
        chosen = _chosen(settings)
    except ValueError:
        return  # told by the check of the configuration
    async for finding in token(chosen):
        yield finding


async def everything(
    settings: Settings, installed: Sequence[tuple[str, str]], post: str
) -> AsyncIterator[Finding]:
    """All of it, in the order in which it is read. `installed` holds (name, token) of the installations
    by OAuth; `post` is an address or ""."""
    if not settings.slack.is_on:
        yield fail(
            "slack",
            "is not set up",
            "Make an app from `sayso slack manifest`, then set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET.",
        )
        return
    try:
        own_token = settings.slack.bot_token is not None
        tokens = [("slack", _chosen(settings))] if own_token else []
        tokens += [(name, _chosen(settings, secret)) for name, secret in installed]
    except ValueError as error:
        yield fail("slack", str(error), "Correct it in the configuration.")
        return
    if not tokens:
        yield warn(
            "slack",
            "the app is not installed anywhere yet",
            "Open the link of `sayso slack install-link`.",
        )
    for part in (
        *(token(chosen, name) for name, chosen in tokens),
        signing(settings),
        socket(settings),
    ):
        async for finding in part:
            yield finding
    if not tokens:
        return
    client = SlackClient(tokens[0][1])
    await client.open()
    threads = [agent.thread for agent in settings.substructure.agents.values()]
    asked = [
        one.removeprefix("slack:")
        for one in dict.fromkeys((*settings.notify, *settings.fallback, *threads))
        if one.startswith("slack:")
    ]
    try:
        parts = [places.channels(client, asked), places.groups(client, settings)]
        parts += [places.test_card(client, post)] if post else []
        for part in parts:
            async for finding in part:
                yield finding
    finally:
        await client.close()
