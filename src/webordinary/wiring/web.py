"""Putting the dashboard together: what it reads, and how its try-it box sends a mail."""

from __future__ import annotations

import asyncio

from webordinary.core.mail import Letter
from webordinary.dashboard.parts import Parts
from webordinary.mail.smtp.relay import hand_in
from webordinary.ports.backend import Backend
from webordinary.sites.folder_places import ProjectFolder
from webordinary.sites.server import kept_path
from webordinary.system.clock import SystemClock
from webordinary.wiring.folders import sites_folder
from webordinary.wiring.running import LOOPBACK
from webordinary.wiring.settings import Settings
from webordinary.wiring.stores import open_letters, open_publisher


def dashboard_parts(settings: Settings, backend: Backend, *, smtp_port: int, site_address: str) -> Parts:
    """Make what the pages are made of."""
    address, clock, letters = settings.mail.address, SystemClock(), open_letters(settings)

    async def send(sender: str, mail: bytes) -> None:
        if not settings.in_cloud:
            await hand_in(LOOPBACK, smtp_port, sender=sender, recipient=address, mail=mail)
            return
        from webordinary.wiring.cloud_mail import post  # noqa: PLC0415 - its extra is needed only there

        await post(settings, backend, f"try-{clock.unique()}", mail, sender=sender)

    async def sent_mail(letter: Letter) -> bytes | None:
        return await letters.copy(letter.key)

    async def kept(project: str, release: str) -> str:
        folder = ProjectFolder(sites_folder(settings.home), project)
        there = await asyncio.to_thread(folder.has, release)
        return f"{site_address.rstrip('/')}{kept_path(project, release)}" if there else ""

    return Parts(
        backend=backend,
        blobs=backend.blobs,
        clock=clock,
        limits=settings.limits,
        publisher=open_publisher(settings),
        send=send if settings.cloud.mail_bucket or not settings.in_cloud else None,
        sent_mail=sent_mail,
        kept=None if settings.in_cloud else kept,
        mail_address=address,
        site_address=site_address.rstrip("/"),
    )
