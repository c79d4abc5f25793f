"""What the verbs write for people: events of a lane, and replies that are owed."""

from __future__ import annotations

from webordinary.backends.sqlite.tx import Tx
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import Happening


def event(tx: Tx, lane: Lane, what: Happening, *, job: JobId | None = None, note: str = "") -> None:
    """Write down what happened to a lane, with its owner and fence of this moment."""
    tx.do(
        "INSERT INTO history (at, lane, what, worker, fence, job, note)"
        " SELECT ?, lane, ?, worker, fence, ?, ? FROM lanes WHERE lane = ?",
        (tx.now, what.value, job, note, lane.key),
    )


def owe_reply(tx: Tx, job: JobId, kind: JobState) -> None:
    """Owe the sender an answer, once per job and kind."""
    tx.do(
        "INSERT INTO owed_replies (job, kind, owed_at)"
        " SELECT id, ?, ? FROM jobs WHERE id = ? AND wants_reply = 1 ON CONFLICT DO NOTHING",
        (kind.value, tx.now, job),
    )
