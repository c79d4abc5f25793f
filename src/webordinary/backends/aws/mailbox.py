"""Mails and conversations in a table: one item a mail, a conversation, and a Message-ID of a thread."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple
from heapq import merge

from webordinary.backends.aws.dynamo import ABSENT, Dynamo, Put, Where, Write, new_token
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.tables import STATE_INDEX
from webordinary.backends.aws.values import Item, lengthened, shortened
from webordinary.core.errors import NotFound
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.language import Language
from webordinary.core.mail import FileProblem, KeptFile, MailId, MailRecord, MailState, SessionId, SkippedFile
from webordinary.core.site import Session
from webordinary.core.text import is_storable, storable
from webordinary.ports.clock import Clock

KEY_BYTES = 1024


def mail_key(mail: str) -> dict[str, str]:
    """The key of a mail."""
    return {"key": _short(f"mail {mail}")}


def session_key(session: str) -> dict[str, str]:
    """The key of a conversation."""
    return {"key": _short(f"session {session}")}


def thread_key(message_id: str) -> dict[str, str]:
    """The key of a Message-ID that belongs to a thread."""
    return {"key": f"thread {hashlib.sha256(message_id.encode()).hexdigest()}"}


def _short(key: str) -> str:
    raw = key.encode()
    return (
        key if len(raw) <= KEY_BYTES else f"{key.partition(' ')[0]} sha256 {hashlib.sha256(raw).hexdigest()}"
    )


class AwsMailbox:
    """See `Mailbox`."""

    def __init__(self, dynamo: Dynamo, settings: AwsSettings, clock: Clock) -> None:
        """Keep mails in a table."""
        self._dynamo, self._table, self._clock = dynamo, settings.sessions, clock

    # --- mails ------------------------------------------------------------------------------------

    async def keep(self, record: MailRecord) -> MailRecord:
        """See `Mailbox.keep`."""
        while True:
            known = await self.mail(record.id)
            if known is not None:
                return known
            item = _item(record) | {"order": self._clock.unique()}
            if await self._write(item, record, {"key": ABSENT}):
                return record

    async def update(self, record: MailRecord) -> None:
        """See `Mailbox.update`."""
        while True:
            known = await self._dynamo.get(self._table, mail_key(record.id))
            if known is None:
                raise NotFound(f"there is no mail {record.id}")
            item = _item(record) | {"order": known["order"]}
            if await self._write(item, record, {"order": known["order"]}):
                return

    async def _write(self, item: Item, record: MailRecord, where: dict[str, object]) -> bool:
        """Write a mail; its Message-ID stays in the first thread that it was seen in."""
        writes: list[Write] = [Put(self._table, item, where)]
        if record.session is not None and record.message_id:
            thread = thread_key(record.message_id)
            if await self._dynamo.get(self._table, thread) is None:
                writes.append(Put(self._table, {**thread, "session": record.session}, {"key": ABSENT}))
        try:
            await self._dynamo.transact(writes, new_token())
        except ChangedMeanwhile:
            return False
        return True

    async def mail(self, mail: MailId) -> MailRecord | None:
        """See `Mailbox.mail`."""
        item = await self._dynamo.get(self._table, mail_key(mail)) if is_storable(mail) else None
        return _record(item) if item else None

    async def mails(
        self, *, limit: int, state: MailState | None = None, before: MailId | None = None
    ) -> list[MailRecord]:
        """See `Mailbox.mails`."""
        order = "~"
        if before is not None:
            last = await self._dynamo.get(self._table, mail_key(before))
            if last is None:
                raise NotFound(f"there is no mail {before}")
            order = last["order"]
        found: list[MailRecord] = []
        while len(found) < limit:
            keys = await self._ordered(state, order, limit)
            if not keys:
                break
            wanted = [{"key": key["key"]} for key in keys]
            items = (await self._dynamo.get_many({self._table: wanted}))[self._table]
            items.sort(key=lambda item: str(item["order"]), reverse=True)
            found += [_record(item) for item in items if state in (None, item["state"])]
            order = keys[-1]["order"]
        return found[:limit]

    async def _ordered(self, state: MailState | None, before: str, limit: int) -> list[Item]:
        """Keys of mails before one, newest first."""
        pages = [
            await self._dynamo.query(
                Where(
                    self._table, ("state", one.value), STATE_INDEX, ("order", "<", before), newest_first=True
                ),
                limit=limit,
            )
            for one in (MailState if state is None else (state,))
        ]
        return list(merge(*pages, key=lambda key: key["order"], reverse=True))[:limit]

    # --- conversations ----------------------------------------------------------------------------

    async def begin(self, session: Session) -> Session:
        """See `Mailbox.begin`."""
        item = {
            **session_key(session.id),
            "id": session.id,
            "lane": session.lane.key,
            "subject": shortened(session.subject),
            "startedAt": session.started_at,
        }
        try:
            await self._dynamo.put(self._table, item, {"key": ABSENT})
        except ChangedMeanwhile:
            known = await self.session(session.id)
            assert known is not None  # a conversation is never removed
            return known
        return session

    async def session(self, session: SessionId) -> Session | None:
        """See `Mailbox.session`."""
        item = await self._dynamo.get(self._table, session_key(session)) if is_storable(session) else None
        return _session(item) if item else None

    async def thread(self, message_ids: Sequence[str]) -> Session | None:
        """See `Mailbox.thread`."""
        wanted = list(dict.fromkeys(one for one in reversed(message_ids) if is_storable(one)))
        threads = await self._read([thread_key(message_id) for message_id in wanted])
        named = [threads[key] for one in wanted if (key := thread_key(one)["key"]) in threads]
        keys = [session_key(item["session"]) for item in named]
        sessions = await self._read(list({key["key"]: key for key in keys}.values()))
        return next((_session(sessions[key["key"]]) for key in keys if key["key"] in sessions), None)

    async def _read(self, keys: list[dict[str, str]]) -> dict[str, Item]:
        if not keys:
            return {}
        return {item["key"]: item for item in (await self._dynamo.get_many({self._table: keys}))[self._table]}

    async def remember(self, session: SessionId, message_id: str) -> None:
        """See `Mailbox.remember`."""
        await self._dynamo.put(self._table, {**thread_key(storable(message_id)), "session": session})


def _item(record: MailRecord) -> Item:
    """Write a mail. Lists are of pairs and triples, which may hold what is no text: escaped."""
    return {
        **mail_key(record.id),
        "id": record.id,
        "messageId": record.message_id,
        "state": record.state.value,
        "reason": record.reason,
        "from": record.from_address,
        "subject": shortened(record.subject),
        "references": shortened(json.dumps(record.references)),
        "receivedAt": record.received_at,
        "blob": record.blob,
        "lane": record.lane.key if record.lane else None,
        "session": record.session,
        "job": record.job,
        "files": shortened(json.dumps([astuple(file) for file in record.files])),
        "skipped": shortened(json.dumps([(file.claimed_name, file.problem) for file in record.skipped])),
        "language": record.language.value if record.language else None,
    }


def _record(item: Item) -> MailRecord:
    return MailRecord(
        id=MailId(item["id"]),
        message_id=item["messageId"],
        state=MailState(item["state"]),
        reason=item["reason"],
        from_address=item["from"],
        subject=lengthened(item["subject"]),
        references=tuple(json.loads(lengthened(item["references"]))),
        received_at=float(item["receivedAt"]),
        blob=item["blob"],
        lane=Lane.from_key(item["lane"]) if "lane" in item else None,
        session=SessionId(item["session"]) if "session" in item else None,
        job=JobId(item["job"]) if "job" in item else None,
        files=tuple(KeptFile(*file) for file in json.loads(lengthened(item["files"]))),
        skipped=tuple(
            SkippedFile(name, FileProblem(problem))
            for name, problem in json.loads(lengthened(item["skipped"]))
        ),
        language=Language(item["language"]) if "language" in item else None,
    )


def _session(item: Item) -> Session:
    lane = Lane.from_key(item["lane"])
    return Session(SessionId(item["id"]), lane, lengthened(item["subject"]), float(item["startedAt"]))
