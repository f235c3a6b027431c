"""Documents in SQLite."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import orjson

from host.store.documents import Document
from host.store.rows import DOCUMENT, load_document
from host.store.sqlite.database import Database

_ALIVE: Final = "(expires_at IS NULL OR expires_at > :now)"
_PUT: Final = f"""
    INSERT INTO documents (kind, key, value, version, expires_at)
    SELECT :kind, :key, :value, 1, :expires_at
    WHERE :expected IS NULL OR :expected = 0 OR EXISTS
      (SELECT 1 FROM documents WHERE kind = :kind AND key = :key)
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at,
      version = CASE WHEN {_ALIVE} THEN version + 1 ELSE 1 END
    WHERE :expected IS NULL OR :expected = CASE WHEN {_ALIVE} THEN version ELSE 0 END
    RETURNING version"""  # noqa: S608 - fixed texts


class SqliteDocuments:
    """`host.store.documents.Documents`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, kind: str, key: str, now: int) -> Document | None:
        row = self._db.one(
            f"SELECT {DOCUMENT} FROM documents WHERE kind = ?1 AND key = ?2 AND "  # noqa: S608
            "(expires_at IS NULL OR expires_at > ?3)",
            (kind, key, now),
        )
        return load_document(row) if row else None

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
        args = {
            "kind": kind,
            "key": key,
            "value": orjson.dumps(value),
            "now": now,
            "expected": expected,
            "expires_at": expires_at,
        }

        def job(connection: sqlite3.Connection) -> int | None:
            row = connection.execute(_PUT, args).fetchone()
            return row[0] if row else None

        return await self._db.write(job)

    async def delete(self, kind: str, key: str, *, expected: int | None = None) -> bool:
        sql = "DELETE FROM documents WHERE kind = ? AND key = ? AND (? IS NULL OR version = ?)"
        return await self._db.write(
            lambda connection: connection.execute(sql, (kind, key, expected, expected)).rowcount > 0
        )

    async def list(
        self, kind: str, now: int, *, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[Document]:
        rows = self._db.read(
            f"SELECT {DOCUMENT} FROM documents WHERE kind = ?1 AND key > ?2 AND key >= ?3 "  # noqa: S608
            "AND substr(key, 1, length(?3)) = ?3 AND (expires_at IS NULL OR expires_at > ?4) "
            "ORDER BY key LIMIT ?5",
            (kind, after, prefix, now, limit),
        )
        return [load_document(row) for row in rows]

    async def forget(self, now: int, limit: int) -> int:
        sql = (
            "DELETE FROM documents WHERE (kind, key) IN "
            "(SELECT kind, key FROM documents WHERE expires_at <= ? LIMIT ?)"
        )
        return await self._db.write(
            lambda connection: connection.execute(sql, (now, limit)).rowcount
        )
