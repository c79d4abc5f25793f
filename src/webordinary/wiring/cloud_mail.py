"""Mail by the cloud's mail service: its event in, a durable job out, by the same door as SMTP.

Mail of our own takes the same way: into the mail bucket, with an event as the service makes it. Such an event
vouches for the sender, so whoever may write to that bucket and to the tables can write as anybody: these are
an operator's rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from webordinary.core.errors import BadInput, WebordinaryError
from webordinary.core.mail import Envelope, MailRecord
from webordinary.intake.authenticate import Trust
from webordinary.intake.headers import UNKNOWN
from webordinary.mail.checks.receipt import SERVER, ReceiptChecks, SesReceipt
from webordinary.ports.backend import Backend
from webordinary.system.s3_client import content_of, translated
from webordinary.wiring.cloud import buckets, open_cloud
from webordinary.wiring.mail import open_mail_room
from webordinary.wiring.settings import Settings

MAIL_BYTES_MAX = 40_000_000  # what the mail service takes
CHECKS = ("spf", "dkim", "dmarc", "spam", "virus")
_KEY = re.compile(r"[A-Za-z0-9_.=-]{1,200}", re.ASCII)


def is_key(name: str) -> bool:
    """Whether the mail service could have called a mail so."""
    return _KEY.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Arrived:
    """A mail that the service took in: where it is, how it came, and what the service thinks of it."""

    key: str
    envelope: Envelope
    receipt: SesReceipt


async def take_in(event: Mapping[str, object], settings: Settings, backend: Backend) -> list[MailRecord]:
    """Take every mail of an event in. One that fails keeps no other from being taken in."""
    room = open_mail_room(settings, backend)
    store, trust = buckets(settings), Trust(upstream=(SERVER,), addresses=settings.mail.addresses)
    bucket, begins = settings.cloud.bucket("mail_bucket"), settings.cloud.mail_prefix
    records: list[MailRecord] = []
    failed: WebordinaryError | None = None
    try:
        for mail in arrived(event):
            reception = replace(
                room.reception, checks=ReceiptChecks(mail.receipt, room.reception.clock), trust=trust
            )
            try:
                with translated(f"reading the mail {mail.key} of {bucket}"):
                    answer = await store.get_object(Bucket=bucket, Key=f"{begins}{mail.key}")
                    raw = await content_of(answer, MAIL_BYTES_MAX)
                records.append(await reception.receive(raw, mail.envelope))
            except WebordinaryError as error:
                failed = failed or error
    finally:
        await room.close()
    if failed is not None:
        raise failed
    return records


def arrived(event: Mapping[str, object]) -> Iterator[Arrived]:
    """Read the service's event."""
    records = event.get("Records")
    if not isinstance(records, list) or not records:
        raise BadInput(
            "this event has no Records: invoke this function from a receipt rule of the mail service"
        )
    for record in records:
        notice = record.get("ses") if isinstance(record, Mapping) else None
        mail, receipt = (
            (notice.get("mail"), notice.get("receipt")) if isinstance(notice, Mapping) else (None, None)
        )
        if not isinstance(mail, Mapping) or not isinstance(receipt, Mapping):
            raise BadInput(
                "this event tells of no mail with its receipt. An event of the bucket has no verdicts: let "
                "the receipt rule invoke this function itself, after it stored the mail"
            )
        yield _arrived(mail, receipt)


def _arrived(mail: Mapping[str, object], receipt: Mapping[str, object]) -> Arrived:
    key, source, recipients = mail.get("messageId"), mail.get("source"), receipt.get("recipients")
    if not isinstance(key, str) or not is_key(key):
        raise BadInput("this event tells of a mail without an id that could be an object of the bucket")
    to = tuple(one for one in recipients if isinstance(one, str)) if isinstance(recipients, list) else ()
    envelope = Envelope(mail_from=source if isinstance(source, str) else UNKNOWN, recipients=to)
    return Arrived(key, envelope, SesReceipt.read(receipt))


# --- mail of our own ----------------------------------------------------------------------------------


async def drop(settings: Settings, key: str, raw: bytes, *, sender: str) -> dict[str, Any]:
    """Put a mail where the mail service would; give the event that the service would tell of it."""
    wanted = settings.cloud
    async with open_cloud(settings) as cloud:
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
    notice = {
        "mail": {"messageId": key, "source": sender},
        "receipt": {"recipients": recipients, **verdicts},
    }
    return {"Records": [{"eventSource": "aws:ses", "eventVersion": "1.0", "ses": notice}]}


async def post(settings: Settings, backend: Backend, key: str, raw: bytes, *, sender: str) -> MailRecord:
    """Drop a mail, and take it in here."""
    (record,) = await take_in(await drop(settings, key, raw, sender=sender), settings, backend)
    return record
