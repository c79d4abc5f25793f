"""Letters in plain Python: the broker owes them, senders take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from webordinary.backends.broker import poll
from webordinary.backends.letters import held_until, is_due, put_off_until
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import LETTERS, Nothing
from webordinary.core.errors import NotFound
from webordinary.core.mail import Letter, LetterKind
from webordinary.core.text import storable
from webordinary.ports.clock import Clock
from webordinary.ports.outbox import LetterState, LetterStatus


@dataclass(slots=True)
class LetterRow:
    """A letter and all that is known of it."""

    letter: Letter
    due_at: float  # from when on a sender may be given it; a hold moves it, too
    state: LetterState = LetterState.OWED
    held_by: str | None = None
    sent_at: float = 0.0
    message_id: str = ""
    reason: str = ""


class Letters:
    """Every letter there ever was, by what it is about and its kind."""

    def __init__(self) -> None:
        """Start with none."""
        self.rows: dict[tuple[str, LetterKind], LetterRow] = {}

    def owe(self, letter: Letter, now: float, due_at: float) -> bool:
        """Owe a letter, once; it may be sent from then on."""
        if (letter.about, letter.kind) in self.rows:
            return False
        stored = replace(letter, owed_at=now, attempts=0)
        self.rows[letter.about, letter.kind] = LetterRow(stored, due_at)
        return True


class MemoryOutbox:
    """See `Outbox`."""

    def __init__(self, letters: Letters, wakeups: Wakeups, clock: Clock) -> None:
        """Send the letters that are in these books."""
        self._letters, self._wakeups, self._clock = letters, wakeups, clock

    async def owe(self, letter: Letter) -> bool:
        """See `Outbox.owe`."""
        now = self._clock.now()
        owed = self._letters.owe(letter, now, now)
        if owed:
            self._wakeups.send([LETTERS])
        return owed

    async def take(self, sender: str, *, limit: int, hold: float, wait: float) -> list[Letter]:
        """See `Outbox.take`."""
        ask = partial(self._take, sender, limit, hold)
        return await poll(self._wakeups, self._clock, LETTERS, wait, ask) or []

    async def _take(self, sender: str, limit: int, hold: float) -> list[Letter] | Nothing:
        now = self._clock.now()
        owed = [row for row in self._letters.rows.values() if row.state is LetterState.OWED]
        owed.sort(key=lambda row: row.due_at)
        due = [row for row in owed if is_due(row.due_at, now, held=row.held_by is not None)][:limit]
        if not due:
            return Nothing(owed[0].due_at - now) if owed else Nothing()
        for row in due:
            row.letter = replace(row.letter, attempts=row.letter.attempts + 1)
            row.due_at, row.held_by = held_until(now, hold), sender
        return [row.letter for row in due]

    async def sent(self, letter: Letter, message_id: str) -> None:
        """See `Outbox.sent`."""
        row = self._row(letter)
        if row.state is not LetterState.SENT:
            row.state, row.held_by = LetterState.SENT, None
            row.sent_at, row.message_id = self._clock.now(), storable(message_id)

    async def postpone(self, letter: Letter, seconds: float, reason: str) -> None:
        """See `Outbox.postpone`."""
        row = self._row(letter)
        if row.state is LetterState.OWED and row.letter.attempts == letter.attempts:
            row.due_at, row.held_by = put_off_until(self._clock.now(), seconds), None
            row.reason = storable(reason)
            self._wakeups.send([LETTERS])

    async def abandon(self, letter: Letter, reason: str) -> None:
        """See `Outbox.abandon`."""
        row = self._row(letter)
        if row.state is LetterState.OWED and row.letter.attempts == letter.attempts:
            row.state, row.held_by, row.reason = LetterState.ABANDONED, None, storable(reason)

    async def letters(
        self, *, limit: int, about: str | None = None, before: tuple[str, LetterKind] | None = None
    ) -> list[tuple[Letter, LetterStatus]]:
        """See `Outbox.letters`."""
        known = list(self._letters.rows)
        if before is not None and before not in self._letters.rows:
            raise _unknown(*before)
        known = known[: known.index(before)] if before is not None else known
        rows = [self._letters.rows[key] for key in known if about in (None, key[0])]
        return [
            (
                row.letter,
                LetterStatus(row.state, row.held_by, row.message_id, row.reason),
            )
            for row in rows[::-1][:limit]
        ]

    def _row(self, letter: Letter) -> LetterRow:
        row = self._letters.rows.get((letter.about, letter.kind))
        if row is None:
            raise _unknown(letter.about, letter.kind)
        return row


def _unknown(about: str, kind: LetterKind) -> NotFound:
    return NotFound(f"no letter {kind} about {about} was ever owed")
