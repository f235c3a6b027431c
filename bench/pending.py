"""Fills a stopped gateway's data folder with pending interrupts, as copies of one that was asked over HTTP.

Rows are written by SQL: each copy has ids of its own, in the order of time, and all that the first one has in
every table. A million of them take half a minute, and days over HTTP on a small machine would not differ.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def fill(database: Path, run_id: str, interrupt_id: str, first: int, last: int) -> None:
    """Copy the run and its open interrupt: the copies `first` to `last` - 1."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.create_function("numbered", 2, _numbered, deterministic=True)
        connection.executescript("PRAGMA synchronous = OFF; BEGIN IMMEDIATE;")
        names = {"run": run_id, "asked": interrupt_id, "first": first, "last": last}
        for statement in _STATEMENTS:
            connection.execute(statement, names)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _numbered(bound_id: str, number: int) -> str:
    """An id of the same tenant and length, below the one that it is a copy of."""
    tenant, _, opaque = bound_id.partition("/")
    text = ""
    for _ in range(len(opaque) - 8):
        text = _DIGITS[number & 31] + text
        number >>= 5
    return f"{tenant}/00000000{text}"


_EACH = "WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last - 1) "
_RENAMED = (
    "CAST(replace(replace(CAST({0} AS TEXT), :run, numbered(:run, i)), :asked, numbered(:asked, i)) "
    "AS BLOB)"
)
_STATEMENTS = (
    f"INSERT INTO runs {_EACH} SELECT numbered(:run, i), version, wake_at, {_RENAMED.format('head')} "
    "FROM n, runs WHERE run_id = :run",
    f"INSERT INTO log (run_id, sequence, at, events) {_EACH} SELECT numbered(:run, i), sequence, at, "
    f"{_RENAMED.format('events')} FROM n, log WHERE run_id = :run",
    f"INSERT INTO interrupts {_EACH} SELECT numbered(:asked, i), numbered(:run, i), node_id, key, kind, "
    "status, version, deadline, progress FROM n, interrupts WHERE interrupt_id = :asked",
    f"INSERT INTO asked {_EACH} SELECT numbered(:asked, i), body FROM n, asked "
    "WHERE interrupt_id = :asked",
    # Taken as audited: what is measured is a resolve beside the others, not the trail catching up.
    "UPDATE audit_position SET position = (SELECT max(position) FROM log)",
)
