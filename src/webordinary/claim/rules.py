"""The claim protocol: what each verb does to lanes and jobs. Every backend and the search run these rules.

docs/protocol.md says why they are as they are. A verb runs on the rows of one transaction and never waits. It
refuses (raises one of our errors) before it changes anything, so verbs of several callers can share a
transaction. Whoever is woken is woken after the commit, and asks the store again.
"""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.claim.fairness import FairChoice
from webordinary.claim.rows import CLAIMS, JobRow, LaneRow, Nothing, Rows, job_topic, lane_topic, worker_topic
from webordinary.core.claim import Claim, Claimed, Delivery, Interrupt, Ownership, Presence, Pulse, WorkerId
from webordinary.core.errors import ClaimLost, NotAllowed, NotFound
from webordinary.core.facts import Accepted, LetterFacts
from webordinary.core.job import AHEAD_COUNTED_MAX, ENDED, Arrival, Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import FINAL_LETTERS, Letter, LetterKind, SessionId
from webordinary.core.outcome import (
    HandedBack,
    Outcome,
    Verdict,
    interrupted_note,
    interrupted_verdict,
    judge,
    lost_verdict,
    replaced_verdict,
)
from webordinary.core.views import Happening, LaneEvent

FORGOTTEN_WORKER_SECONDS = 3600.0
ACTIVITY_SECONDS = 1.0  # how exact a lane's last activity is


