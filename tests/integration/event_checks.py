"""Every event that a test makes a gateway write is checked, in both protocol versions.

What is checked is what would leave the gateway: the rendered document, against the models and against
the exported JSON Schema.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import orjson
import pytest

from gateway.wire import event_doc
from host.store.records import Commit, StoredEvent
from schemas.events import check_event
from schemas.export import FOLDER
from schemas.versions import VERSIONS, ProtocolVersion

_LOGS = (
    ("host.store.sqlite.log", "SqliteLog"),
    ("host.store.postgres.log", "PostgresLog"),
)


@pytest.fixture(autouse=True)
def every_event_is_checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[StoredEvent]]:
    """Records what is appended, and checks it when the test is over. Yields what was recorded."""
    written: list[StoredEvent] = []
    for module, name in _LOGS:
        log = getattr(importlib.import_module(module), name)
        monkeypatch.setattr(log, "append", _recording(log.append, written))
    yield written
    for event in written:
        check_everywhere(event)


def _recording(append: Any, written: list[StoredEvent]) -> Any:
    async def recording(self: Any, commit: Commit) -> None:
        await append(self, commit)
        run = commit.run.run_id
        # Through JSON, as every reader gets it: no tuple and no other Python of ours survives that.
        events = orjson.loads(orjson.dumps(commit.events))
        written.extend(
            StoredEvent(
                run,
                commit.expected + i,
                commit.at,
                e["type"],
                e["payload"],
                e["node_id"],
                e["record"],
            )
            for i, e in enumerate(events)
        )

    return recording


def check_everywhere(event: StoredEvent) -> None:
    """Raises unless the event may leave the gateway at every version."""
    for version in VERSIONS:
        doc = event_doc(event, version)
        check_event(doc, version)
        exported(version).validate(doc)


@cache
def exported(version: ProtocolVersion) -> Any:
    """The validator of the committed document of all events."""
    text = (FOLDER / f"run-events-{version}.schema.json").read_text("utf-8")
    return jsonschema_rs.validator_for(orjson.loads(text))
