"""A mail of our own by the cloud's way in: into the mail bucket, with an event as the mail service makes it.

The event vouches for the sender. So whoever may write to that bucket and to the tables can write as anybody:
these are an operator's rights.
"""

from __future__ import annotations

from typing import Any

from webordinary.core.mail import MailRecord
from webordinary.ports.backend import Backend
from webordinary.wiring.cloud_admin import line
from webordinary.wiring.ingest import take_in
from webordinary.wiring.settings import Settings

CHECKS = ("spf", "dkim", "dmarc", "spam", "virus")


async def drop(settings: Settings, key: str, raw: bytes, *, sender: str) -> dict[str, Any]:
    """Put a mail where the mail service would; give the event that the service would tell of it."""
    wanted = settings.cloud
    async with line(settings) as cloud:
        await cloud.call(
            "s3",
            "put_object",
            Bucket=wanted.bucket("mail_bucket"),
            Key=f"{wanted.mail_prefix}{key}",
            Body=raw,
        )
    return event_of(key, sender=sender, recipients=[settings.mail.address], verdict="PASS")


def event_of(key: str, *, sender: str, recipients: list[str], verdict: str) -> dict[str, Any]:
    """Make an event as the service makes it, with the same verdict of all its checks."""
    verdicts = {f"{name}Verdict": {"status": verdict} for name in CHECKS}
    told = {
        "mail": {"messageId": key, "source": sender},
        "receipt": {"recipients": recipients, **verdicts},
    }
    return {"Records": [{"eventSource": "aws:ses", "eventVersion": "1.0", "ses": told}]}


async def post(settings: Settings, backend: Backend, key: str, raw: bytes, *, sender: str) -> MailRecord:
    """Drop a mail, and take it in here."""
    (record,) = await take_in(await drop(settings, key, raw, sender=sender), settings, backend)
    return record
