"""Sessions: runs that one person sees as one stream, under an id that the client chose.

A session is a document: its runs, its checkpoints, the context it was opened with, and when the last response
to it was complete. It is an index for showing and for finding; no answer depends on it but for one check:
a question is answered in the session that it was asked in (kortyx: resume outcomes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from host.store.documents import Documents
from schemas.errors import Refusal

KIND: Final = "chat-session"
MOST_RUNS: Final = 50
MOST_CHECKPOINTS: Final = 50
LIFE_MS: Final = 90 * 86_400_000
"""From its last use."""

_ATTEMPTS: Final = 50


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a turn of a session ended. `seq` is the number of events that its run had then."""

    id: str
    turn: int
    run_id: str
    seq: int
    at: int
    label: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class ChatSession:
    """One session. `runs` are roots, the newest last; `completed` says when each one's response was."""

    session_id: str
    runs: tuple[str, ...] = ()
    turns: int = 0
    context: dict[str, Any] = field(default_factory=dict)
    checkpoints: tuple[Checkpoint, ...] = ()
    completed: dict[str, int] = field(default_factory=dict)
    forked_from: str = ""

    def with_run(self, run_id: str) -> ChatSession:
        """With this run as the newest one."""
        kept = [one for one in self.runs if one != run_id][1 - MOST_RUNS :]
        runs = (*kept, run_id)
        completed = {name: at for name, at in self.completed.items() if name in runs}
        return replace(self, runs=runs, completed=completed)

    def with_turn(self, checkpoint: Checkpoint) -> ChatSession:
        """With a turn that has ended: its checkpoint, and that its response is complete."""
        kept = (*self.checkpoints, checkpoint)[-MOST_CHECKPOINTS:]
        completed = {**self.completed, checkpoint.run_id: checkpoint.at}
        return replace(self, checkpoints=kept, turns=checkpoint.turn, completed=completed)


class ChatSessions:
    """The sessions of all tenants, in the store's documents."""

    def __init__(self, documents: Documents, clock: Callable[[], int]) -> None:
        self._documents = documents
        self._clock = clock

    async def find(self, tenant: str, session_id: str) -> ChatSession | None:
        """The session, or None when it is not known (any more)."""
        found = await self._documents.get(KIND, f"{tenant}/{session_id}", self._clock())
        return _load(session_id, found.value) if found else None

    async def change(
        self, tenant: str, session_id: str, how: Callable[[ChatSession], ChatSession]
    ) -> ChatSession:
        """Make a change, on whatever others have made meanwhile; a new session if there is none.

        Raises `Refusal` (`sayso.unavailable`) when others were first fifty times in a row.
        """
        key = f"{tenant}/{session_id}"
        for _ in range(_ATTEMPTS):
            now = self._clock()
            found = await self._documents.get(KIND, key, now)
            before = _load(session_id, found.value) if found else ChatSession(session_id)
            after = how(before)
            expected = found.version if found else 0
            if await self._documents.put(
                KIND, key, asdict(after), now, expected=expected, expires_at=now + LIFE_MS
            ):
                return after
        raise Refusal("sayso.unavailable", "This session changes too fast right now. Try again.")


def _load(session_id: str, raw: dict[str, Any]) -> ChatSession:
    return ChatSession(
        session_id=session_id,
        runs=tuple(raw["runs"]),
        turns=raw["turns"],
        context=raw["context"],
        checkpoints=tuple(Checkpoint(**one) for one in raw["checkpoints"]),
        completed=raw["completed"],
        forked_from=raw["forked_from"],
    )
