"""No sandbox at all, for whoever trusts every sender: the same folders and limits, but the whole machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from webordinary.core.work import Room
from webordinary.sandbox.bubblewrap import RELAY, SYSTEM_PATH, find_program, own_python
from webordinary.sandbox.sandbox import RunLimits, VisiblePaths, Wrapped

REAPER = Path(__file__).with_name("reaper.py")


class Unconfined:
    """See `Sandbox`. The environment is a clean one and no offspring is left, but nothing is out of reach."""

    confines = False

    def seen(self, room: Room) -> VisiblePaths:
        """See `Sandbox.seen`."""
        return VisiblePaths(room.tree, room.mail, room.home)

    def wrap(
        self,
        command: Sequence[str],
        room: Room,
        *,
        environment: Mapping[str, str],
        run_limits: RunLimits,
        visible: Sequence[Path] = (),  # noqa: ARG002 - everything is visible
        socket: Path | None = None,
        network: bool = False,  # noqa: ARG002 - it has all of it
    ) -> Wrapped:
        """See `Sandbox.wrap`."""
        python = own_python().path
        inner = [find_program(command[0]).path, *command[1:]]
        if socket is not None:
            inner = [python, "-I", "-S", str(RELAY), str(socket), "--", *inner]
        own = {
            "PATH": os.environ.get("PATH", ":".join(SYSTEM_PATH)),
            "HOME": str(room.home),
            "TMPDIR": str(room.home),
            "LANG": "C.UTF-8",
        }
        settings = [f"{name}={value}" for name, value in (own | dict(environment)).items()]
        reaper = (python, "-I", "-S", str(REAPER), str(room.tree), str(run_limits.file_bytes), "--")
        return Wrapped(("/usr/bin/env", "-i", *settings, *reaper, *inner), self.seen(room), room)
