"""Letters that are owed, and what came back of those that were sent."""

from __future__ import annotations

import json
from functools import partial

from webordinary.backends.broker import poll
from webordinary.backends.facts_json import letter_facts_from_json
from webordinary.backends.letters import HOLD_MOST_SECONDS, WAIT_MOST_SECONDS, held_until, put_off_until
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.rows import OWE, letter_values
from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import LETTERS, Nothing
from webordinary.core.errors import NotFound
from webordinary.core.mail import Letter, LetterKind, MailId, SessionId
from webordinary.core.text import storable
from webordinary.ports.bounces import Bouncing
from webordinary.ports.clock import Clock
from webordinary.ports.outbox import LetterState, LetterStatus

_LETTER = "about, kind, mail, facts, owed_at, attempts, session"


class SqliteOutbox:
    """See `Outbox`."""

    def __init__(self, engine: Engine, wakeups: Wakeups, clock: Clock) -> None:
        """Send what is owed in a file."""
        self._engine, self._wakeups, self._clock = engine, wakeups, clock

    async def owe(self, letter: Letter) -> bool:
        """See `Outbox.owe`."""
        return await self._engine.write(partial(owe, letter=letter))

    async def take(self, sender: str, *, limit: int, hold: float, wait: float) -> list[Letter]:
        """See `Outbox.take`. Looks before it writes: a sender with nothing to do asks often."""

        async def ask() -> list[Letter] | Nothing:
            nothing = self._engine.read(_anything_due)
            if nothing is not None:
                return nothing
            taken = await self._engine.write(lambda tx: _take(tx, sender, limit, hold))
            return taken or Nothing(0.0)  # somebody else was quicker: look again

        return await poll(self._wakeups, self._clock, LETTERS, wait, ask) or []

    async def sent(self, letter: Letter, message_id: str) -> None:
        """See `Outbox.sent`."""
        await self._engine.write(lambda tx: _sent(tx, letter, message_id))

    async def postpone(self, letter: Letter, seconds: float, reason: str) -> None:
        """See `Outbox.postpone`."""
        await self._engine.write(lambda tx: _postpone(tx, letter, seconds, reason))

    async def abandon(self, letter: Letter, reason: str) -> None:
        """See `Outbox.abandon`."""
        await self._engine.write(lambda tx: _abandon(tx, letter, reason))

    async def letters(
        self, *, limit: int, about: str | None = None, before: tuple[str, LetterKind] | None = None
    ) -> list[tuple[Letter, LetterStatus]]:
        """See `Outbox.letters`."""
        wheres, values = ["1"], list[object]()
        if about is not None:
            wheres.append("about = ?")
            values.append(about)
        if before is not None:
            self._engine.read(lambda tx: _known(tx, *before))
            wheres.append("seq < (SELECT seq FROM letters WHERE about = ? AND kind = ?)")
            values += [before[0], before[1].value]
        sql = (
            f"SELECT {_LETTER}, state, held_by, message_id, reason FROM letters"
            f" WHERE {' AND '.join(wheres)} ORDER BY seq DESC LIMIT ?"
        )
        return [
            (
                _letter_of(row[:7]),
                LetterStatus(LetterState(row[7]), row[8], row[9] or "", row[10] or ""),
            )
            for row in self._engine.read(lambda tx: tx.all(sql, (*values, limit)))
        ]


def owe(tx: Tx, letter: Letter) -> bool:
    """See `Outbox.owe`."""
    owed = tx.do(OWE, letter_values(letter, tx.now, tx.now))
    if owed:
        tx.wake(LETTERS)
    return bool(owed)


# See `is_due`: those whose time has come, and those of a clock that was set back since.
_DUE = (
    "due_at <= :now",
    "due_at > :now + :hold_most AND (held_by IS NOT NULL OR due_at > :now + :wait_most)",
)
_MOST = {"hold_most": HOLD_MOST_SECONDS, "wait_most": WAIT_MOST_SECONDS}


def _anything_due(tx: Tx) -> Nothing | None:
    soonest = tx.one("SELECT MIN(due_at) FROM letters WHERE state = 'owed'")
    if not soonest or soonest[0] is None:
        return Nothing()
    at = {"now": tx.now, **_MOST}
    if any(tx.one(f"SELECT 1 FROM letters WHERE state = 'owed' AND {due} LIMIT 1", at) for due in _DUE):
        return None
    return Nothing(soonest[0] - tx.now)


