"""The other end of a `FunctionPool`: runs one pure function after the other, killable at any time.

Requests come on standard input and answers go out on what was standard output: a length, then a pickle.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import struct
import sys
from typing import IO, Any

LENGTH = struct.Struct("!Q")
GRACE_SECONDS = 1.0  # between a call's time being up and anybody else giving up on it


def main() -> None:
    """Serve until standard input ends."""
    memory_bytes = int(sys.argv[1])
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)  # a stray print must not become an answer
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while (request := _next(requests)) is not None:
        _answer(answers, request)


def _next(requests: IO[bytes]) -> bytes | None:
    head = requests.read(LENGTH.size)
    return requests.read(*LENGTH.unpack(head)) if len(head) == LENGTH.size else None


def _answer(answers: IO[bytes], request: bytes) -> None:
    """Run one call. When its time is up, the alarm ends this process in whatever library it is."""
    seconds, function, arguments = pickle.loads(request)  # noqa: S301 - written by our own parent
    signal.setitimer(signal.ITIMER_REAL, seconds)
    answer = _outcome(function, arguments)
    signal.setitimer(signal.ITIMER_REAL, 0)
    answers.write(LENGTH.pack(len(answer)) + answer)
    answers.flush()


def _outcome(function: Any, arguments: tuple[Any, ...]) -> bytes:  # noqa: ANN401 - any pure function
    try:
        return pickle.dumps((True, function(*arguments)), protocol=5)
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        return pickle.dumps((False, f"{type(error).__name__}: {error}"[:500]), protocol=5)


if __name__ == "__main__":
    main()
