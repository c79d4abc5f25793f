"""A mail server as a process: the real gateway's, or the same SMTP library with nothing behind it.

When it is told to stop it prints for how many mails it waited for the disk how often.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session

from bench.processes import READY
from webordinary.backends.sqlite.engine import Engine
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.dispatch.submit import QuotaLimits
from webordinary.mail.smtp.gateway import SmtpGateway
from webordinary.wiring.mail import open_mail_room
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import load

LANES = 20
ENOUGH = 10**9


class Empty:
    """A handler that keeps nothing."""

    def __init__(self) -> None:
        self.mails = 0

    async def handle_DATA(self, _server: SMTP, _session: Session, _envelope: Envelope) -> str:  # noqa: N802
        self.mails += 1
        return "250 OK"


class Syncs:
    """Counts how often the disk is waited for: commits of the store, and files."""

    def __init__(self) -> None:
        self.count = 0
        transact, fsync = Engine._transact, os.fsync  # noqa: SLF001 - counted where they happen

        def counted_transact(engine: Engine, *arguments: object) -> list[object]:
            self.count += 1
            return transact(engine, *arguments)  # type: ignore[arg-type]

        def counted_fsync(handle: int) -> None:
            self.count += 1
            fsync(handle)

        Engine._transact = counted_transact  # type: ignore[method-assign, assignment]  # noqa: SLF001
        os.fsync = counted_fsync  # type: ignore[assignment]


async def serve_nothing(stop: asyncio.Event) -> None:
    """Serve as the library does, until told to stop."""
    handler, loop = Empty(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(handler, loop=loop), "127.0.0.1", 0)
    print(READY, server.sockets[0].getsockname()[1], sep="\n", flush=True)
    await stop.wait()
    server.close()
    print(handler.mails, 0, flush=True)


async def serve(stop: asyncio.Event, home: Path) -> None:
    """Serve as the gateway does, until told to stop."""
    settings = load(home, {})
    settings = replace(settings, mail=replace(settings.mail, quotas=QuotaLimits(*[ENOUGH] * 6)))
    backend = open_backend(settings)
    for number in range(LANES):
        await backend.directory.add_project(Project(f"p{number}"))
        await backend.directory.add_member(Member(Lane(f"p{number}", "owner"), f"user{number}@example.com"))
    room = open_mail_room(settings, backend, port=0, trust_loopback=True)
    gateway = SmtpGateway(room.listening, room.reception.receive)
    syncs = Syncs()
    try:
        print(READY, await gateway.start(), sep="\n", flush=True)
        await stop.wait()
        await gateway.stop()
        print(len(await backend.mailbox.mails(limit=ENOUGH)), syncs.count, flush=True)
    finally:
        await room.close()
        backend.close()


async def main() -> None:
    """Serve the home that was named, or nothing."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await (serve(stop, Path(sys.argv[1])) if len(sys.argv) > 1 else serve_nothing(stop))


if __name__ == "__main__":
    asyncio.run(main())
