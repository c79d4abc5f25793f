"""Putting a worker together: who carries its jobs out, its clock and its name."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from webordinary.agents.handlers import Command, Echo, Logged, Sleep, find_program
from webordinary.claim.worker import Shape, Worker
from webordinary.core.claim import Presence, WorkerId
from webordinary.core.errors import BadInput
from webordinary.ports.backend import Backend
from webordinary.ports.handler import Handler
from webordinary.system.clock import SystemClock
from webordinary.wiring.container import task_name
from webordinary.wiring.settings import Settings
from webordinary.wiring.work import check_workshop, open_workshop

TERMINATE_SHARE = 0.8  # of the stop grace, for a program to end by itself; the rest is for killing it


async def _nothing() -> None:
    """There is nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Hands:
    """Whoever carries jobs out, what to call it, and how to let go of it."""

    handler: Handler
    name: str
    close: Callable[[], Awaitable[None]] = _nothing


def name_of_hands(settings: Settings) -> str:
    """Say who will carry jobs out; what can't be run here is refused."""
    if settings.handler == "command":
        _command(settings)
    if settings.handler != "site":
        return f"handler {settings.handler}"
    agent, why = check_workshop(settings)
    return f"agent {agent} ({why})"


def build_hands(settings: Settings, backend: Backend) -> Hands:
    """Make whoever carries jobs out, told to the log when it starts and ends one."""
    match settings.handler:
        case "echo":
            return Hands(Logged(Echo()), name_of_hands(settings))
        case "sleep":
            return Hands(Logged(Sleep()), name_of_hands(settings))
        case "command":
            return Hands(Logged(_command(settings)), name_of_hands(settings))
        case _:
            name = name_of_hands(settings)
            workshop = open_workshop(settings, backend, SystemClock())
            return Hands(Logged(workshop.performance), name, workshop.close)


def _command(settings: Settings) -> Handler:
    if not settings.command:
        raise BadInput(
            "the command handler needs a program: write it after --, as in `worker -- python3 edit.py`"
        )
    if find_program(settings.command[0]) is None:
        raise BadInput(f"there is no program {settings.command[0]!r} that can be run here")
    return Command(settings.command, settings.limits.stop_grace_seconds * TERMINATE_SHARE)


def build_worker(settings: Settings, backend: Backend, hands: Hands, shape: Shape) -> tuple[Presence, Worker]:
    """Make a worker with a name that no other start will ever have."""
    clock = SystemClock()
    host, pid = short_host(), os.getpid()
    # The last part also tells two starts within one task apart.
    name = WorkerId(f"{task_name() or f'{host}.{pid}'}.{clock.unique()[-6:]}")
    presence = Presence(name, settings.slots, clock.now(), host=host, pid=pid)
    return presence, Worker(presence, backend.broker, hands.handler, clock, settings.limits, shape)


def short_host() -> str:
    """Name this machine, without its domain."""
    return re.sub(r"[^a-z0-9-]", "", socket.gethostname().split(".")[0].lower())[:20] or "here"
