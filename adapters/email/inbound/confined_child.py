"""The child of `confined`: reads questions from its standard input until that ends.

    python -m adapters.email.inbound.confined_child BYTES-OF-MEMORY

A question is a function and its arguments, pickled, behind its length in four bytes; so is an answer.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import sys
from typing import BinaryIO

from adapters.email.inbound import dkim_check, reading
from adapters.email.inbound.bounds import Unreadable

ALONE = 60
"""Seconds for one question, far beyond what a parent waits."""
LOADED = (dkim_check, reading)
"""What is asked for, imported before the first question: a start is no part of a mail's time."""


def main(memory: int) -> None:
    """Answer until the parent is gone."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the parent's, who ends us
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory)):
        with contextlib.suppress(ValueError, OSError):  # lower already, or none on this system
            resource.setrlimit(limit, (most, most))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not answer
    _write(answers, ("ready", None))
    questions = sys.stdin.buffer
    while head := questions.read(4):
        asked = questions.read(int.from_bytes(head, "big"))
        # The signal's own action ends us inside of whatever hangs, should our parent be gone by then.
        signal.alarm(ALONE)
        answer = _answered(asked)
        signal.alarm(0)
        _write(answers, answer)


def _answered(asked: bytes) -> tuple[str, object]:
    try:
        function, arguments = pickle.loads(asked)  # noqa: S301 - from our parent
        return "done", function(*arguments)
    except Unreadable as why:
        return "unreadable", str(why)
    except MemoryError:
        return "broken", "it takes too much memory"
    except Exception as error:
        return "broken", type(error).__name__


def _write(answers: BinaryIO, answer: tuple[str, object]) -> None:
    written = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    answers.write(len(written).to_bytes(4, "big"))
    answers.write(written)
    answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
