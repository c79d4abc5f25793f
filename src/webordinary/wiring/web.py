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
from webordinary.wiring.embedded import sites_folder
from webordinary.wiring.platform import platform_of
from webordinary.wiring.settings import Settings

LOOPBACK = "127.0.0.1"


def dashboard_parts(settings: Settings, backend: Backend, *, smtp_port: int, site_address: str) -> Parts:
    """Make what the pages are made of."""
    platform, address, clock = platform_of(settings), settings.mail.address, SystemClock()
    letters, traits, (publisher, _) = platform.letters(), platform.traits, platform.sites()

    async def send(sender: str, mail: bytes) -> None:
        if not traits.mail_service:
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
        publisher=publisher,
        send=send if settings.cloud.mail_bucket or not traits.mail_service else None,
        sent_mail=sent_mail,
        kept=kept if traits.is_local else None,
        mail_address=address,
        site_address=site_address.rstrip("/"),
    )
