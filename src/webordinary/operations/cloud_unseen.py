"""Mail that lies in the mail bucket and that nobody took in: finding it, and taking it in after all.

The service puts a mail into the bucket and then calls our function. Where that fails for longer than the
service tries, the mail is safe and nobody knows of it. So the bucket is held against the record of mails.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default
from email.utils import getaddresses
from typing import Any

from webordinary.core.errors import BadInput, NotFound
from webordinary.core.mail import MailId, MailRecord, MailState
from webordinary.identify.find import mail_id
from webordinary.intake.read import unread
from webordinary.ports.backend import Backend
from webordinary.ports.mailbox import Mailbox
from webordinary.system.s3_client import S3Client, content_of, translated
from webordinary.wiring.cloud import buckets
from webordinary.wiring.cloud_mail import MAIL_BYTES_MAX, event_of, is_key, take_in
from webordinary.wiring.settings import Settings

HEAD_BYTES = 64 * 1024  # nearly every header fits; of the others the whole mail is read
LOOKED_AT_ONCE = 8
OBJECTS_MAX = 200_000  # listed at most; a bucket is listed by name, so all of it is gone through
SERVICE_NOTE = "AMAZON_SES_SETUP_NOTIFICATION"  # what the service writes when a rule is made; no mail
HALF_TAKEN_IN = "was taken in, but its job is not known"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A mail of the bucket that became nothing."""

    key: str
    mail: MailId
    arrived_at: float
    from_address: str  # as it says itself; nobody has checked that
    subject: str
    why: str


@dataclass(frozen=True, slots=True)
class UnseenSearch:
    """What a look through the bucket found."""

    looked_at: int
    unseen: tuple[Unseen, ...]  # newest first
    is_all: bool  # False: there is more in the bucket than was gone through


async def find_unseen(
    settings: Settings, backend: Backend, *, since: float, limit: int, progress: Callable[[int, int], None]
) -> UnseenSearch:
    """Look at every mail that came since then, newest first; `progress` is called after each."""
    store, bucket = buckets(settings), settings.cloud.bucket("mail_bucket")
    listed, is_all = await _listed(store, bucket, settings.cloud.mail_prefix, since)
    unseen: list[Unseen] = []
    looked_at = 0
    for start in range(0, len(listed), LOOKED_AT_ONCE):
        some = listed[start : start + LOOKED_AT_ONCE]
        looks = (_look(store, bucket, settings.cloud.mail_prefix, one, backend.mailbox) for one in some)
        unseen += [one for one in await asyncio.gather(*looks) if one is not None]
        looked_at += len(some)
        progress(looked_at, len(listed))
        if len(unseen) >= limit:
            is_all = is_all and looked_at == len(listed) and len(unseen) == limit
            break
    return UnseenSearch(looked_at, tuple(unseen[:limit]), is_all)


async def _listed(
    store: S3Client, bucket: str, begins: str, since: float
) -> tuple[list[tuple[float, str, int]], bool]:
    """List when each mail came, its key and its size; newest first."""
    found: list[tuple[float, str, int]] = []
    page: dict[str, str] = {}
    gone_through = 0
    while True:
        with translated(f"listing the mails of {bucket}"):
            answer = await store.list_objects_v2(Bucket=bucket, Prefix=begins, **page)
        for one in answer.get("Contents", ()):
            key, came = str(one["Key"]).removeprefix(begins), one["LastModified"].timestamp()
            if came >= since and is_key(key) and key != SERVICE_NOTE:
                found.append((came, key, int(one["Size"])))
        gone_through += len(answer.get("Contents", ()))
        if not answer.get("NextContinuationToken") or gone_through >= OBJECTS_MAX:
            return sorted(found, reverse=True), not answer.get("NextContinuationToken")
        page = {"ContinuationToken": str(answer["NextContinuationToken"])}


async def _look(
    store: S3Client, bucket: str, begins: str, listed: tuple[float, str, int], mailbox: Mailbox
) -> Unseen | None:
    came, key, size = listed
    try:
        raw = await _read(store, bucket, f"{begins}{key}", HEAD_BYTES) if size else b""
        top = unread(raw, "")
        if size > len(raw) and not (top.message_id and _has_whole_header(raw)):
            raw = await _read(store, bucket, f"{begins}{key}", MAIL_BYTES_MAX)
            top = unread(raw, "")
    except NotFound:
        return None  # removed since it was listed
    name = mail_id(top.message_id or top.content_hash, top.reply_to)
    record = await mailbox.mail(name)
    why = "nobody took it in"
    if record is not None:
        if record.state is not MailState.ACCEPTED or record.job is not None:
            return None
        why = HALF_TAKEN_IN
    return Unseen(key, name, came, top.reply_to, _subject(raw), why)


def _has_whole_header(raw: bytes) -> bool:
    return b"\n\n" in raw or b"\r\n\r\n" in raw


async def _read(store: S3Client, bucket: str, key: str, most_bytes: int) -> bytes:
    with translated(f"reading the mail {key} of {bucket}"):
        answer = await store.get_object(Bucket=bucket, Key=key, Range=f"bytes=0-{most_bytes - 1}")
        return await content_of(answer, most_bytes)


def _subject(raw: bytes) -> str:
    try:
        return str(message_from_bytes(raw[:HEAD_BYTES], policy=default)["Subject"] or "")
    except Exception:  # noqa: BLE001 - shown to people only; whatever a mail does to the library ends here
        return ""


# --- taking in after all ----------------------------------------------------------------------------


def events_in(text: str) -> Iterator[Mapping[str, object]]:
    """Read events of the mail service: bare, as a failed call was kept, or as a queue gave them."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"this is no event of the mail service: {error}") from error
    if not isinstance(event, dict):
        raise BadInput("this is no event of the mail service")
    messages = event.get("Messages")
    if isinstance(messages, list):
        for message in messages:
            body = message.get("Body") if isinstance(message, dict) else None
            if not isinstance(body, str):
                raise BadInput("these messages of a queue have no Body")
            yield from events_in(body)
        return
    failed = event.get("requestPayload")
    yield failed if isinstance(failed, dict) else event


async def take_key(settings: Settings, backend: Backend, key: str, *, trust_from: bool) -> MailRecord:
    """Take in a mail of the bucket whose event is lost, and with it what the service thought of its sender.

    Only whoever calls this can vouch for the sender; else a member is asked at the address on file.
    """
    if not is_key(key):
        raise BadInput(f"{key!r} is no mail of the bucket; `webordinary cloud unseen` lists them")
    bucket, begins = settings.cloud.bucket("mail_bucket"), settings.cloud.mail_prefix
    head = await _read(buckets(settings), bucket, f"{begins}{key}", HEAD_BYTES)
    sender = unread(head, "").reply_to if trust_from else ""
    verdict = "PASS" if trust_from else ""
    event = event_of(key, sender=sender or "unknown", recipients=_to_us(head, settings), verdict=verdict)
    (record,) = await take_in(event, settings, backend)
    return record


def _to_us(head: bytes, settings: Settings) -> list[str]:
    """Whom of us the mail says it is for: such an address may tell, signed, which conversation it is of."""
    ours = settings.mail.address
    try:
        mail: Any = message_from_bytes(head)
        named = getaddresses([str(value) for name in ("to", "cc") for value in mail.get_all(name, ())])
    except Exception:  # noqa: BLE001 - as above
        named = []
    domain = f"@{ours.rpartition('@')[2]}".lower()
    return [address for _, address in named if address.lower().endswith(domain)] or [ours]
