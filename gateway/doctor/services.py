"""Checks that ask others: the coordination, PostgreSQL, Slack, the mail server, the gateway itself.

Each has a deadline. None of them changes anything, and none sends a message.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import time
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import aiosmtplib

from adapters.channel import DeliveryFailed
from adapters.email.oauth import AccessTokens
from adapters.email.settings import EmailSettings
from config.settings import Settings
from gateway.doctor.finding import Finding, fail, ok, warn
from gateway.doctor.machine import large
from gateway.outgoing_mail import oauth_of
from host.coordination.embedded import EmbeddedValkey
from host.coordination.redis import RedisCoordination

if TYPE_CHECKING:
    import asyncpg

PATIENCE: Final = 10.0  # seconds, for each check
LARGEST_SKEW: Final = 5.0  # seconds; a token or a signature of more than five minutes is refused


async def coordination(settings: Settings) -> AsyncIterator[Finding]:
    """Redis answers, or the embedded Valkey starts."""
    if settings.redis.url is None:
        with tempfile.TemporaryDirectory(prefix="sayso-doctor-") as folder:
            valkey = EmbeddedValkey(Path(folder))
            try:
                await valkey.start()
                await valkey.stop()
            except (RuntimeError, OSError) as error:
                yield fail("valkey", f"does not start: {error}", "Set SAYSO_REDIS__URL instead.")
                return
        yield ok("valkey", "the embedded one starts")
        return
    try:
        redis = RedisCoordination(settings.redis.url.get_secret_value(), settings.redis.prefix)
        await redis.start()
    except ValueError as error:
        yield fail("redis", str(error), "Correct SAYSO_REDIS__URL.")
        return
    well = await redis.healthy()
    await redis.stop()
    if well:
        yield ok("redis", "answers")
    elif redis.untrusted:
        yield fail(
            "redis",
            f"shows a certificate that is not trusted: {redis.untrusted}",
            "Name its authority in SAYSO_REDIS__URL: ?ssl_ca_certs=/path/to/ca.pem. Its name must be that "
            "of the URL.",
        )
    else:
        yield fail(
            "redis",
            "does not answer within a quarter of a second",
            "Start it, or correct SAYSO_REDIS__URL. Answers go on meanwhile, slower.",
        )


async def postgres(settings: Settings) -> AsyncIterator[Finding]:
    """The database server, where one is set. It is asked, and not migrated as at a start."""
    url = settings.store.url.get_secret_value()
    if not url:
        return
    try:
        import asyncpg

        from host.store.postgres.database import why
    except ModuleNotFoundError:
        do = "pip install 'sayso-gateway[postgres]'"
        yield fail("postgres", "store.url is set, and the driver is not installed", do)
        return
    try:
        connection = await asyncpg.connect(url, timeout=PATIENCE)
        try:
            version = await connection.fetchval("SHOW server_version", timeout=PATIENCE)
            schema = await _schema(connection)
            size = await connection.fetchval("SELECT pg_database_size(current_database())")
        finally:
            await connection.close(timeout=PATIENCE)
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        OSError,
        TimeoutError,
        ValueError,
    ) as error:
        # The library's own text about a URL may quote it.
        said = "its URL can't be read" if isinstance(error, ValueError) else why(error)
        yield fail(
            "postgres",
            f"can't be used: {said}",
            "Correct SAYSO_STORE__URL, or start the server.",
        )
        return
    yield ok("postgres", f"answers, version {version}")
    yield _about_schema(schema)
    for finding in large("postgres", size, settings):
        yield finding


async def _schema(connection: asyncpg.Connection[Any]) -> int:
    if not await connection.fetchval("SELECT to_regclass('sayso_schema') IS NOT NULL"):
        return 0
    return int(await connection.fetchval("SELECT coalesce(max(version), 0) FROM sayso_schema"))


def _about_schema(found: int) -> Finding:
    from host.store.postgres.migrations import MIGRATIONS

    known = len(MIGRATIONS)
    if found == 0:
        return ok("postgres", "the tables will be made at the first start")
    if found > known:
        return fail(
            "postgres",
            f"the database has schema {found}, this Sayso knows {known}",
            "Upgrade Sayso, or restore a backup.",
        )
    if found < known:
        return warn(
            "postgres",
            f"the database has schema {found}; the next start, or `sayso db upgrade`, makes it {known}",
            "Back up first: an older Sayso can't start on it afterwards.",
        )
    return ok("postgres", f"schema {found}")


async def mail(settings: Settings) -> AsyncIterator[Finding]:
    """The mail server is reached, upgrades to TLS and takes the password."""
    if settings.email.smtp_url is None:
        return
    try:
        url = settings.email.smtp_url.get_secret_value()
        oauth = oauth_of(settings.email.oauth)
        chosen = EmailSettings(smtp_url=url, from_address=settings.email.from_, oauth=oauth)
    except ValueError:
        return  # told by the check of the configuration
    server = chosen.server
    secured = server.implicit_tls or server.starttls
    tokens = AccessTokens(oauth) if oauth is not None else None
    smtp = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        username=server.username,
        password=server.password,
        oauth_token_generator=tokens.get if tokens is not None else None,
        timeout=PATIENCE,
        use_tls=server.implicit_tls,
        start_tls=server.starttls,
        tls_context=ssl.create_default_context() if secured else None,
    )
    try:
        await smtp.connect()
        await smtp.quit()
    except (aiosmtplib.SMTPException, OSError) as error:
        smtp.close()
        yield fail(
            "mail",
            f"{server.host}:{server.port}: {type(error).__name__}",
            "Check the host, the port, the password and the certificate in email.smtp_url.",
        )
        return
    except DeliveryFailed as refused:
        smtp.close()
        yield fail("mail", str(refused), "Check email.oauth.")
        return
    finally:
        if tokens is not None:
            await tokens.close()
    how = "with TLS" if secured else "in the clear, on this machine"
    yield ok("mail", f"{server.host}:{server.port} takes mail, {how}")


async def running(settings: Settings) -> AsyncIterator[Finding]:
    """The gateway that is running, as people reach it: its readiness, and its clock against ours."""
    try:
        url = (settings.data_dir / "url").read_text().strip()
    except OSError:
        yield ok("gateway", "has not run with this data folder yet")
        return
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(f"{url}/readyz", allow_redirects=False) as response,
        ):
            text = (await response.content.read(200)).decode(errors="replace").strip()
            status, date = response.status, response.headers.get("Date", "")
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        yield warn(
            "gateway",
            f"{url} does not answer ({type(error).__name__})",
            "If it should be running: start it, or check the proxy in front of it.",
        )
        return
    if status == 200 and text == "ready":
        yield ok("gateway", f"{url} is ready")
    elif status == 200 and text.startswith("degraded"):
        yield warn("gateway", f"{url} is {text}", "Bring that part back; answers go on meanwhile.")
    else:
        yield fail("gateway", f"{url}/readyz: {status} {text[:80]}", "See its log.")
    for finding in skew(date, time.time()):
        yield finding


def skew(date: str, now: float) -> list[Finding]:
    """What an HTTP Date says about our clock. Signatures and tokens are compared with it."""
    try:
        difference = abs(parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, TypeError):
        return []
    if difference > LARGEST_SKEW:
        return [
            warn("clock", f"differs by {difference:.0f} s from the gateway's", "Run an NTP client.")
        ]
    return [ok("clock", "agrees with the gateway's")]


async def in_time(check: AsyncIterator[Finding], name: str) -> list[Finding]:
    """All findings of a check, within twice the patience; whatever it raises is a finding."""
    found: list[Finding] = []
    try:
        async with asyncio.timeout(2 * PATIENCE):
            found.extend([finding async for finding in check])
    except TimeoutError:
        found.append(fail(name, f"no answer in {2 * PATIENCE:.0f} s", "Check the network."))
    except Exception as error:
        found.append(fail(name, f"the check broke off: {type(error).__name__}", "Report this."))
    return found
