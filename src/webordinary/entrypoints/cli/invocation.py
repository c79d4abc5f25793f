"""How this program was called, so that what it tells people to type works where they stand."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from webordinary.wiring.settings import home_folder

NAME = "webordinary"


def own_command() -> list[str]:
    """The words that start this very program again, whatever folder we stand in."""
    return [sys.executable, "-P", "-m", "webordinary"]


def typed(*words: str, home: Path | None = None) -> str:
    """A command to type: as short as it can be, with --home only where it is needed."""
    where = [] if home is None or home == home_folder(None) else ["--home", str(home)]
    return shlex.join([_shortest_name(), *words, *where]).replace(f"'{_shortest_name()}'", _shortest_name())


def _shortest_name() -> str:
    called = Path(sys.argv[0])
    if called.name != NAME:
        called = Path(sys.executable).with_name(NAME)
    if not called.exists():
        return f"{sys.executable} -m webordinary"
    found = shutil.which(NAME)
    if found and Path(found).exists() and Path(found).samefile(called):
        return NAME
    relative = os.path.relpath(called)
    return relative if len(relative) < len(str(called.absolute())) else str(called.absolute())
