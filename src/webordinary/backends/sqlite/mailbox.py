"""Mails and conversations, and the one step in which a mail, its quotas and its job are taken in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import partial

from webordinary.backends.loading import submission
from webordinary.backends.sqlite.blobs import SqliteBlobs, put
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.outbox import owe
from webordinary.backends.sqlite.quotas import spend
from webordinary.backends.sqlite.store import rules_on
from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.core.errors import NotFound
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.language import Language
from webordinary.core.limits import Limits
from webordinary.core.mail import (
    FileProblem,
    KeptFile,
    MailId,
    MailRecord,
    MailState,
    SessionId,
    SkippedFile,
    reconsidered,
)
from webordinary.core.site import Session
from webordinary.core.text import is_storable, storable
from webordinary.ports.admissions import Admission
from webordinary.ports.blobs import blob_key
from webordinary.ports.quotas import Bucket

_COLUMNS = (
    "id, message_id, state, reason, from_address, subject, refs, received_at, blob, lane, session, job,"
    " files, skipped, language"
)
_MAIL = f"SELECT {_COLUMNS} FROM mails"
_SESSION = "SELECT sessions.id, sessions.lane, sessions.subject, sessions.started_at FROM sessions"


class SqliteMailbox:
    """See `Mailbox`."""

    def __init__(self, engine: Engine) -> None:
        """Keep mails in a file."""
        self._engine = engine

    async def keep(self, record: MailRecord) -> MailRecord:
        """See `Mailbox.keep`."""
        return await self._engine.write(partial(_keep, record=record))

    async def mail(self, mail: MailId) -> MailRecord | None:
        """See `Mailbox.mail`."""
        return self._engine.read(partial(find, mail=mail)) if is_storable(mail) else None

    async def mails(
        self, *, limit: int, state: MailState | None = None, before: MailId | None = None
    ) -> list[MailRecord]:
        """See `Mailbox.mails`."""
        return self._engine.read(lambda tx: _mails(tx, limit, state, before))

    async def update(self, record: MailRecord) -> None:
        """See `Mailbox.update`."""
        await self._engine.write(partial(update, record=record))

    async def begin(self, session: Session) -> Session:
        """See `Mailbox.begin`."""
        return await self._engine.write(partial(begin, session=session))

    async def session(self, session: SessionId) -> Session | None:
        """See `Mailbox.session`."""
        if not is_storable(session):
            return None
        row = self._engine.read(lambda tx: tx.one(f"{_SESSION} WHERE id = ?", (session,)))
        return _session_of(row) if row else None

    async def thread(self, message_ids: Sequence[str]) -> Session | None:
        """See `Mailbox.thread`."""
        known = [message_id for message_id in reversed(message_ids) if is_storable(message_id)]
        return self._engine.read(partial(_thread, message_ids=known))

    async def remember(self, session: SessionId, message_id: str) -> None:
        """See `Mailbox.remember`."""
        await self._engine.write(
            lambda tx: tx.do(
                "INSERT INTO threads (message_id, session) VALUES (?, ?)"
                " ON CONFLICT (message_id) DO UPDATE SET session = excluded.session",
                (storable(message_id), session),
            )
        )


def _keep(tx: Tx, record: MailRecord) -> MailRecord:
    known = find(tx, record.id)
    if known is not None:
        return known
    insert(tx, record)
    return record


def insert(tx: Tx, record: MailRecord) -> None:
    """Keep a mail that is not known yet."""
    places = ", ".join("?" * len(_COLUMNS.split(",")))
    tx.do(f"INSERT INTO mails ({_COLUMNS}) VALUES ({places})", _values(record))
    _add_to_thread(tx, record)


def update(tx: Tx, record: MailRecord) -> None:
    """See `Mailbox.update`."""
    if find(tx, record.id) is None:
        raise NotFound(f"there is no mail {record.id}")
    columns = ", ".join(f"{column.strip()} = ?" for column in _COLUMNS.split(","))
    tx.do(f"UPDATE mails SET {columns} WHERE id = ?", (*_values(record), record.id))
    _add_to_thread(tx, record)


def _add_to_thread(tx: Tx, record: MailRecord) -> None:
    """A Message-ID stays in the first thread that it was seen in: nobody can carry it away."""
    if record.session is not None and record.message_id:
        tx.do(
            "INSERT INTO threads (message_id, session) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (record.message_id, record.session),
        )


def find(tx: Tx, mail: MailId) -> MailRecord | None:
    """See `Mailbox.mail`."""
    row = tx.one(f"{_MAIL} WHERE id = ?", (mail,))
    return _record_of(row) if row else None


def _mails(tx: Tx, limit: int, state: MailState | None, before: MailId | None) -> list[MailRecord]:
    wheres, values = ["1"], list[object]()
    if state is not None:
        wheres.append("state = ?")
        values.append(state.value)
    if before is not None:
        if find(tx, before) is None:
            raise NotFound(f"there is no mail {before}")
        wheres.append("seq < (SELECT seq FROM mails WHERE id = ?)")
        values.append(before)
    sql = f"{_MAIL} WHERE {' AND '.join(wheres)} ORDER BY seq DESC LIMIT ?"
    return [_record_of(row) for row in tx.all(sql, (*values, limit))]


def begin(tx: Tx, session: Session) -> Session:
    """See `Mailbox.begin`."""
    begun = tx.do(
        "INSERT INTO sessions (id, lane, subject, started_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (session.id, session.lane.key, session.subject, session.started_at),
    )
    if begun:
        return session
    row = tx.one(f"{_SESSION} WHERE id = ?", (session.id,))
    assert row is not None
    return _session_of(row)


def _thread(tx: Tx, message_ids: Sequence[str]) -> Session | None:
    for message_id in message_ids:
        row = tx.one(
            f"{_SESSION} JOIN threads ON threads.session = sessions.id WHERE threads.message_id = ?",
            (message_id,),
        )
        if row is not None:
            return _session_of(row)
    return None


def _session_of(row: Row) -> Session:
    session, lane, subject, started_at = row
    return Session(SessionId(session), Lane.from_key(lane), subject, started_at)


def _values(record: MailRecord) -> list[object]:
    return [
        record.id,
        record.message_id,
        record.state.value,
        record.reason,
        record.from_address,
        record.subject,
        json.dumps(record.references),
        record.received_at,
        record.blob,
        record.lane.key if record.lane else None,
        record.session,
        record.job,
        json.dumps([astuple(file) for file in record.files]),
        json.dumps([(file.claimed_name, file.problem) for file in record.skipped]),
        record.language.value if record.language else None,
    ]


def _record_of(row: Row) -> MailRecord:
    return MailRecord(
        id=MailId(row[0]),
        message_id=row[1],
        state=MailState(row[2]),
        reason=row[3],
        from_address=row[4],
        subject=row[5],
        references=tuple(json.loads(row[6])),
        received_at=row[7],
        blob=row[8],
        lane=Lane.from_key(row[9]) if row[9] is not None else None,
        session=SessionId(row[10]) if row[10] is not None else None,
        job=JobId(row[11]) if row[11] is not None else None,
        files=tuple(KeptFile(*file) for file in json.loads(row[12])),
        skipped=tuple(SkippedFile(name, FileProblem(problem)) for name, problem in json.loads(row[13])),
        language=Language(row[14]) if row[14] is not None else None,
    )


class SqliteAdmissions:
    """See `Admissions`."""

    def __init__(self, engine: Engine, limits: Limits, blobs: SqliteBlobs) -> None:
        """Admit to a file."""
        self._engine, self._limits, self._blobs = engine, limits, blobs

    async def admit(self, admission: Admission) -> MailRecord | Bucket:
        """See `Admissions.admit`. A large mail is durable beside the store before a record names it."""
        record = admission.record
        if not record.blob and not self._blobs.takes(admission.raw):
            record = replace(record, blob=await self._blobs.put(admission.raw))
            admission = replace(admission, record=record)
        needs = submission(admission.job).needs if admission.job is not None else None
        return await self._engine.write(partial(admit, limits=self._limits, admission=admission), needs)


def admit(tx: Tx, limits: Limits, admission: Admission) -> MailRecord | Bucket:
    """See `Admissions.admit`. The mail's bytes are small, or durable already."""
    wanted = admission.record
    is_stored = bool(wanted.blob)
    if not is_stored:
        wanted = replace(wanted, blob=blob_key(admission.raw))
    empty = spend(tx, admission.buckets, wanted.id)
    if empty is not None:
        return empty
    if admission.session is not None:
        begin(tx, admission.session)
    known = find(tx, wanted.id)
    kept = reconsidered(known, wanted) if known is not None else wanted
    is_as_wanted = kept.state is wanted.state
    if admission.job is not None and kept.job is None and is_as_wanted:
        kept = replace(kept, job=rules_on(tx, limits).submit(admission.job).job)
    if not is_stored and kept.blob == wanted.blob:
        put(tx, admission.raw)
    if known is None:
        insert(tx, kept)
    elif kept != known:
        update(tx, kept)
    if is_as_wanted:
        for letter in admission.letters:
            owe(tx, letter)
    return kept