def _take(tx: Tx, sender: str, limit: int, hold: float) -> list[Letter]:
    owed = f"SELECT seq, {_LETTER} FROM letters WHERE state = 'owed'"
    rows: list[Row] = []
    for due in _DUE:
        at = {"now": tx.now, "limit": limit - len(rows), **_MOST}
        rows += tx.all(f"{owed} AND {due} ORDER BY due_at, seq LIMIT :limit", at)
    for row in rows:
        tx.do(
            "UPDATE letters SET attempts = attempts + 1, due_at = ?, held_by = ? WHERE seq = ?",
            (held_until(tx.now, hold), sender, row[0]),
        )
    return [_letter_of(row[1:], taken=1) for row in rows]


def _sent(tx: Tx, letter: Letter, message_id: str) -> None:
    _known(tx, letter.about, letter.kind)
    tx.do(
        "UPDATE letters SET state = 'sent', held_by = NULL, sent_at = ?, message_id = ?"
        " WHERE about = ? AND kind = ? AND state <> 'sent'",
        (tx.now, storable(message_id), letter.about, letter.kind.value),
    )


def _postpone(tx: Tx, letter: Letter, seconds: float, reason: str) -> None:
    _known(tx, letter.about, letter.kind)
    postponed = tx.do(
        "UPDATE letters SET due_at = ?, held_by = NULL, reason = ?"
        " WHERE about = ? AND kind = ? AND state = 'owed' AND attempts = ?",
        (put_off_until(tx.now, seconds), storable(reason), letter.about, letter.kind.value, letter.attempts),
    )
    if postponed:
        tx.wake(LETTERS)


def _abandon(tx: Tx, letter: Letter, reason: str) -> None:
    _known(tx, letter.about, letter.kind)
    tx.do(
        "UPDATE letters SET state = 'abandoned', held_by = NULL, reason = ?"
        " WHERE about = ? AND kind = ? AND state = 'owed' AND attempts = ?",
        (storable(reason), letter.about, letter.kind.value, letter.attempts),
    )


def _known(tx: Tx, about: str, kind: LetterKind) -> None:
    if tx.one("SELECT 1 FROM letters WHERE about = ? AND kind = ?", (about, kind.value)) is None:
        raise NotFound(f"no letter {kind} about {about} was ever owed")


def _letter_of(row: Row, taken: int = 0) -> Letter:
    about, kind, mail, facts, owed_at, attempts, session = row
    return Letter(
        about=about,
        kind=LetterKind(kind),
        mail=MailId(mail) if mail else None,
        facts=letter_facts_from_json(LetterKind(kind), facts),
        owed_at=owed_at,
        attempts=attempts + taken,
        session=SessionId(session) if session else None,
    )


_ROW = "address, letters, since, reason"


class SqliteBounces:
    """See `Bounces`."""

    def __init__(self, engine: Engine) -> None:
        """Keep them in a file."""
        self._engine = engine

    async def note(self, address: str, letter: str, reason: str) -> Bouncing:
        """See `Bounces.note`."""
        return await self._engine.write(
            lambda tx: _note(tx, storable(address), storable(letter), storable(reason))
        )

    async def forget(self, address: str) -> bool:
        """See `Bounces.forget`. Looks before it writes: almost always there is nothing."""
        if await self.of(address) is None:
            return False
        sql = "DELETE FROM bounces WHERE address = ?"
        return bool(await self._engine.write(lambda tx: tx.do(sql, (storable(address),))))

    async def of(self, address: str) -> Bouncing | None:
        """See `Bounces.of`."""
        return self._engine.read(lambda tx: _of(tx, storable(address)))

    async def all(self, *, limit: int) -> list[Bouncing]:
        """See `Bounces.all`."""
        sql = f"SELECT {_ROW} FROM bounces ORDER BY address LIMIT ?"
        return [_bouncing(row) for row in self._engine.read(lambda tx: tx.all(sql, (limit,)))]


def _note(tx: Tx, address: str, letter: str, reason: str) -> Bouncing:
    noted = (_of(tx, address) or Bouncing(address, (), tx.now, "")).after(letter, reason)
    row = (noted.address, json.dumps(noted.letters), noted.since, noted.reason)
    tx.do(f"INSERT OR REPLACE INTO bounces ({_ROW}) VALUES (?, ?, ?, ?)", row)
    return noted


def _of(tx: Tx, address: str) -> Bouncing | None:
    row = tx.one(f"SELECT {_ROW} FROM bounces WHERE address = ?", (address,))
    return _bouncing(row) if row else None


def _bouncing(row: Row) -> Bouncing:
    address, letters, since, reason = row
    return Bouncing(address, tuple(json.loads(letters)), since, reason)
