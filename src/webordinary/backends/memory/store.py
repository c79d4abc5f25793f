"""The claim protocol on plain Python objects: the model that every other backend is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.memory.outbox import Letters
from webordinary.backends.memory.rows import JobRow, LaneRow, WorkerRow, delivery_of
from webordinary.backends.memory.waiting import WaitingRows
from webordinary.backends.polling import Nothing
from webordinary.backends.wakeups import CLAIMS, Wakeups, job_topic, lane_topic, worker_topic
from webordinary.claim.fairness import FairChoice
from webordinary.core.claim import Claim, Claimed, Delivery, Interrupt, Ownership, Presence, Pulse, WorkerId
from webordinary.core.errors import ClaimLost
from webordinary.core.job import AHEAD_COUNTED_MAX, ENDED, Arrival, Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Facts, HandedBack, Outcome, interrupted_note, judge
from webordinary.core.views import Happening, LaneEvent
from webordinary.ports.clock import Clock


class MemoryStore:
    """All verbs run without suspending, so each is atomic."""

    def __init__(self, limits: Limits, clock: Clock, wakeups: Wakeups) -> None:
        """Start empty."""
        self.limits, self._clock, self._wakeups = limits, clock, wakeups
        self.lanes: dict[Lane, LaneRow] = {}
        self.jobs: dict[JobId, JobRow] = {}
        self.workers: dict[WorkerId, WorkerRow] = {}
        self.events: list[LaneEvent] = []
        self.letters = Letters(clock, wakeups)
        self._by_message: dict[tuple[Lane, str], JobId] = {}

    # --- submitting -----------------------------------------------------------------------------

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """See `Broker.submit`."""
        known = self._by_message.get((job.lane, job.message_id))
        if known is not None:
            return Duplicate(known)
        row = self._lane(job.lane)
        interrupts = self._make_way(row, job)
        ahead = min(len(row.open), AHEAD_COUNTED_MAX)
        stored = self.jobs[job.id] = JobRow(job, self._clock.now())
        self._by_message[job.lane, job.message_id] = job.id
        row.open.append(stored)
        self.letters.owe_accepted(stored, ahead, interrupts, self.limits.acknowledge_seconds)
        self._announce(row)
        return Submitted(job.id, ahead, interrupts)

    def _make_way(self, row: LaneRow, newer: Job) -> JobId | None:
        """Do to the jobs ahead what the newer one's arrival policy says."""
        if newer.arrival is Arrival.REPLACE_PENDING:
            for job in [job for job in row.open if job.state is not JobState.RUNNING]:
                self._end(row, job, JobState.PREEMPTED, f"replaced by the newer job {newer.id}")
        head = row.head
        if head is not None and newer.interrupts(head.job.session, head.job.intent):
            return self._interrupt(row, head, newer.id)
        return None

    def _interrupt(
        self, row: LaneRow, head: JobRow, by: JobId | None, *, waiting: bool = False
    ) -> JobId | None:
        """Stop a job; one that has not started only if `waiting` ones are meant, too."""
        if head.state is JobState.RETRYING or (waiting and head.state is JobState.QUEUED):
            head.interrupted, head.interrupted_by = True, by
            self._event(row, Happening.INTERRUPTED, job=head, note=interrupted_note(by))
            self._end(row, head, JobState.PREEMPTED, interrupted_note(by))
            return head.job.id
        if head.state is JobState.RUNNING:
            if not head.interrupted:
                head.interrupted, head.interrupted_by = True, by
                self._event(row, Happening.INTERRUPTED, job=head, note=interrupted_note(by))
            if row.worker is not None:
                self._wakeups.send([worker_topic(row.worker)])
            return head.job.id
        return None

    def _announce(self, row: LaneRow) -> None:
        """Wake the lane's owner; a lane without a live one gets a claim request, if it has work."""
        if not row.open:
            row.wanted_since = None
            return
        if row.owned(self._clock.now()):
            self._wakeups.send([lane_topic(row.lane)])
        else:
            self._want(row)

    def _want(self, row: LaneRow) -> None:
        if row.wanted_since is None:
            row.wanted_since = self._clock.now()
        row.wanted_from = row.due_from()
        self._wakeups.send([CLAIMS])

    # --- owning ---------------------------------------------------------------------------------

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`."""
        row = self.lanes.get(lane)
        return row.ownership(self._clock.now()) if row else None

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """See `Broker.claim`."""
        spare = [] if room else [claim for claim in idle if self._spare(claim)]
        if not room and not spare:
            return Nothing()
        ready, retry_in = self._ready(worker, room or len(spare), only, exchange=not room)
        for given_up, _ in zip(spare, ready, strict=False):
            self._let_go(self.lanes[given_up.lane], Happening.EXCHANGED)
        claims = tuple(self._take(row, worker) for row in ready)
        return Claimed(claims, tuple(spare[: len(claims)])) if claims else Nothing(retry_in)

    def _spare(self, claim: Claim) -> bool:
        row = self.lanes.get(claim.lane)
        return row is not None and row.held_by(claim) and row.quiet(self._clock.now())

    def _ready(
        self, worker: WorkerId, most: int, only: Lane | None, *, exchange: bool
    ) -> tuple[list[LaneRow], float]:
        """List the lanes this worker may take now, fairest first; and when there may be more."""
        now = self._clock.now()
        rows = [row for row in self.lanes.values() if only in (None, row.lane)]
        waiting = WaitingRows(rows, self.lanes.values(), self._takes_lanes, now)
        grace = self.limits.exchange_grace_seconds if exchange else 0.0
        choice = FairChoice(waiting, worker, now, self.limits, grace=grace)
        lanes = choice.lanes(most)
        return [self.lanes[lane] for lane in lanes], choice.retry_in()

    def _takes_lanes(self, worker: WorkerId) -> bool:
        seen = self.workers.get(worker)
        return (
            seen is not None
            and not seen.presence.draining
            and seen.seen_at + self.limits.lease_seconds > self._clock.now()
        )

    def _take(self, row: LaneRow, worker: WorkerId) -> Claim:
        """Make the worker the lane's owner and consume the claim request: one step."""
        now = self._clock.now()
        lost_owner = row.worker
        row.worker = row.last_worker = worker
        row.fence += 1
        row.claimed_at = row.last_activity = now
        row.lease_until = now + self.limits.lease_seconds
        row.wanted_since = None
        if lost_owner is None:
            self._event(row, Happening.CLAIMED)
        else:
            self._event(row, Happening.TAKEN_OVER, note=f"the lease of {lost_owner} ran out")
        return Claim(row.lane, worker, row.fence)

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """See `Broker.keep`."""
        now = self._clock.now()
        self.workers[presence.worker] = WorkerRow(presence, now)
        if presence.gone:
            del self.workers[presence.worker]
        lost, interrupts = [], []
        for claim in claims:
            row = self.lanes.get(claim.lane)
            if row is None or not row.held_by(claim):
                lost.append(claim)
                continue
            row.lease_until, row.wanted_since = now + self.limits.lease_seconds, None
            head = row.head
            if head and head.state is JobState.RUNNING and head.fence == claim.fence and head.interrupted:
                interrupts.append(Interrupt(claim.lane, head.job.id, head.interrupted_by))
        with_work = sum(
            bool(row.open) for row in self.lanes.values() if row.worker == presence.worker and row.owned(now)
        )
        return Pulse(tuple(lost), tuple(interrupts), *self.pressure(), with_work)

    def pressure(self) -> tuple[int, float]:
        """Say how many lanes wait for an owner, and the longest wait in seconds."""
        now = self._clock.now()
        waits = [
            now - max(row.wanted_since, row.wanted_from)
            for row in self.lanes.values()
            if row.wanted_since is not None and row.wanted_from <= now and row.open and not row.owned(now)
        ]
        return len(waits), max(waits, default=0.0)

    async def release(self, claim: Claim) -> None:
        """See `Broker.release`."""
        row = self.lanes.get(claim.lane)
        if row is not None and row.held_by(claim):
            head = row.head
            if head and head.state is JobState.RUNNING and head.fence == claim.fence:
                self._settle(row, head, HandedBack())
            self._let_go(row, Happening.RELEASED)

    def _let_go(self, row: LaneRow, why: Happening) -> None:
        self._event(row, why)
        row.worker = row.claimed_at = row.lease_until = None
        self._announce(row)

    async def sweep(self) -> int:
        """See `Broker.sweep`."""
        now = self._clock.now()
        stranded = [
            row for row in self.lanes.values() if row.open and not row.owned(now) and row.wanted_since is None
        ][: self.limits.sweep_lanes_max]
        for row in stranded:
            self._want(row)
        for row in self.lanes.values():
            if row.wanted_since is not None and (row.owned(now) or not row.open):
                row.wanted_since = None
        return len(stranded)

    # --- working --------------------------------------------------------------------------------

    async def next_job(self, claim: Claim) -> Delivery | Nothing:
        """See `Broker.next_job`."""
        return self._next(self._held(claim), claim)

    def _held(self, claim: Claim) -> LaneRow:
        row = self.lanes.get(claim.lane)
        if row is None or not row.held_by(claim):
            raise ClaimLost(f"{claim.worker} no longer holds {claim.lane} with fence {claim.fence}")
        return row

    def _next(self, row: LaneRow, claim: Claim) -> Delivery | Nothing:
        now = self._clock.now()
        while (head := row.head) is not None:
            if head.state is JobState.RUNNING and head.fence == claim.fence:
                return delivery_of(head, claim)
            if row.due_from() > now:
                return Nothing(row.due_from() - now)
            if head.state is JobState.RUNNING and not self._redeliverable(row, head):
                continue
            head.state, head.fence, head.worker = JobState.RUNNING, claim.fence, claim.worker
            head.attempt += 1
            head.started_at = row.last_activity = now
            head.due_at = None
            return delivery_of(head, claim)
        row.wanted_since = None  # asked for while this owner beat late: there is nothing left to ask for
        return Nothing()

    def _redeliverable(self, row: LaneRow, head: JobRow) -> bool:
        """Judge a job whose owner was lost: may the next owner run it again?"""
        if head.interrupted:
            self._end(row, head, JobState.PREEMPTED, interrupted_note(head.interrupted_by))
            return False
        self._count_failure(row)
        if head.attempt >= self.limits.deliveries_max:
            note = f"its worker was lost {head.attempt} times"
            self._event(row, Happening.DEAD, job=head, note=note)
            self._end(row, head, JobState.DEAD, note)
            return False
        note = f"{head.worker} was lost"
        if row.due_from() > self._clock.now():  # one failure too many: the lane is parked now
            self._retry(row, head, note, self._clock.now())
            return False
        self._event(row, Happening.REDELIVERED, job=head, note=note)
        return True

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """See `Broker.settle`."""
        row = self._held(delivery.claim)
        job = self.jobs.get(delivery.job.id)
        if job is None or job.fence != delivery.claim.fence:
            raise ClaimLost(f"job {delivery.job.id} was not delivered under this claim")
        if job.state is JobState.RUNNING:
            if job.attempt != delivery.attempt:
                raise ClaimLost(f"job {job.job.id} is at attempt {job.attempt}, not {delivery.attempt}")
            self._settle(row, job, outcome)
        if more:
            return self._next(row, delivery.claim)
        if not row.open:
            row.wanted_since = None
        return Nothing()

    def _settle(self, row: LaneRow, job: JobRow, outcome: Outcome) -> None:
        verdict = judge(
            outcome,
            attempt=job.attempt,
            interrupted=job.interrupted,
            by=job.interrupted_by,
            limits=self.limits,
        )
        now = row.last_activity = self._clock.now()
        if verdict.failed_attempt:
            self._count_failure(row)
        elif verdict.state in (JobState.DONE, JobState.FAILED):
            row.failures = 0
        match verdict.state:
            case JobState.RETRYING:
                self._retry(row, job, verdict.note, now + verdict.retry_in)
            case JobState.QUEUED:
                self._event(row, Happening.HANDED_BACK, job=job, note=verdict.note)
                job.state, job.note, job.started_at = verdict.state, verdict.note, None
                job.attempt -= 1
            case _:
                if verdict.state is JobState.DEAD:
                    self._event(row, Happening.DEAD, job=job, note=verdict.note)
                job.facts = dict(verdict.facts)
                self._end(row, job, verdict.state, verdict.note, verdict.told)

    def _retry(self, row: LaneRow, job: JobRow, note: str, due_at: float) -> None:
        self._event(row, Happening.RETRY, job=job, note=note)
        job.state, job.note, job.due_at = JobState.RETRYING, note, due_at

    def _count_failure(self, row: LaneRow) -> None:
        row.failures += 1
        if row.failures >= self.limits.breaker_failures:
            row.failures = 0
            row.parked_until = self._clock.now() + self.limits.breaker_seconds
            self._event(row, Happening.PARKED, note=f"{self.limits.breaker_failures} failures in a row")

    def _end(self, row: LaneRow, job: JobRow, state: JobState, note: str, told: Facts | None = None) -> None:
        assert state in ENDED
        job.state, job.note, job.finished_at = state, note, self._clock.now()
        job.due_at = None
        row.open.remove(job)
        self.letters.owe_end(job, told or {"note": note})
        self._wakeups.send([job_topic(job.job.id)])

    # --- shared ---------------------------------------------------------------------------------

    def _lane(self, lane: Lane) -> LaneRow:
        row = self.lanes.get(lane)
        if row is None:
            row = self.lanes[lane] = LaneRow(lane)
        return row

    def _event(self, row: LaneRow, what: Happening, *, job: JobRow | None = None, note: str = "") -> None:
        about = job.job.id if job else None
        self.events.append(LaneEvent(self._clock.now(), row.lane, what, row.worker, row.fence, about, note))
