"""What can be asked of the store, as values: a call in flight is part of a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from webordinary.claim.rows import Nothing
from webordinary.claim.rules import Rules
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, Presence, Pulse, WorkerId
from webordinary.core.job import Duplicate, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.simulation.search.rows import GONE, Fences, worker_name

EVERY_LANE = -1
REFUSED = "refused"  # the answer of a call that raised one of our errors
Answer = Submitted | Duplicate | Claimed | Nothing | Delivery | Pulse | Ownership | JobId | str | int | None


class Verb(StrEnum):
    """A verb of the rules."""

    SUBMIT = "submit"
    OWNER = "owner"
    CLAIM = "claim"
    NEXT_JOB = "next_job"
    KEEP = "keep"
    SETTLE = "settle"
    RELEASE = "release"
    SWEEP = "sweep"
    INTERRUPT = "interrupt"
    EVICT = "evict"
    BURY = "bury"
    REDRIVE = "redrive"
    DROP = "drop"


OUTCOMES: dict[str, Outcome] = {
    "done": Done(),
    "failed": Failed("no such page"),
    "retry": Retry("the model was overloaded"),
    "preempted": Preempted(),
}


class Call(NamedTuple):
    """A verb and its arguments; lanes, jobs and workers are numbers."""

    verb: Verb
    lane: int = EVERY_LANE
    fence: int = 0
    job: int = -1
    attempt: int = 0
    outcome: str = ""
    more: bool = False
    room: int = 0
    claims: tuple[tuple[int, int], ...] = ()  # lanes and fences that are kept, or idle
    trick: str = ""  # what a wrong caller or store has seen before

    def __str__(self) -> str:
        """Say it in a line of a trace."""
        values = {**self._asdict(), "job": self.job + 1, "lane": self.lane + 1, "trick": ""}
        said = [f"{name} {value}" for name, value in values.items() if value and name != "verb"]
        return " ".join([self.verb.value, *said])

    def renamed(self, fences: Fences) -> Call:
        """The same call with the ranks of fences."""
        fence = fences[self.lane].index(self.fence) if self.fence else 0
        claims = tuple((lane, fences[lane].index(one)) for lane, one in self.claims)
        return self._replace(fence=fence, claims=claims)

    def fences(self) -> list[tuple[int, int]]:
        """Lanes and fences that this call names."""
        return [*self.claims, *([(self.lane, self.fence)] if self.fence else [])]


class Names(NamedTuple):
    """What the numbers stand for."""

    lanes: Sequence[Lane]
    jobs: Sequence[Job]

    def run(self, rules: Rules, who: int, call: Call) -> Answer:
        """Carry a call out by the rules."""
        worker = worker_name(who) or WorkerId("nobody")
        job, lane = self.jobs[call.job], self.lanes[call.lane]
        claim = Claim(lane, worker, call.fence)
        claims = [Claim(self.lanes[number], worker, fence) for number, fence in call.claims]
        only = None if call.lane == EVERY_LANE else lane
        verbs: dict[Verb, Callable[[], Answer]] = {
            Verb.SUBMIT: lambda: rules.submit(job),
            Verb.OWNER: lambda: rules.owner(lane),
            Verb.CLAIM: lambda: rules.claim(worker, call.room, claims, only),
            Verb.KEEP: lambda: rules.keep(Presence(worker, 1, rules.rows.now), claims),
            Verb.NEXT_JOB: lambda: rules.next_job(claim),
            Verb.SETTLE: lambda: rules.settle(
                Delivery(claim, job, call.attempt), OUTCOMES[call.outcome], more=call.more
            ),
            Verb.RELEASE: lambda: rules.release(claim),
            Verb.SWEEP: rules.sweep,
            Verb.INTERRUPT: lambda: rules.interrupt(lane, job.id if call.job >= 0 else None),
            Verb.EVICT: lambda: rules.evict(lane),
            Verb.BURY: lambda: rules.bury(lane, WorkerId(f"w{GONE}")),
            Verb.REDRIVE: lambda: rules.redrive(job.id),
            Verb.DROP: lambda: rules.drop(job.id),
        }
        return verbs[call.verb]()
