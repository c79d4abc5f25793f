"""Putting the dashboard together: what it reads, and how its try-it box sends a mail."""

from __future__ import annotations

import asyncio
from pathlib import Path

from webordinary.adapters.folder_mailer import file_name
from webordinary.adapters.smtp_client import hand_in
from webordinary.adapters.system_clock import SystemClock
from webordinary.core.mail import Letter
from webordinary.dashboard.parts import Parts
from webordinary.ports.backend import Backend
from webordinary.wiring.folders import outbox_folder
from webordinary.wiring.running import LOOPBACK
from webordinary.wiring.settings import Settings
from webordinary.wiring.stores import open_blobs, open_publisher


def dashboard_parts(settings: Settings, backend: Backend, *, smtp_port: int, site_address: str) -> Parts:
    """Make what the pages are made of."""
    home, address = settings.home, settings.mail.address

    async def send(sender: str, mail: bytes) -> None:
        await hand_in(LOOPBACK, smtp_port, sender=sender, recipient=address, mail=mail)

    async def sent_mail(letter: Letter) -> bytes | None:
        path = outbox_folder(home) / file_name(f"{letter.about}.{letter.kind}")
        return await asyncio.to_thread(_read, path)

    return Parts(
        backend=backend,
        blobs=open_blobs(settings),
        clock=SystemClock(),
        limits=settings.limits,
        publisher=open_publisher(settings),
        send=None if settings.in_cloud else send,  # there mail comes in by the mail service only
        sent_mail=None if settings.in_cloud else sent_mail,  # and leaves by it
        mail_address=address,
        site_address=site_address.rstrip("/"),
    )


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
