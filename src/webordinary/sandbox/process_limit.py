"""A hard limit on how many processes a run may have, kept by the kernel where a cgroup can be made.

The watchdog looks twenty times a second and kills; a fork bomb of a root worker, which `RLIMIT_NPROC` does
not bind, could take the machine in between. Where no cgroup can be made (not root, or none mounted) the
resource limit binds, and the watchdog is all there is beside it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOTS = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))  # of version 1, of version 2
MARGIN = 64  # so that the watchdog sees who went over, and says so
_ENTER = 'echo $$ > "$0" && exec "$@"'
_TRIES, _PAUSE_SECONDS = 20, 0.01


class ProcessLimit:
    """A group that a command enters before anything of it runs."""

    def __init__(self, processes: int) -> None:
        """Make the group, if that is possible here."""
        self._folder = _made(processes + MARGIN) if os.geteuid() == 0 else None

    def __enter__(self) -> Self:
        """Have it for the length of a run."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the group; the last of its processes may take a moment to go."""
        if self._folder is None:
            return
        for _ in range(_TRIES):
            with contextlib.suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(_PAUSE_SECONDS)

    def holding(self, command: Sequence[str]) -> list[str]:
        """The command, which enters the group first."""
        if self._folder is None:
            return list(command)
        return ["/bin/sh", "-c", _ENTER, str(self._folder / "cgroup.procs"), *command]


def _made(processes: int) -> Path | None:
    for root in ROOTS:
        folder = root / f"webordinary-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / "pids.max").write_text(str(processes))
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        return folder
    return None
