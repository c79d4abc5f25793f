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


def job_facts(patch: str, picture: str) -> Any:  # noqa: ANN401 - typed facts; older checkouts: texts by name
    """What a job leaves that changed a title."""
    commit, release, asked = "4be1f0c9d2" * 4, "5f0b6a7712aa" * 2, "Asked: change the title — I changed it."
    try:
        facts = importlib.import_module("webordinary.core.facts")
    except ModuleNotFoundError:
        pictures = f"{picture} {picture} index.html"
        texts = {"commit": commit, "release": release, "patch": patch, "pictures": pictures}
        return {**texts, "changes": "index.html: it is “New”\n" * 4, "recap": f"{asked}\n" * 6}
    pages = importlib.import_module("webordinary.core.page_changes")
    changes = (pages.PageChange(pages.PageChangeKind.TITLE, old="Old", new="New"),) * 4
    preview = facts.PreviewFacts(
        commit,
        release,
        changes=changes,
        patch=patch,
        pictures=(facts.PagePictures("index.html", picture, picture),),
    )
    return facts.Facts(preview=preview, memory=facts.SessionMemory(recap=(asked,) * 6))


__all__ = ["FolderBlobs", "SystemClock", "job_facts", "webordinary"]
