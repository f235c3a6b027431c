"""Reading sessions: the fold of a run's log, kept in memory and caught up with what was appended since.

A session is stored nowhere but in its log. Each process remembers the folds it used last; another replica's
appends are read from the log before anything is decided, so a memory is never older than its run.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

from host.decisions.session import WORKFLOW, Session
from host.decisions.session_fold import fold
from host.decisions.state import Run
from host.history import told
from host.store.port import Log

_PAGE: Final = 1000
_MOST: Final = 256


def run_id_of(tenant: str, session_id: str) -> str:
    """The run of a session. Session ids are the caller's own text: a digest fits the grammar of run ids."""
    return f"{tenant}/s-{hashlib.sha256(session_id.encode()).hexdigest()[:40]}"


class Sessions:
    """Folds of sessions, the least recently used one forgotten first."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._known: OrderedDict[str, tuple[int, Session | None]] = OrderedDict()

    async def of(self, run: Run) -> Session | None:
        """The session of a run as of `run.version`; None for a run that is no session."""
        if run.workflow_id != WORKFLOW:
            return None
        version, session = self._known.get(run.run_id, (0, None))
        if version > run.version:  # somebody read a newer head meanwhile: fold anew, as asked
            version, session = 0, None
        while version < run.version:
            events = await self._log.events(run.run_id, version - 1, _PAGE)
            if not events:
                break
            for event in events:
                if event.sequence == version and version < run.version:
                    session = fold(session, told(event))
                    version += 1
            if events[-1].sequence >= run.version:
                break
        self._remember(run.run_id, version, session)
        return session

    def _remember(self, run_id: str, version: int, session: Session | None) -> None:
        known = self._known.get(run_id)
        if known is None or known[0] <= version:
            self._known[run_id] = version, session
        self._known.move_to_end(run_id)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
