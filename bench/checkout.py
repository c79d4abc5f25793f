"""What the bench uses of the package, by the names of this checkout and of older ones.

`--before` measures an older checkout with the same bench, so what has moved is looked for in both places.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webordinary.backends.folder_blobs import FolderBlobs
    from webordinary.entrypoints.cli.main import main as webordinary
    from webordinary.system.clock import SystemClock


def _found(name: str, *modules: str) -> Any:  # noqa: ANN401 - typed where it is used
    for module in modules:
        try:
            return getattr(importlib.import_module(f"webordinary.{module}"), name)
        except ModuleNotFoundError as error:
            if not f"webordinary.{module}".startswith(error.name or "-"):
                raise
    raise ImportError(f"this checkout has no {name}")


if not TYPE_CHECKING:
    SystemClock = _found("SystemClock", "system.clock", "adapters.system_clock")
    FolderBlobs = _found("FolderBlobs", "backends.folder_blobs", "adapters.folder_blobs")
    webordinary = _found("main", "entrypoints.cli.main", "cli.main")

__all__ = ["FolderBlobs", "SystemClock", "webordinary"]
