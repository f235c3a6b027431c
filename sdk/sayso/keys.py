"""The names that make an answer durable, and the spelling of ids in a path. Pure.

A question is named by its run and its interrupt key. Both are derived from what the program says
and from nothing else, so the same program, run again, asks the same question and gets the stored
answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from typing import Any, Final

MAX_KEY: Final = 256
_NODE: Final = re.compile(r"[A-Za-z0-9._~:-]{1,128}")
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def path_id(value: str) -> str:
    """An id as one path segment: each byte outside A-Z a-z 0-9 . _ - becomes "~" and two hex digits
    (`acme/r1` -> `acme~2Fr1`)."""
    if not value.strip("."):  # "", "." and "..": plain, but a path would swallow them
        return "".join(f"~{byte:02X}" for byte in value.encode())
    return "".join(chr(b) if b in _PLAIN else f"~{b:02X}" for b in value.encode())


def run_idempotency_key(key: str | None) -> str:
    """The Idempotency-Key of `POST /runs`: the same for the same `key`, a new one for None."""
    if key is None:
        return f"sayso-once-{uuid.uuid4().hex}"
    if not key or len(key) > MAX_KEY:
        raise ValueError(f"a run key has 1 to {MAX_KEY} characters")
    return f"sayso-run-{hashlib.sha256(key.encode()).hexdigest()}"


def report_idempotency_key(run_id: str, key: str) -> str:
    """The Idempotency-Key of an agent's report: the same for the same `key` of a run."""
    return f"sayso-report-{hashlib.sha256(json.dumps([run_id, key]).encode()).hexdigest()}"


def check_run_id(run_id: str) -> str:
    """`run_id`, if it has the form of one. Raises `ValueError`."""
    tenant, slash, rest = run_id.partition("/")
    if not (tenant and slash and rest):
        raise ValueError(f"{run_id!r} is no run id: it looks like main/01m8n5aj2t8wxsfexw0m7q71ng")
    return run_id


def check_node(node: str) -> str:
    """`node`, if the gateway would take it. Raises `ValueError`."""
    if not _NODE.fullmatch(node):
        raise ValueError(f"node {node!r}: use 1 to 128 of A-Z a-z 0-9 . _ ~ : -")
    return node


def check_key(key: str) -> str:
    """`key`, if the gateway would take it. Raises `ValueError`."""
    if not 1 <= len(key) <= MAX_KEY:
        raise ValueError(f"an interrupt key has 1 to {MAX_KEY} characters")
    return key


def fingerprint(kind: str, data: Any) -> str:
    """16 hex digits that name a question by what it asks.

    In a derived key it makes sure that an answer is never taken for an answer to something else: a
    changed question is a new question. Raises `ValueError` for data that isn't JSON.
    """
    try:
        text = json.dumps([kind, data], sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"what is asked has to be JSON: {error}") from None
    return hashlib.sha256(text.encode()).hexdigest()[:16]
