"""Runs a command and ends all its offspring with it: what a pid namespace does, as far as that goes.

`python3 reaper.py FOLDER FILE_BYTES -- command...`. What the command leaves behind becomes a child of this
process, which kills it, and so do the end of the command and the death of whoever started this.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    """Run the command, wait for it, end the rest."""
    folder, file_bytes, command = sys.argv[1], int(sys.argv[2]), sys.argv[4:]
    parent = os.getppid()
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: _end(128 + signal.SIGTERM))
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        return
    child = os.fork()
    if child == 0:
        _become(command, folder, file_bytes)
    ended, status = 0, 0
    while ended != child:
        ended, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    _end(code if code >= 0 else 128 - code)


def _become(command: list[str], folder: str, file_bytes: int) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores both, and the command would inherit it
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.setsid()
        os.chdir(folder)
        os.execvp(command[0], command)  # noqa: S606 - the command is what this is for
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _end(code: int) -> None:
    """Kill the children until there are none; theirs become ours."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            os._exit(code)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123 - few modules, quick start
        return [int(pid) for pid in file.read().split()]


if __name__ == "__main__":
    main()
