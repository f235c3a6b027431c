"""One PostgreSQL database: a small pool, a deadline on every call, and errors in the port's terms.

Nothing here retries: a call that fails raises `StoreUnavailable`, and the next one connects anew. A
connection that missed its deadline is cancelled, and closed if the server doesn't answer to that either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import asyncpg

from host.store.records import Conflict, StoreUnavailable
from schemas.errors import Refusal

T = TypeVar("T")

_AWAY = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
_REFUSALS = (
    asyncpg.DiskFullError,
    asyncpg.PostgresIOError,
    asyncpg.ReadOnlySQLTransactionError,
)

_POOL = 8
_GIVE_BACK_SECONDS = 1.0
_DRAINED_AT_ONCE = 1000
_SESSION = """
SET default_transaction_isolation = 'read committed';
SET default_transaction_read_only = off;
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
SET statement_timeout = {milliseconds}; SET idle_in_transaction_session_timeout = {milliseconds};
SELECT set_config('synchronous_commit', 'on', false)
  WHERE current_setting('synchronous_commit') = 'off';
"""
# Isolation: the reasoning in functions.sql is for READ COMMITTED. Plans: every statement here goes through an
# index; a plan that was cached when a table was empty must not read it from end to end when it has grown.
# And an answer that was acknowledged must be on the disk, whatever the database's default says.


class Database:
    """A pool of connections. `deadline` is in seconds and covers connecting, waiting and working.

    `refused`: the server took no change, as when its disk is full (`host.store.room`)."""

    def __init__(self, url: str, deadline: float) -> None:
        self._url = url
        self._deadline = deadline
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self.refused = False

    async def start(self) -> None:
        """Connect once. Raises `StoreUnavailable` with what to do."""
        try:
            pool = asyncpg.create_pool(
                self._url,
                min_size=1,
                max_size=_POOL,
                init=self._prepare,
                reset=_nothing_to_reset,
                timeout=self._deadline,
                max_cached_statement_lifetime=0,
                server_settings={"application_name": "sayso"},
                target_session_attrs="read-write",
            )
            async with asyncio.timeout(self._deadline):
                await pool
        except (ValueError, asyncpg.ClientConfigurationError):
            # The library's own text may quote the URL, and a URL may hold a password.
            raise StoreUnavailable(
                "The store's URL must look like postgresql://user:password@host:5432/database, with "
                "the special characters of the password percent-encoded."
            ) from None
        except _AWAY as error:
            said = why(error).rstrip(".")
            raise StoreUnavailable(
                f"Cannot open the PostgreSQL database: {said}. Start it, or correct store.url."
            ) from None
        self._pool = pool

    async def stop(self) -> None:
        """Close all connections, by force when they don't close in time."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(self._deadline):
                await pool.close()
        except _AWAY:
            pool.terminate()

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        """All rows of one statement, in one round trip. Raises as `call` does."""
        return await self.call(lambda connection: connection.fetch(sql, *args))

    async def one(self, sql: str, *args: Any) -> Any | None:
        """The first row or None."""
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def drain(self, sql: str, *args: Any) -> int:
        """Run a statement that deletes a few rows (its last argument: how many) until it finds no
        more: small transactions, each within the deadline. How many rows went."""
        total = 0
        while True:
            gone = len(await self.fetch(sql, *args, _DRAINED_AT_ONCE))
            total += gone
            if gone < _DRAINED_AT_ONCE:
                return total

    async def call(
        self,
        work: Callable[[asyncpg.Connection[Any]], Awaitable[T]],
        deadline: float | None = None,
    ) -> T:
        """What `work` returns, within the deadline (seconds).

        Raises `Conflict` when a unique index refused, or a deadlock was broken at our cost;
        `Refusal` (`validation_error`) for a text or a number that PostgreSQL can't keep;
        `StoreUnavailable` for everything else, whether the server is away, too slow, full or read-only.
        """
        if self._pool is None:
            raise StoreUnavailable("The database is closed.")
        try:
            async with asyncio.timeout(deadline or self._deadline):
                return await _on_a_connection(self._pool, work)
        except asyncpg.IntegrityConstraintViolationError as error:
            raise Conflict(f"a unique name is taken: {error.constraint_name}") from None
        except asyncpg.TransactionRollbackError as error:  # a deadlock: somebody else went on
            raise Conflict(why(error)) from None
        except (asyncpg.DataError, ValueError) as error:
            raise _unkeepable(error) from None
        except _AWAY as error:
            self.refused = self.refused or isinstance(error, _REFUSALS)
            raise StoreUnavailable(f"The database did not answer: {why(error)}") from None

    async def _prepare(self, connection: asyncpg.Connection[Any]) -> None:
        await connection.execute(_SESSION.format(milliseconds=round(self._deadline * 900)))


async def _on_a_connection(
    pool: asyncpg.Pool[asyncpg.Record], work: Callable[[asyncpg.Connection[Any]], Awaitable[T]]
) -> T:
    connection = await pool.acquire()
    try:
        return await work(connection)
    finally:
        await pool.release(connection, timeout=_GIVE_BACK_SECONDS)


async def _nothing_to_reset(_: object) -> None:
    """No caller changes its session, so giving a connection back costs no round trip."""


def _unkeepable(error: Exception) -> Refusal:
    """Names are kept as text, and PostgreSQL's text holds neither U+0000 nor half a character. (What
    has no limit, payloads and answers, is kept as bytes.)"""
    if isinstance(error, asyncpg.CharacterNotInRepertoireError | UnicodeError):
        what = "A key, an id, a tag or an address holds U+0000 or half of a surrogate pair"
    else:
        what = f"A value is out of range ({type(error).__name__})"
    return Refusal("validation_error", f"{what}, which the database can't keep. Leave it out.")


def why(error: Exception) -> str:
    """What the network or the server says, in one line. Details and hints, which may quote data, stay out."""
    if isinstance(error, TimeoutError):
        return "no answer in time."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    text = str(error.args[0] if error.args else "").partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
