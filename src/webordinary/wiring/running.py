"""What `up` runs on a home folder: written down for the commands that want to reach it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from webordinary.core.errors import BadInput

FILE_NAME = "up.json"
TOKEN_FILE = "dashboard.token"  # noqa: S105 - the name of a file
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Running:
    """A running system: its process and its ports on this machine."""

    pid: int
    smtp_port: int
    http_port: int
    site_port: int

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
        new = home / f"{FILE_NAME}.{self.pid}"
        new.write_text(json.dumps(asdict(self)), "utf-8")
        new.replace(home / FILE_NAME)


def running(home: Path) -> Running | None:
    """Read what runs on a home folder; None if nothing does."""
    try:
        found = Running(**json.loads((home / FILE_NAME).read_text("utf-8")))
        os.kill(found.pid, 0)
    except (OSError, ValueError, TypeError):
        return None
    return found


def forget(home: Path) -> None:
    """Nothing runs any more."""
    with contextlib.suppress(OSError):
        (home / FILE_NAME).unlink()


def free_port(port: int, what: str, flag: str) -> int:
    """Check that a port can be listened on; 0 gives a free one."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
        except OSError as error:
            raise BadInput(
                f"port {port} can't be used for {what}: {error.strerror}. Name another with {flag}, "
                f"or {flag} 0 for a free one"
            ) from error
        return int(trial.getsockname()[1])


def dashboard_token(home: Path) -> str:
    """Read the token that lets somebody change things on the dashboard; made on first use."""
    path = home / TOKEN_FILE
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(24))
    token = path.read_text("utf-8").strip()
    if not token:
        raise BadInput(f"{path} holds no token; remove it and a new one is made")
    return token


async def answers(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
