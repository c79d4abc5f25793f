"""Secrets of a home: made on first use, there as a whole or not at all, and read by their owner only."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from webordinary.core.errors import BadInput
from webordinary.system.durable_folder import make_durable, translated
from webordinary.wiring.settings import Settings

DASHBOARD_TOKEN = "dashboard.token"  # noqa: S105 - the name of a file
ADDRESS_KEY = "token.key"
STORE_ID = "store.id"
BYTES = 32
CHARACTERS_MIN = 16
NAME_DIGITS = 16


def dashboard_token(home: Path) -> str:
    """Give the token that lets somebody change things on the dashboard."""
    return _secret(home / DASHBOARD_TOKEN)


def signing_key(settings: Settings) -> bytes:
    """Give the key that signs our reply addresses; in the cloud all have the same."""
    if settings.in_cloud:
        return settings.cloud.signing_key()
    return _secret(settings.home / ADDRESS_KEY).encode()


def store_identity(settings: Settings) -> str:
    """Name the store that claims come from: a new home has another one, and so have other tables.

    Not by the key that signs addresses, which may be changed while workers run.
    """
    if settings.in_cloud:  # names of buckets are the same for all the world
        which = f"{settings.cloud.prefix} {settings.cloud.bucket('blobs_bucket')}"
    else:
        which = _secret(settings.home / STORE_ID)
    return hashlib.sha256(which.encode()).hexdigest()[:NAME_DIGITS]


def _secret(path: Path) -> str:
    home = path.parent
    with translated(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
        found = path.read_text("utf-8").strip()
    if len(found) < CHARACTERS_MIN:
        raise BadInput(f"{path} holds no secret; remove it and a new one is made")
    return found


def _make(path: Path) -> None:
    """Two processes may do this at once: the first one's is everybody's."""
    spare = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(BYTES))
            file.flush()
            os.fsync(file.fileno())
        _name_once(spare, path)
        make_durable(path.parent)
    finally:
        spare.unlink(missing_ok=True)


def _name_once(spare: Path, path: Path) -> None:
    try:
        path.hardlink_to(spare)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links: the last of those who come at once wins
        spare.rename(path)