class Rules:
    """The verbs of the protocol, on the rows of one transaction."""

    def __init__(self, rows: Rows, limits: Limits) -> None:
        """Work on these rows."""
        self.rows, self.limits = rows, limits

    # --- submitting -------------------------------------------------------------------------------

    def submit(self, job: Job) -> Submitted | Duplicate:
        """Make a job durable in its lane; then the lane has a live owner or a claim request."""
        known = self.rows.job_of_message(job.lane, job.message_id)
        if known is not None:
            return Duplicate(known)
        lane = self.rows.lane(job.lane) or self.rows.add_lane(job.lane)
        interrupts = self._make_way(lane, job)
        ahead = min(len(lane.open), AHEAD_COUNTED_MAX)
        self.rows.queue(lane, JobRow(job, self.rows.now))
        self._owe_accepted(job, ahead, interrupts)
        self._announce(lane)
        return Submitted(job.id, ahead, interrupts)

    def _make_way(self, lane: LaneRow, newer: Job) -> JobId | None:
        """Do to the jobs ahead what the newer one's arrival policy says."""
        if newer.arrival is Arrival.REPLACE_PENDING:
            pending = [job for job in lane.open if job.state is not JobState.RUNNING]
            self.replace(lane, pending, newer.id)
        head = lane.head
        if head is not None and newer.interrupts(head.job.session, head.job.intent):
            return self._interrupt(lane, head, newer.id)
        return None

    def replace(self, lane: LaneRow, pending: Sequence[JobRow], by: JobId) -> None:
        """End jobs that have not started because a newer one replaces them."""
        for job in pending:
            self._end(lane, job, replaced_verdict(by))

    def _interrupt(
        self, lane: LaneRow, job: JobRow, by: JobId | None, *, waiting: bool = False
    ) -> JobId | None:
        """Stop a job; one that has not started only if `waiting` ones are meant, too."""
        if job.state is JobState.QUEUED and not waiting:
            return None
        if not job.interrupted:
            job.interrupted, job.interrupted_by = True, by
            self._record(lane, Happening.INTERRUPTED, job, interrupted_note(by))
        if job.state is not JobState.RUNNING:
            self._end(lane, job, interrupted_verdict(by))
        elif lane.worker is not None:
            self.rows.wake(worker_topic(lane.worker))
        return job.job.id

    def _announce(self, lane: LaneRow) -> None:
        """Wake the lane's owner; a lane without a live one gets a claim request, if it has work."""
        if not lane.open:
            lane.wanted_since = None
        elif lane.owned(self.rows.now, self.limits):
            self.rows.wake(lane_topic(lane.lane))
        else:
            self._want(lane)

    def _want(self, lane: LaneRow) -> None:
        """Leave a claim request; a lane does not wait while it is in back-off or parked."""
        now = self.rows.now
        if lane.wanted_since is None or lane.wanted_since > now:  # the clock was set back since
            lane.wanted_since = now
        lane.wanted_from = lane.due_from(now, self.limits)
        self.rows.wake(CLAIMS)

    # --- owning -----------------------------------------------------------------------------------

    def owner(self, lane: Lane) -> Ownership | None:
        """Say who holds a lane now. Changes nothing."""
        row = self.rows.lane(lane)
        return row.ownership(self.rows.now, self.limits) if row else None

    def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Take up to `room` waiting lanes; with no room, one for each idle claim that is given up for it."""
        spare = [] if room else [claim for claim in dict.fromkeys(idle) if self.is_spare(claim)]
        if not room and not spare:
            return Nothing()
        ready, retry_in = self.ready(worker, room or len(spare), only, exchange=not room)
        if not ready:
            return Nothing(retry_in)
        given_up = tuple(spare[: len(ready)])
        for claim in given_up:
            self._let_go(self._held(claim), Happening.EXCHANGED)
        return Claimed(tuple(self._take(lane, worker) for lane in ready), given_up)

    def is_spare(self, claim: Claim) -> bool:
        """Whether an owner has nothing to do in its lane now, so that it may go in exchange."""
        lane = self.rows.lane(claim.lane)
        return lane is not None and lane.held_by(claim) and lane.quiet(self.rows.now, self.limits)

    def ready(
        self, worker: WorkerId, most: int, only: Lane | None, *, exchange: bool
    ) -> tuple[list[LaneRow], float]:
        """List the lanes a worker may take now, fairest first; and in how many seconds there may be more."""
        grace = self.limits.exchange_grace_seconds if exchange else 0.0
        waiting = self.rows.index().waiting(only)
        spread = only is None and not exchange
        choice = FairChoice(waiting, worker, self.rows.now, self.limits, grace=grace, spread=spread)
        return self.rows.find_lanes(choice.lanes(most)), choice.retry_in()

    def _take(self, lane: LaneRow, worker: WorkerId) -> Claim:
        """Make the worker the lane's owner and consume the claim request: one step."""
        now, lost_owner = self.rows.now, lane.worker
        lane.worker = lane.last_worker = worker
        lane.fence += 1
        lane.claimed_at = lane.last_activity = now
        lane.lease_until = now + self.limits.lease_seconds
        lane.wanted_since = None
        if lost_owner is None:
            self._record(lane, Happening.CLAIMED)
        else:
            self._record(lane, Happening.TAKEN_OVER, note=f"the lease of {lost_owner} ran out")
        return Claim(lane.lane, worker, lane.fence)

    def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """Renew all that a worker vouches for; say what was lost or interrupted, and how long others wait."""
        self.rows.show(presence)
        lost, interrupts = [], []
        for claim in claims:
            lane = self.rows.lane(claim.lane)
            if lane is None or not lane.held_by(claim):
                lost.append(claim)
                continue
            lane.lease_until = self.rows.now + self.limits.lease_seconds
            lane.wanted_since = None  # asked for while this beat was late
            head = lane.head
            if head and head.state is JobState.RUNNING and head.fence == claim.fence and head.interrupted:
                interrupts.append(Interrupt(claim.lane, head.job.id, head.interrupted_by))
        index = self.rows.index()
        with_work = index.held_with_work(presence.worker)
        return Pulse(tuple(lost), tuple(interrupts), *index.pressure(), with_work)

    def release(self, claim: Claim) -> None:
        """Give a lane up; what was delivered and not settled is handed back, leftovers get a request."""
        lane = self.rows.lane(claim.lane)
        if lane is not None and lane.held_by(claim):
            if (head := lane.head) and head.state is JobState.RUNNING and head.fence == claim.fence:
                self._settle(lane, head, HandedBack())
            self._let_go(lane, Happening.RELEASED)

    def _let_go(self, lane: LaneRow, why: Happening) -> None:
        self._record(lane, why)
        lane.worker = lane.claimed_at = lane.lease_until = None
        self._announce(lane)

    def sweep(self) -> int:
        """Give lanes with work, no live owner and no claim request a request; say how many needed one."""
        now, mended, index = self.rows.now, 0, self.rows.index()
        for lane in index.suspects(self.limits.sweep_lanes_max):
            if not lane.open or lane.owned(now, self.limits):
                lane.wanted_since = None
            elif lane.wanted_since is None:
                self._want(lane)
                mended += 1
            elif max(lane.wanted_since, lane.wanted_from) > max(now, lane.due_from(now, self.limits)):
                self._want(lane)  # the clock was set back: it would begin to wait at a moment long ahead
        index.forget_workers(now - FORGOTTEN_WORKER_SECONDS)
        return mended

    # --- working ----------------------------------------------------------------------------------

    def next_job(self, claim: Claim) -> Delivery | Nothing:
        """Hand over the head of a lane and only the head; the same one again until it is settled."""
        return self._next(self._held(claim), claim)

    def _held(self, claim: Claim) -> LaneRow:
        lane = self.rows.lane(claim.lane)
        if lane is None or not lane.held_by(claim):
            raise ClaimLost(f"{claim.worker} no longer holds {claim.lane} with fence {claim.fence}")
        return lane

    def _next(self, lane: LaneRow, claim: Claim) -> Delivery | Nothing:
        now = self.rows.now
        while (head := lane.head) is not None:
            if head.state is JobState.RUNNING and head.fence == claim.fence:
                return Delivery(claim, head.job, head.attempt)
            due = lane.due_from(now, self.limits)
            if due > now:
                return Nothing(due - now)
            if head.state is JobState.RUNNING and not self._redeliverable(lane, head):
                continue
            head.state, head.fence, head.worker = JobState.RUNNING, claim.fence, claim.worker
            head.attempt += 1
            head.started_at, head.due_at = now, None
            self._touch(lane)
            return Delivery(claim, head.job, head.attempt)
        lane.wanted_since = None  # asked for while this owner beat late: there is nothing left to ask for
        return Nothing()

    def _redeliverable(self, lane: LaneRow, head: JobRow) -> bool:
        """Judge a job whose owner was lost: may the next owner run it again?"""
        if head.interrupted:
            self._end(lane, head, interrupted_verdict(head.interrupted_by))
            return False
        self._count_failure(lane)
        if head.attempt >= self.limits.deliveries_max:
            verdict = lost_verdict(head.attempt)
            self._record(lane, Happening.DEAD, head, verdict.note)
            self._end(lane, head, verdict)
            return False
        note = f"{head.worker} was lost"
        if lane.due_from(self.rows.now, self.limits) > self.rows.now:  # one failure too many: it is parked
            self._retry(lane, head, note, self.rows.now)
            return False
        self._record(lane, Happening.REDELIVERED, head, note)
        return True

    def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """Store an outcome and the letter owed for it, fenced; with `more`, hand over the next job."""
        lane, job = self._held(delivery.claim), self.rows.job(delivery.job.id)
        if job is None or job.fence != delivery.claim.fence:
            raise ClaimLost(f"job {delivery.job.id} was not delivered under this claim")
        if job.state is JobState.RUNNING:  # else it was settled before: no second effect
            if job.attempt != delivery.attempt:
                raise ClaimLost(f"job {job.job.id} is at attempt {job.attempt}, not {delivery.attempt}")
            self._settle(lane, job, outcome)
        if more:
            return self._next(lane, delivery.claim)
        if lane.wanted_since is not None and not lane.open:
            lane.wanted_since = None
        return Nothing()

    def _settle(self, lane: LaneRow, job: JobRow, outcome: Outcome) -> None:
        by = job.interrupted_by
        verdict = judge(outcome, attempt=job.attempt, interrupted=job.interrupted, by=by, limits=self.limits)
        self._touch(lane)
        if verdict.failed_attempt:
            self._count_failure(lane)
        elif verdict.state in (JobState.DONE, JobState.FAILED):
            lane.failures = 0
        match verdict.state:
            case JobState.RETRYING:
                self._retry(lane, job, verdict.note, self.rows.now + verdict.retry_in)
            case JobState.QUEUED:
                self._record(lane, Happening.HANDED_BACK, job, verdict.note)
                job.state, job.note, job.started_at = verdict.state, verdict.note, None
                job.attempt -= 1
            case _:
                if verdict.state is JobState.DEAD:
                    self._record(lane, Happening.DEAD, job, verdict.note)
                self._end(lane, job, verdict)

    def _touch(self, lane: LaneRow) -> None:
        """Note that the lane is served; people look at it, so it need not cost a write for every job."""
        if lane.last_activity is None or abs(self.rows.now - lane.last_activity) >= ACTIVITY_SECONDS:
            lane.last_activity = self.rows.now

    def _retry(self, lane: LaneRow, job: JobRow, note: str, due_at: float) -> None:
        self._record(lane, Happening.RETRY, job, note)
        job.state, job.note, job.due_at = JobState.RETRYING, note, due_at

    def _count_failure(self, lane: LaneRow) -> None:
        """Count a failed attempt; too many in a row park the lane."""
        lane.failures += 1
        if lane.failures >= self.limits.breaker_failures:
            lane.failures = 0
            lane.parked_until = self.rows.now + self.limits.breaker_seconds
            self._record(lane, Happening.PARKED, note=f"{self.limits.breaker_failures} failures in a row")

    def _end(self, lane: LaneRow, job: JobRow, verdict: Verdict) -> None:
        """End a job; the letter about it is owed in the same step."""
        assert verdict.state in ENDED
        job.state, job.note, job.facts = verdict.state, verdict.note, verdict.facts
        job.finished_at, job.due_at = self.rows.now, None
        lane.open.remove(job)
        self._owe_end(job, verdict)
        self.rows.wake(job_topic(job.job.id))

    # --- the operator's hand ----------------------------------------------------------------------

    def interrupt(self, lane: Lane, job: JobId | None = None) -> JobId | None:
        """Ask the running job of a lane to stop, or this very job; one that waits ends at once."""
        row = self._known(lane)
        meant = row.head if job is None else self.rows.job(job)
        stopped = None
        if meant is not None and meant.open and meant.job.lane == lane:
            stopped = self._interrupt(row, meant, None, waiting=job is not None)
        self._announce(row)
        return stopped

    def evict(self, lane: Lane) -> bool:
        """Take a lane from whoever holds it and end its parking; False if nobody held it."""
        row = self._known(lane)
        row.parked_until, row.failures = None, 0
        evicted = row.worker
        if evicted is None:
            self._announce(row)
            return False
        self._let_go(row, Happening.EVICTED)
        self.rows.wake(worker_topic(evicted))
        self.rows.wake(lane_topic(lane))
        return True

    def bury(self, lane: Lane, worker: WorkerId) -> bool:
        """Free the lane of a worker that is known to be dead; False if it holds the lane no more.

        The lane's record stays: jobs that kill their workers are failures, and too many of them park it.
        """
        row = self._known(lane)
        if row.worker != worker:
            return False
        self._let_go(row, Happening.BURIED)
        return True

    def redrive(self, job: JobId) -> None:
        """Queue a dead job again, behind everything that waits in its lane, with all its attempts."""
        row = self._dead(job, JobState.QUEUED)
        lane = self._known(row.job.lane)
        row.state, row.attempt, row.note = JobState.QUEUED, 0, "redriven"
        row.started_at = row.finished_at = None
        self.rows.queue(lane, row)
        self._record(lane, Happening.REDRIVEN, row)
        self._announce(lane)

    def drop(self, job: JobId) -> None:
        """Put a dead job aside for good."""
        row = self._dead(job, JobState.DROPPED)
        row.state = JobState.DROPPED
        self._record(self._known(row.job.lane), Happening.DROPPED, row)

    def _dead(self, job: JobId, wanted: JobState) -> JobRow:
        row = self.rows.job(job)
        if row is None:
            raise NotFound(f"there is no job {job}")
        if row.state is not JobState.DEAD:
            raise NotAllowed(f"job {job} is {row.state}; only a dead job can become {wanted}")
        return row

    def _known(self, lane: Lane) -> LaneRow:
        row = self.rows.lane(lane)
        if row is None:
            raise NotFound(f"nothing was ever submitted to {lane}")
        return row

    # --- letters and events -----------------------------------------------------------------------

    def _owe_accepted(self, job: Job, ahead: int, interrupts: JobId | None) -> None:
        """Owe the word that a job is in its lane; not at once, for its end may come first."""
        if job.wants_reply:
            self._owe(job, LetterKind.ACCEPTED, Accepted(ahead, interrupts), self.limits.acknowledge_seconds)

    def _owe_end(self, row: JobRow, verdict: Verdict) -> None:
        """Owe the word about a job's end, once a kind of ending."""
        if row.job.wants_reply:
            kind = LetterKind(row.state.value)
            assert kind in FINAL_LETTERS
            row.replies_owed |= {kind.value}
            self._owe(row.job, kind, verdict.ending)

    def _owe(self, job: Job, kind: LetterKind, facts: LetterFacts, delay: float = 0.0) -> None:
        session = SessionId(job.session) if job.session else None
        self.rows.owe(Letter(job.id, kind, facts=facts, session=session), self.rows.now + delay)

    def _record(self, lane: LaneRow, what: Happening, job: JobRow | None = None, note: str = "") -> None:
        """Write down what happened to a lane, with its owner and fence of this moment."""
        about = job.job.id if job else None
        self.rows.record(LaneEvent(self.rows.now, lane.lane, what, lane.worker, lane.fence, about, note))
