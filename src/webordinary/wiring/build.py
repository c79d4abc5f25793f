"""Putting it together: the one place that picks the backend, the handler and the clock."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

from webordinary.adapters.handlers.builtin import Echo, Sleep
from webordinary.adapters.handlers.command import Command, find_program
from webordinary.adapters.handlers.narrated import Narrated
from webordinary.adapters.system_clock import SystemClock
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.claim.worker import Shape, Worker
from webordinary.core.claim import Presence, WorkerId
from webordinary.core.errors import BadInput
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.handler import Handler
from webordinary.wiring.settings import Settings

TERMINATE_SHARE = 0.8  # of the stop grace, for a program to end by itself; the rest is for killing it


def open_backend(settings: Settings, clock: Clock | None = None) -> Backend:
    """Open the store of a home folder, creating it if need be."""
    return open_sqlite(settings.home, clock or SystemClock(), settings.limits)


def store_path(home: Path) -> Path:
    """Say where the store of a home folder lives."""
    return home / STORE_NAME


def blobs_folder(home: Path) -> Path:
    """Say where a home folder keeps raw mail and files."""
    return home / "blobs"


def build_handler(settings: Settings) -> Handler:
    """Make whoever carries jobs out, told to the log when it starts and ends one."""
    return Narrated(_handler(settings))


def _handler(settings: Settings) -> Handler:
    match settings.handler:
        case "echo":
            return Echo()
        case "sleep":
            return Sleep()
        case _:
            return _command(settings)


def _command(settings: Settings) -> Handler:
    if not settings.command:
        raise BadInput(
            "the command handler needs a program: write it after --, as in `worker -- python3 edit.py`"
        )
    if find_program(settings.command[0]) is None:
        raise BadInput(f"there is no program {settings.command[0]!r} that can be run here")
    return Command(settings.command, settings.limits.stop_grace_seconds * TERMINATE_SHARE)


def build_worker(settings: Settings, backend: Backend, shape: Shape) -> tuple[Presence, Worker]:
    """Make a worker with a name that no other start will ever have."""
    clock = SystemClock()
    host, pid = short_host(), os.getpid()
    name = WorkerId(f"{host}.{pid}.{clock.unique()[-6:]}")
    presence = Presence(name, settings.slots, clock.now(), host=host, pid=pid)
    return presence, Worker(presence, backend.broker, build_handler(settings), clock, settings.limits, shape)


def short_host() -> str:
    """Name this machine, without its domain."""
    return re.sub(r"[^a-z0-9-]", "", socket.gethostname().split(".")[0].lower())[:20] or "here"
