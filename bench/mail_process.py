"""A mail server as a process: the real gateway's, or the same SMTP library with nothing behind it."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import replace
from pathlib import Path

from bench.processes import READY
from webordinary.adapters.smtp_gateway import Listening, SmtpGateway
from webordinary.core.lane import Lane
from webordinary.core.mail import Envelope, MailId, MailRecord, MailState
from webordinary.core.site import Member, Project
from webordinary.dispatch.quota import QuotaLimits
from webordinary.wiring.mail import open_mail_room
from webordinary.wiring.settings import load
from webordinary.wiring.stores import open_backend

LANES = 20
ENOUGH = 10**9


async def empty(raw: bytes, _envelope: Envelope) -> MailRecord:
    """Keep nothing."""
    return MailRecord(MailId("none"), "", MailState.IGNORED, f"{len(raw)} bytes", "", "", (), 0.0, "")


async def serve(listening: Listening, home: Path | None) -> None:
    """Serve until told to stop; print the port first, and wait for the word to go as others do."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if home is None:
        gateway = SmtpGateway(listening, empty)
        await _until(stop, gateway)
        return
    settings = load(home, {})
    settings = replace(settings, mail=replace(settings.mail, quotas=QuotaLimits(*[ENOUGH] * 6)))
    backend = open_backend(settings)
    for number in range(LANES):
        await backend.directory.add_project(Project(f"p{number}"))
        await backend.directory.add_member(Member(Lane(f"p{number}", "owner"), f"user{number}@example.com"))
    room = open_mail_room(settings, backend, port=0, trust_loopback=True)
    try:
        await _until(stop, SmtpGateway(room.listening, room.reception.receive))
    finally:
        await room.close()
        backend.close()


async def _until(stop: asyncio.Event, gateway: SmtpGateway) -> None:
    port = await gateway.start()
    print(READY, flush=True)
    print(port, flush=True)
    await stop.wait()
    await gateway.stop()


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    asyncio.run(serve(Listening(port=0), where))
