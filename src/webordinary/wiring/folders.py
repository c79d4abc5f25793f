"""What is where in a home folder, and what its store is called."""

from __future__ import annotations

from pathlib import Path

from webordinary.backends.sqlite.open import STORE_NAME
from webordinary.wiring.settings import Settings, WorkSettings


def store_path(home: Path) -> Path:
    """The store."""
    return home / STORE_NAME


def store_name(settings: Settings) -> str:
    """Say where the store is, for people."""
    if settings.in_cloud:
        return f"the cloud's tables {settings.cloud.prefix}-*"
    return str(store_path(settings.home))


def blobs_folder(home: Path) -> Path:
    """Raw mail, files of mails, agents' sessions, patches."""
    return home / "blobs"


def outbox_folder(home: Path) -> Path:
    """Replies: where they go when no relay is set, else copies of them."""
    return home / "outbox"


def sites_folder(home: Path) -> Path:
    """Published sites."""
    return home / "sites"


def repositories_folder(home: Path) -> Path:
    """Repositories of projects that have none elsewhere."""
    return home / "repositories"


def workspace_folder(home: Path, work: WorkSettings) -> Path:
    """Where sites are checked out: can be thrown away at any time."""
    return Path(work.workspace).expanduser().absolute() if work.workspace else home / "workspace"
