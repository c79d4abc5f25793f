"""What `up` runs on a home folder: written down for the commands that want to reach it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from webordinary.core.errors import BadInput, NotAllowed
from webordinary.system.durable_folder import translated

FILE_NAME = "up.json"
LOCK_FILE = "up.lock"
LOOPBACK = "127.0.0.1"
EVERYWHERE = {"": LOOPBACK, "0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - where to look for such a listener
GLANCE_SECONDS = 0.5  # far longer than somebody who only looks holds the lock
GLANCE_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Running:
    """A running system: its process and its ports on this machine."""

    pid: int
    smtp_port: int
    http_port: int
    site_port: int
    leaving: bool = False  # it is to end: nothing answers any more, running jobs may finish

    @property
    def dashboard(self) -> str:
        """Where the dashboard is."""
        return f"http://{LOOPBACK}:{self.http_port}/"

    @property
    def sites(self) -> str:
        """Where the sites are."""
        return f"http://{LOOPBACK}:{self.site_port}/"

    def write(self, home: Path) -> None:
        """Write it down, as a whole or not at all."""
        new = home / f"{FILE_NAME}.new"
        with translated(home):
            new.write_text(json.dumps(asdict(self)), "utf-8")
            new.replace(home / FILE_NAME)


@contextlib.contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Be the only `up` of a home folder while this lasts.

    The lock goes with the process however that ends; a process id that was written down would not.
    """
    with translated(home):
        lock = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _taken(lock):
            raise NotAllowed(_who_runs(home))
        _forget(home)  # what a killed one left
        try:
            yield
        finally:
            _forget(home)
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    deadline = time.monotonic() + GLANCE_SECONDS
    while not _try_lock(lock, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            return False
        time.sleep(GLANCE_LOOK_SECONDS)
    return True


def _try_lock(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _who_runs(home: Path) -> str:
    other = running(home)
    if other is None:
        return f"another `up` is just starting on {home}: use that one, or another --home"
    if other.leaving:
        return f"{home} is just coming down (pid {other.pid}): start it again when that has ended"
    return (
        f"{home} is up already (pid {other.pid}, dashboard {other.dashboard}): "
        "use that one, or another --home"
    )


def running(home: Path) -> Running | None:
    """Read what runs on a home folder; None if nothing does."""
    try:
        lock = os.open(home / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _try_lock(lock, fcntl.LOCK_SH):
                return None
        finally:
            os.close(lock)
        return Running(**json.loads((home / FILE_NAME).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _forget(home: Path) -> None:
    with contextlib.suppress(OSError):
        (home / FILE_NAME).unlink()


# --- ports ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WantedPort:
    """A port that somebody wants to listen on; 0 is any free one."""

    port: int
    what: str
    flag: str
    host: str = LOOPBACK


def chosen_ports(wishes: Sequence[WantedPort]) -> list[int]:
    """Check that all of them can be listened on, and differ; each 0 becomes a free one."""
    named: dict[int, WantedPort] = {}
    for wish in wishes:
        if wish.port and (first := named.setdefault(wish.port, wish)) is not wish:
            raise BadInput(
                f"port {wish.port} can't be both for {first.what} ({first.flag}) and for {wish.what} "
                f"({wish.flag}). Name another for one of them, or 0 for a free one"
            )
    taken = {wish.port: free_port(wish.port, wish.what, wish.flag, wish.host) for wish in named.values()}
    return [taken[wish.port] if wish.port else _another(wish, taken) for wish in wishes]


def _another(wish: WantedPort, taken: dict[int, int]) -> int:
    """A free port that nobody else was given: nobody listens on those yet."""
    while (port := free_port(0, wish.what, wish.flag, wish.host)) in taken:
        pass
    return taken.setdefault(port, port)


def free_port(port: int, what: str, flag: str, host: str = LOOPBACK) -> int:
    """Check that a port can be listened on; 0 gives a free one."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            raise BadInput(
                f"port {port} can't be used for {what}: {error.strerror}. Name another with {flag}, "
                f"or {flag} 0 for a free one"
            ) from error
        return int(trial.getsockname()[1])


async def answers(port: int, host: str = LOOPBACK) -> bool:
    """Whether somebody listens on a port of this machine."""
    try:
        _, writer = await asyncio.open_connection(EVERYWHERE.get(host, host), port)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


# --- who may change things ------------------------------------------------------------------------
