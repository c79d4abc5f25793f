"""The rows that one call has read. What the rules changed in them is found by comparing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from webordinary.backends.aws.rows import job_row, lane_row
from webordinary.backends.aws.values import Item
from webordinary.backends.memory.outbox import LetterRow
from webordinary.backends.memory.rows import MemoryRows
from webordinary.claim.rows import WorkerRow
from webordinary.claim.rules import Rules
from webordinary.core.claim import WorkerId
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind


class Model(MemoryRows):
    """Rows as they were read, and remembered as they were. Its topics are woken once it is written."""

    def __init__(self, limits: Limits, now: float, skew: float) -> None:
        """Start with nothing read."""
        super().__init__(limits)
        self.now, self.skew = now, skew
        self.rules = Rules(self, limits)
        self.lanes_read: dict[Lane, Item] = {}
        self.jobs_read: dict[JobId, Item] = {}
        self.letters_known: set[tuple[str, LetterKind]] = set()
        self.new_tokens: dict[JobId, str] = {}  # task tokens that came with this call
        self.dropped_tokens: set[str] = set()  # and those that nobody waits with any more
        self.held_by: Counter[WorkerId] = Counter()  # how many lanes each worker holds, where it was counted
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

    def held(self, worker: WorkerId) -> int:
        """How many lanes a worker holds; not all of them were read."""
        return self.held_by[worker]

    def _know_letter(self, about: str, kind: LetterKind) -> None:
        self.letters.rows[about, kind] = LetterRow(Letter(about, kind), 0.0)
        self.letters_known.add((about, kind))
