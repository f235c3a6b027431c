"""Which store: PostgreSQL where its URL is set, else one SQLite file in the data folder."""

from __future__ import annotations

from config.settings import Settings
from host.store.port import Store
from host.store.sqlite.store import SqliteStore


def choose(settings: Settings) -> Store:
    """The store that the settings name, not yet started. Raises `ValueError` with what to do."""
    url = settings.store.url.get_secret_value()
    if not url:
        return SqliteStore(settings.data_dir / "sayso.db")
    try:
        from host.store.postgres.store import PostgresStore
    except ModuleNotFoundError as missing:
        if missing.name != "asyncpg":
            raise
        raise ValueError(
            "store.url names a PostgreSQL database, and its driver is not installed. Install it with "
            "`pip install 'sayso-gateway[postgres]'`."
        ) from None
    return PostgresStore(url)


def owns_data_folder(settings: Settings) -> bool:
    """Whether this process must be the only one in its data folder: it keeps its database or its
    Valkey there."""
    return not settings.store.url.get_secret_value() or settings.redis.url is None
