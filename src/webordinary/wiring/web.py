"""Putting the dashboard together: what it reads, and how its try-it box sends a mail."""

from __future__ import annotations

from webordinary.adapters.smtp_client import hand_in
from webordinary.adapters.system_clock import SystemClock
from webordinary.core.mail import Letter
from webordinary.dashboard.parts import Parts
from webordinary.ports.backend import Backend
from webordinary.wiring.running import LOOPBACK
from webordinary.wiring.settings import Settings
from webordinary.wiring.stores import open_blobs, open_letters, open_publisher


def dashboard_parts(settings: Settings, backend: Backend, *, smtp_port: int, site_address: str) -> Parts:
    """Make what the pages are made of."""
    address, clock, letters = settings.mail.address, SystemClock(), open_letters(settings)

    async def send(sender: str, mail: bytes) -> None:
        if not settings.in_cloud:
            await hand_in(LOOPBACK, smtp_port, sender=sender, recipient=address, mail=mail)
            return
        from webordinary.wiring.cloud_post import post  # noqa: PLC0415 - its extra is needed only there

        await post(settings, backend, f"try-{clock.unique()}", mail, sender=sender)

    async def sent_mail(letter: Letter) -> bytes | None:
        return await letters.copy(letter.key)

    return Parts(
        backend=backend,
        blobs=open_blobs(settings),
        clock=clock,
        limits=settings.limits,
        publisher=open_publisher(settings),
        send=send if settings.cloud.mail_bucket or not settings.in_cloud else None,
        sent_mail=sent_mail,
        mail_address=address,
        site_address=site_address.rstrip("/"),
    )
