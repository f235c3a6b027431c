"""Writes what a Sayso of this tree keeps in its store as JSON: the fixtures of the upgrade tests.

    cd <a checkout of that version> && python <this file> sqlite  OUT.json
    cd <a checkout of that version> && python <this file> postgres OUT.json postgresql://…/empty

It imports nothing but that version's own packages, so that it runs with all of them.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import aiohttp

sys.path.insert(0, str(Path.cwd()))

from config.settings import Settings
from gateway.auth import Key, digest
from gateway.lifecycle import Gateway

try:
    from host.store.shelf import ShelvedEvent
except ModuleNotFoundError:  # before it had a module of its own
    from host.store.port import ShelvedEvent  # type: ignore[no-redef,attr-defined]

_KEY = "full-key-0123456789"
_SCOPES = {"runs:create", "runs:read", "runs:cancel", "approvals:respond", "webhooks:manage"}


def _approval(key: str, **data: Any) -> dict[str, Any]:
    base = {"artifactId": "a", "artifactType": "refund", "title": "Refund é"}
    return {
        "kind": "approval",
        "key": key,
        "data": {**base, "actions": ["accept", "reject", "ask"], **data},
    }


_WAIT = {
    "kind": "external-event",
    "key": "waiting",
    "data": {"eventType": "paid", "correlation": {"order": "7"}},
}
_CLARIFY = {
    "kind": "clarification",
    "key": "clarify",
    "data": {
        "questions": [
            {"id": "q", "question": "Which?", "schema": {"type": "string", "maxLength": 80}}
        ]
    },
}


async def main(kind: str, out: Path, url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        settings: dict[str, Any] = {"http": {"port": 0}, "data_dir": data, "tenant": "acme"}
        if kind == "postgres":
            settings["store"] = {"url": url}
        gateway = Gateway(
            Settings(**settings, approvals={"unlisted": "anyone"}),
            [Key("robot", digest(_KEY), "acme", frozenset(_SCOPES))],
        )
        await gateway.start()
        try:
            await _fill(gateway)
        finally:
            await gateway.stop()
        found = await _postgres(url) if kind == "postgres" else _sqlite(data / "sayso.db")
    out.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


async def _fill(gateway: Gateway) -> None:
    headers = {"Authorization": f"Bearer {_KEY}"}
    async with aiohttp.ClientSession(gateway.url, headers=headers) as session:

        async def post(path: str, body: Any, key: str = "") -> Any:
            sent = {"Idempotency-Key": key} if key else {}
            async with session.post(path, json=body, headers=sent) as response:
                answer = await response.json()
                assert response.status < 300, (path, response.status, answer)
                return answer

        async def ask(payload: dict[str, Any]) -> str:
            run = (await post("/runs", {"workflowId": "sayso.external"}))["statusUrl"]
            body = {"nodeId": "gate", "payload": payload, "notify": ["web:"]}
            await post(f"/host/sayso{run}/interrupts", body)
            return f"{run}/interrupts/gate"

        await ask(_approval("open"))
        await ask(_CLARIFY)
        await ask(_WAIT)
        resolved = await ask(_approval("resolved"))
        await post(
            resolved, {"resumeValue": {"action": "accept"}}, "the-idempotency-key-of-resolved"
        )
        cancelled = await ask(_approval("cancelled"))
        await post(cancelled.removesuffix("/interrupts/gate") + "/cancel", {})
        for event_id in ("evt_kept", "evt_unmapped"):
            mapped = event_id == "evt_kept"
            event = ShelvedEvent(
                source="shop",
                event_id=event_id,
                tenant="acme",
                event_type="shipped" if mapped else "sayso.unmapped",
                match_key="0" * 64 if mapped else None,
                payload={"order": 8},
                received_at=1_790_000_000_000,
                correlation={"order": "8"} if mapped else {},
            )
            await gateway.host.store.shelf.file(event, b'{"raw": true}')
        async with asyncio.timeout(60):  # the workers have had their turn
            while not await _shelved(gateway):
                await asyncio.sleep(0.02)


async def _shelved(gateway: Gateway) -> bool:
    found = await gateway.host.store.shelf.due(2**50, 10)
    return not found


def _sqlite(path: Path) -> dict[str, Any]:
    with sqlite3.connect(path) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
        ).fetchall()
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        return {"version": version, "tables": {t: _rows(connection, t) for (t,) in sorted(tables)}}


def _rows(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor]


async def _postgres(url: str) -> dict[str, Any]:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        )
        version = await connection.fetchval("SELECT max(version) FROM sayso_schema")
        found = {}
        for (table,) in tables:
            if table != "sayso_schema":
                rows = await connection.fetch(f"SELECT * FROM {table}")
                found[table] = [{k: _plain(v) for k, v in row.items()} for row in rows]
        return {"version": version, "tables": found}
    finally:
        await connection.close()


def _plain(value: Any) -> Any:
    """Bytes are JSON here, so they stay readable."""
    return {"bytes": value.decode()} if isinstance(value, bytes) else value


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))
