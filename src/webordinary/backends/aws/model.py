"""The rules of the protocol, at work on the few lanes and jobs that one call has read.

The rules are those of the reference model: there is one set of them, and this backend adds how lanes are read
and written. What a verb changed is found by comparing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from webordinary.backends.aws.rows import UNREAD, job_row, lane_row
from webordinary.backends.aws.values import Item
from webordinary.backends.memory.control import OperatedStore
from webordinary.backends.memory.outbox import LetterRow
from webordinary.backends.memory.rows import WorkerRow
from webordinary.backends.wakeups import LocalWakeups
from webordinary.core.claim import WorkerId
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind
from webordinary.ports.clock import Clock


class NotedWakeups(LocalWakeups):
    """Wakes nobody yet: what was not written must not be told."""

    def __init__(self) -> None:
        """Start with nothing noted."""
        super().__init__()
        self.topics: list[str] = []

    def send(self, topics: Iterable[str]) -> None:
        """Note them."""
        self.topics += topics


class Model(OperatedStore):
    """A store that holds what was read, and remembers it as it was."""

    def __init__(self, limits: Limits, clock: Clock, skew: float) -> None:
        """Start with nothing read."""
        self.noted = NotedWakeups()
        super().__init__(limits, clock, self.noted)
        self.skew = skew
        self.lanes_read: dict[Lane, Item] = {}
        self.jobs_read: dict[JobId, Item] = {}
        self.letters_known: set[tuple[str, LetterKind]] = set()
        self.new_tokens: dict[JobId, str] = {}  # task tokens that came with this call
        self.dropped_tokens: set[str] = set()  # and those that nobody waits with any more
        self.found: dict[str, list[Item]] = {}  # what else was asked for, by table

    def fill(self, lanes: Sequence[Item], jobs: Sequence[Item], instructions: Mapping[str, str]) -> None:
        """Take in lanes, and those of their jobs that were read."""
        for item in jobs:
            row = job_row(item, instructions[item["jobId"]])
            self.jobs_read[row.job.id] = item
            self.jobs[row.job.id] = row
            for kind in (*row.replies_owed, LetterKind.ACCEPTED) if row.job.wants_reply else ():
                self._know_letter(row.job.id, LetterKind(kind))
        for item in lanes:
            lane_of = lane_row(item, self.jobs, self.skew)
            self.lanes_read[lane_of.lane] = item
            self.lanes[lane_of.lane] = lane_of

    def token_of(self, job: JobId) -> str | None:
        """Say with which task token somebody waits for a job."""
        token = self.new_tokens.get(job) or self.jobs_read.get(job, {}).get("taskToken")
        return None if token in self.dropped_tokens else token

    def fill_workers(self, workers: Mapping[WorkerId, WorkerRow]) -> None:
        """Take in who showed itself."""
        self.workers.update(workers)

    def _know_letter(self, about: str, kind: LetterKind) -> None:
        self.letters.rows[about, kind] = LetterRow(Letter(about, kind), 0.0)
        self.letters_known.add((about, kind))

    def replace_pending(self, lane: Lane, by: JobId) -> None:
        """End those jobs that were read and have not started, as the arrival of a newer one will."""
        row = self.lanes[lane]
        pending = [job for job in row.open if job.state is not JobState.RUNNING]
        for job in pending:
            if job.job.message_id != UNREAD:
                self._end(row, job, JobState.PREEMPTED, f"replaced by the newer job {by}")
