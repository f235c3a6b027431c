"""Documents in PostgreSQL."""

from __future__ import annotations

from typing import Any, Final

import orjson

from host.store.documents import Document
from host.store.postgres.database import Database
from host.store.rows import DOCUMENT, load_document

_PUT: Final = """
    INSERT INTO documents AS d (kind, key, value, version, expires_at)
    SELECT $1, $2, $3, 1, $6::bigint
    WHERE $5::integer IS NULL OR $5 = 0 OR EXISTS (SELECT FROM documents WHERE kind = $1 AND key = $2)
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at,
      version = CASE WHEN d.expires_at <= $4::bigint THEN 1 ELSE d.version + 1 END
    WHERE $5 IS NULL OR $5 = CASE WHEN d.expires_at <= $4 THEN 0 ELSE d.version END
    RETURNING version"""


class PostgresDocuments:
    """`host.store.documents.Documents`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, kind: str, key: str, now: int) -> Document | None:
        rows = await self._db.fetch(
            f"SELECT {DOCUMENT} FROM documents WHERE kind = $1 AND key = $2 "  # noqa: S608 - fixed texts
            "AND (expires_at IS NULL OR expires_at > $3)",
            kind,
            key,
            now,
        )
        return load_document(rows[0]) if rows else None

    async def put(
        self,
        kind: str,
        key: str,
        value: Any,
        now: int,
        *,
        expected: int | None = None,
        expires_at: int | None = None,
    ) -> int | None:
        rows = await self._db.fetch(_PUT, kind, key, orjson.dumps(value), now, expected, expires_at)
        return int(rows[0][0]) if rows else None

    async def delete(self, kind: str, key: str, *, expected: int | None = None) -> bool:
        rows = await self._db.fetch(
            "DELETE FROM documents WHERE kind = $1 AND key = $2 "
            "AND ($3::integer IS NULL OR version = $3) RETURNING 1",
            kind,
            key,
            expected,
        )
        return bool(rows)

    async def list(
        self, kind: str, now: int, *, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[Document]:
        rows = await self._db.fetch(
            f"SELECT {DOCUMENT} FROM documents WHERE kind = $1 AND key > $2 AND key >= $3 "  # noqa: S608
            "AND starts_with(key, $3) AND (expires_at IS NULL OR expires_at > $4) ORDER BY key LIMIT $5",
            kind,
            after,
            prefix,
            now,
            limit,
        )
        return [load_document(row) for row in rows]

    async def forget(self, now: int, limit: int) -> int:
        rows = await self._db.fetch(
            "DELETE FROM documents WHERE (kind, key) IN "
            "(SELECT kind, key FROM documents WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED) "
            "RETURNING 1",
            now,
            limit,
        )
        return len(rows)
