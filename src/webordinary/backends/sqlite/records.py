"""What the verbs write for people: events of a lane, and letters that are owed."""

from __future__ import annotations

from webordinary.backends.facts_json import facts_to_json
from webordinary.backends.sqlite.tx import Tx
from webordinary.claim.rows import LETTERS
from webordinary.core.job import Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.letter_facts import Accepted, Ending
from webordinary.core.mail import FINAL_LETTERS, LetterKind
from webordinary.core.views import Happening

# How many letters about its end a job is owed; one a kind of ending.
REPLIES_OWED = (
    "(SELECT COUNT(*) FROM letters WHERE letters.about = jobs.id"
    f" AND letters.kind IN ({', '.join(sorted(repr(kind.value) for kind in FINAL_LETTERS))}))"
)


def event(tx: Tx, lane: Lane, what: Happening, *, job: JobId | None = None, note: str = "") -> None:
    """Write down what happened to a lane, with its owner and fence of this moment."""
    tx.do(
        "INSERT INTO history (at, lane, what, worker, fence, job, note)"
        " SELECT ?, lane, ?, worker, fence, ?, ? FROM lanes WHERE lane = ?",
        (tx.now, what.value, job, note, lane.key),
    )


def owe_accepted(tx: Tx, job: Job, submitted: Submitted, delay: float) -> None:
    """Owe the sender the word that the job is in its lane; not at once, for its end may come first."""
    facts = facts_to_json(Accepted(submitted.ahead, submitted.interrupts))
    tx.do(
        "INSERT INTO letters (about, kind, session, facts, owed_at, due_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (job.id, LetterKind.ACCEPTED.value, job.session or None, facts, tx.now, tx.now + delay),
    )
    tx.wake(LETTERS)


def owe_end(tx: Tx, job: JobId, state: JobState, ending: Ending) -> None:
    """Owe the sender the word about the job's end, once per kind of ending, if it wants one."""
    kind = LetterKind(state.value)
    assert kind in FINAL_LETTERS
    owed = tx.do(
        "INSERT INTO letters (about, kind, session, facts, owed_at, due_at)"
        " SELECT id, ?, NULLIF(session, ''), ?, ?, ? FROM jobs WHERE id = ? AND wants_reply = 1"
        " ON CONFLICT DO NOTHING",
        (kind.value, facts_to_json(ending), tx.now, tx.now, job),
    )
    if owed:
        tx.wake(LETTERS)
