"""Removes a run from PostgreSQL in one statement: whole or not at all."""

from __future__ import annotations

from host.retention import Removal
from host.store.postgres.database import Database

_REMOVE = """
WITH gone AS (DELETE FROM runs WHERE run_id = $1 AND version = $2 RETURNING 1),
  l AS (DELETE FROM log WHERE run_id = $1 AND EXISTS (SELECT FROM gone)),
  i AS (DELETE FROM interrupts WHERE interrupt_id = ANY ($3::text[]) AND EXISTS (SELECT FROM gone)),
  a AS (DELETE FROM asked WHERE interrupt_id = ANY ($3::text[]) AND EXISTS (SELECT FROM gone)),
  m AS (DELETE FROM messages WHERE interrupt_id = ANY ($3::text[]) AND EXISTS (SELECT FROM gone)),
  k AS (DELETE FROM links WHERE interrupt_id = ANY ($3::text[]) AND EXISTS (SELECT FROM gone)),
  w AS (DELETE FROM ended_waits WHERE match_key = ANY ($4::text[]) AND interrupt_id = ANY ($3::text[])
        AND EXISTS (SELECT FROM gone)),
  c AS (DELETE FROM conversations WHERE tenant = $5 AND conversation_id = ANY ($6::text[])
        AND EXISTS (SELECT FROM gone)),
  t AS (DELETE FROM threads WHERE tenant = $5 AND thread = ANY ($6::text[])
        AND EXISTS (SELECT FROM gone))
SELECT 1 FROM gone
"""


async def remove(database: Database, removal: Removal) -> bool:
    """False, and nothing is changed, when the run has moved on. Raises as `Database.call` does."""
    gone = await database.fetch(
        _REMOVE,
        removal.run_id,
        removal.version,
        list(removal.interrupts),
        list(removal.match_keys),
        removal.run_id.partition("/")[0],
        list(removal.conversations),
    )
    return len(gone) == 1
