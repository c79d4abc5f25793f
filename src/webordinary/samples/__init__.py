"""Sample sites as plain files: two to try things on, and a starter for a project without a repository."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from webordinary.core.errors import NotFound

NAMES = ("amelia", "bakery", "starter")


def folder(name: str) -> Path:
    """The folder of a sample site. Copy it; never change it."""
    if name not in NAMES:
        raise NotFound(f"there is no sample site {name!r}; there are {', '.join(NAMES)}")
    return Path(str(files(__name__))) / name
