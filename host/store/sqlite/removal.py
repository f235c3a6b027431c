"""Removes a run from SQLite, whole or not at all."""

from __future__ import annotations

import sqlite3

from host.retention import Removal


def remove(connection: sqlite3.Connection, removal: Removal) -> bool:
    """False, and nothing is changed, when the run has moved on."""
    execute = connection.execute
    run_id = removal.run_id
    gone = execute(
        "DELETE FROM runs WHERE run_id = ? AND version = ?", (run_id, removal.version)
    ).rowcount
    if gone != 1:
        return False
    execute("DELETE FROM log WHERE run_id = ?", (run_id,))
    for interrupt_id in removal.interrupts:
        for table in ("interrupts", "asked", "messages", "links"):
            execute(f"DELETE FROM {table} WHERE interrupt_id = ?", (interrupt_id,))  # noqa: S608
    for match_key in removal.match_keys:
        for interrupt_id in removal.interrupts:
            execute(
                "DELETE FROM ended_waits WHERE match_key = ? AND interrupt_id = ?",
                (match_key, interrupt_id),
            )
    tenant = run_id.partition("/")[0]
    for conversation in removal.conversations:
        execute(
            "DELETE FROM conversations WHERE tenant = ? AND conversation_id = ?",
            (tenant, conversation),
        )
        execute("DELETE FROM threads WHERE tenant = ? AND thread = ?", (tenant, conversation))
    return True
