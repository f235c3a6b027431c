"""Which store: PostgreSQL where its URL is set, else one SQLite file in the data folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.settings import Settings
from host.store.port import Store
from host.store.sqlite.beside import version_of
from host.store.sqlite.store import MIGRATIONS, SqliteStore

if TYPE_CHECKING:
    from host.store.postgres.store import PostgresStore


def choose(settings: Settings) -> Store:
    """The store that the settings name, not yet started. Raises `ValueError` with what to do."""
    if not settings.store.url.get_secret_value():
        return SqliteStore(settings.data_dir / "sayso.db")
    return postgres(settings)


def postgres(settings: Settings) -> PostgresStore:
    """The PostgreSQL store, not yet started. Raises `ValueError` with what to do."""
    try:
        from host.store.postgres.store import PostgresStore
    except ModuleNotFoundError as missing:
        if missing.name != "asyncpg":
            raise
        raise ValueError(
            "store.url names a PostgreSQL database, and its driver is not installed. Install it with "
            "`pip install 'sayso-gateway[postgres]'`."
        ) from None
    return PostgresStore(settings.store.url.get_secret_value())


async def schema(settings: Settings) -> tuple[int, int]:
    """The schema that the store has, 0 for none, and the one that this program knows. Changes nothing.

    Raises `StoreUnavailable`, `ValueError`.
    """
    if not settings.store.url.get_secret_value():
        return version_of(settings.data_dir / "sayso.db"), len(MIGRATIONS)
    return await postgres(settings).schema()


def owns_data_folder(settings: Settings) -> bool:
    """Whether this process must be the only one in its data folder: it keeps its database or its
    Valkey there."""
    return not settings.store.url.get_secret_value() or settings.redis.url is None
