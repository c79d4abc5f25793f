"""The claim protocol as a small state machine: one lane, a few jobs, workers and crashes.

It models the weakest backend, a cloud of separate stores. Each call to one store is atomic, nothing spans
two calls, and anything may happen between two calls of the same program.

    model           the nouns: faults, setup, state
    model_steps     the protocol: what submitters and workers do next, one store call at a time
    model_world     everything else that can happen: time passes, crashes, pauses, duplicates
    model_search    every reachable state visited, and what was broken on the way
    model_faults    a small setup for each fault in which the search has to find it

How the four stores look here:

- input queue: jobs are numbered 1, 2, ... and only the head can be received: "deleted up to n" says it all.
  While the head is in flight a receive finds nothing, which is not the same as an empty queue.
- ownership row: who, whether the lease still runs, the fence. A release leaves the row and its fence.
- unclaimed queue: an unordered bag of requests. A message nobody happens to receive and one still hidden by
  its visibility timeout cannot be told apart, so a dead receiver's request counts as visible again.
- job table: settled in order: "accepted up to n" says it all.

Left out, because nothing here depends on it: what a job does, retries, interrupts, heartbeats. A lease runs
until it runs out, which for a worker that is alive means that it was paused or cut off.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import chain
from typing import NamedTuple

REQUESTS_VISIBLE_MAX = 2
"""Requests waiting at once; one more changes nothing, since each says only "this lane has work"."""


class Fault(StrEnum):
    """A wrong protocol that the search has to catch."""

    GATEKEEPER_CLAIMS = "gatekeeper-claims"
    ROW_ABSENCE_ONLY = "claim-on-row-absence-only"
    CHECK_THEN_SEND = "check-then-send"
    NO_SECOND_LOOK = "release-without-second-look"
    NO_SWEEP = "no-sweep"
    REQUEST_BOUNCED = "request-bounced-for-owned-lane"
    REQUEST_MERGED = "request-merged-with-one-in-flight"
    REQUEST_CONSUMED_FIRST = "request-consumed-before-claim"
    NO_FENCING = "no-fencing-in-settle"
    FENCE_RESTARTS = "fence-restarts-after-release"
    NOT_IDEMPOTENT = "settle-not-idempotent"
    MESSAGE_DELETED_FIRST = "message-deleted-before-settle"
    RELEASE_UNFENCED = "no-fencing-in-release"
    SWEEP_OVER_ROWS = "sweep-over-ownership-rows"


FAULTS: dict[Fault, str] = {
    Fault.GATEKEEPER_CLAIMS: "the gatekeeper claims the lane for an invented worker and asks nobody",
    Fault.ROW_ABSENCE_ONLY: "a claim succeeds only where no owner is written down, expired or not",
    Fault.CHECK_THEN_SEND: "the submitter looks at ownership first and sends the job afterwards",
    Fault.NO_SECOND_LOOK: "a worker that has given the lane up does not look at the queue again",
    Fault.NO_SWEEP: "nobody asks for an owner of jobs left behind",
    Fault.REQUEST_BOUNCED: "a request for an owned lane goes back to the queue, up to the dead letters",
    Fault.REQUEST_MERGED: "a new request is swallowed while an older one is still in somebody's hands",
    Fault.REQUEST_CONSUMED_FIRST: "the request is deleted before the claim is written",
    Fault.NO_FENCING: "a settle is accepted whatever its fence",
    Fault.FENCE_RESTARTS: "a release deletes the row, so that fences start again at 1",
    Fault.NOT_IDEMPOTENT: "a job settled before is accepted again",
    Fault.MESSAGE_DELETED_FIRST: "the job's message is deleted before its outcome is stored",
    Fault.RELEASE_UNFENCED: "a worker gives the lane up whatever its fence, also when it is another's by now",
    Fault.SWEEP_OVER_ROWS: "the sweep starts from ownership rows and misses lanes that never had an owner",
}


class Phase(IntEnum):
    """What a worker does next. Each phase is one call to one store."""

    IDLE = 0
    CONSUME = 1
    """Deletes a request it has not acted on (only `request-consumed-before-claim`)."""
    CLAIM = 2
    DROP = 3
    """Was refused: deletes the request."""
    ACKNOWLEDGE = 4
    """Holds the lane: deletes the request."""
    RECEIVE = 5
    SETTLE = 6
    DELETE = 7
    MARK = 8
    """Saw nothing to receive: marks the row as releasing."""
    LOOK = 9
    GIVE_UP = 10
    LOOK_AGAIN = 11
    ASK = 12
    """Saw jobs without an owner: sends a claim request."""


class Submitter(IntEnum):
    """What the submitter of one job does next."""

    SEND = 0
    READ = 1
    ASK = 2
    DONE = 3


class Holder(IntEnum):
    """Who is named by the ownership row, or holds the receipt of the head message."""

    NOBODY = 0
    WORKER = 1
    """The one worker whose `owns` (or `flight`) is set."""
    DEAD = 2
    """Somebody who will never come back to it; only a timeout ends this."""


class Request(IntEnum):
    """A claim request, visible in the queue or in a worker's hands."""

    NONE = 0
    PLAIN = 1
    BOUNCED_ONCE = 2
    BOUNCED_TWICE = 3
    """One more and it is dead-lettered (only `request-bounced-for-owned-lane`)."""
    SHARED = 4
    """One message that came back while somebody held it. Whoever deletes it deletes it for all."""
    GONE = 5
    """Was shared, and somebody else has deleted it: there is nothing left to delete or to come back."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How much can happen. Crashes are counted; pauses, duplicates and timeouts are not.

    A crashed worker comes back as a fresh one that remembers nothing, so there is always a healthy worker
    left, and a job that stays behind is the protocol's failure and not for want of hands.
    """

    jobs: int = 2
    workers: int = 2
    crashes: int = 1
    sweep: bool = True
    fault: Fault | None = None
    pauses: bool = True
    """An owner may be stopped past its lease and go on afterwards with what it knew."""
    duplicates: bool = True
    """A claim request may be copied, or delivered to a second worker while the first still holds it."""
    crash_only_in: Phase | None = None
    """Only workers crash and only here, to look at one crash by itself."""
    request_outlasts_lease: bool = False
    """A dead worker's request comes back only after its lease has run out, never before."""

    @property
    def sweeps(self) -> bool:
        return self.sweep and self.fault is not Fault.NO_SWEEP

    @property
    def _crash_place(self) -> str:
        return "" if self.crash_only_in is None else f" in {self.crash_only_in.name}"

    def __str__(self) -> str:
        parts = [
            _count(self.jobs, "job"),
            _count(self.workers, "worker"),
            _count(self.crashes, "crash", "crashes") + self._crash_place,
            "sweep on" if self.sweeps else "sweep off",
        ]
        parts += [] if self.pauses else ["no pauses"]
        parts += [] if self.duplicates else ["no duplicates"]
        parts += ["requests outlast leases"] if self.request_outlasts_lease else []
        return ", ".join(parts)


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


class Worker(NamedTuple):
    """What one worker knows, and what stores and clocks know of it (`lease`, `owns`, `flight`)."""

    phase: Phase = Phase.IDLE
    job: int = 0
    """The job in its hands; 0 is none."""
    fence: int = 0
    """Of its claim, which may be out of date; 0 is no claim."""
    lease: bool = False
    """Its lease still runs."""
    owns: bool = False
    """The row names this claim."""
    flight: bool = False
    """It has the latest receipt of the head message."""
    request: Request = Request.NONE
    """The claim request in its hands."""


class State(NamedTuple):
    """Everything there is at one moment."""

    crashes_left: int
    submitters: tuple[Submitter, ...]
    sent: int
    accepted: int
    deleted: int
    flight: Holder
    owner: Holder
    live: bool
    """The row's lease has not run out."""
    fence: int
    requests: tuple[Request, ...]
    """Visible claim requests. At most one of all requests is shared at a time, so it needs no name."""
    hidden: tuple[Request, ...]
    """Requests of dead workers that are not visible yet (only with `request_outlasts_lease`)."""
    workers: tuple[Worker, ...]

    @property
    def owned(self) -> bool:
        """What a strongly consistent read of the row says: there is an owner and its lease still runs."""
        return self.live and self.owner is not Holder.NOBODY

    @property
    def head(self) -> int:
        """The job a receive would return; 0 for none, also while the head is in flight."""
        return self.deleted + 1 if self.deleted < self.sent and self.flight is Holder.NOBODY else 0

    @property
    def drained(self) -> bool:
        """Every job sent so far has its outcome."""
        return self.accepted == self.sent


class Kind(IntEnum):
    """Why a step happens; it decides whether a lane may count on it to be drained."""

    PROTOCOL = 0
    TIME = 1
    """A timeout that is sure to come."""
    ARRIVAL = 2
    """A new job. Whoever waits for new mail to be rescued is stuck."""
    MISFORTUNE = 3
    """A crash, a pause, a duplicate. Never a rescue either."""

    @property
    def sure(self) -> bool:
        return self <= Kind.TIME


class Step(NamedTuple):
    """One thing that can happen, and the state after it."""

    kind: Kind
    who: str
    what: str
    after: State
    broken: str = ""
    """The promise this step breaks, if it does."""


def start(setup: Setup) -> State:
    first = Submitter.READ if setup.fault is Fault.CHECK_THEN_SEND else Submitter.SEND
    return State(
        crashes_left=setup.crashes,
        submitters=(first,) * setup.jobs,
        sent=0,
        accepted=0,
        deleted=0,
        flight=Holder.NOBODY,
        owner=Holder.NOBODY,
        live=False,
        fence=0,
        requests=(),
        hidden=(),
        workers=(Worker(),) * setup.workers,
    )


RANKED_FENCES = (0, 2)
"""The row's fence in a canonical state: never claimed, or claimed."""


def canonical(state: State, setup: Setup) -> State:
    """The one state that stands for all that differ only in names.

    Workers are interchangeable, so they are sorted. Fences are only ever compared with the row's, and a new
    one is larger than all, so every fence is either the row's (2) or an older one (1).
    """
    workers: Iterable[Worker] = state.workers
    fence = state.fence
    if fence not in RANKED_FENCES and setup.fault is not Fault.FENCE_RESTARTS:
        workers = [one._replace(fence=1 + (one.fence == fence)) if one.fence else one for one in workers]
        fence = 2
    return state._replace(fence=fence, workers=tuple(sorted(workers)))


def packed(state: State) -> bytes:
    """A canonical state in as little memory as is easily had: millions of them are remembered."""
    numbers: Iterable[int] = chain(
        (len(state.requests), len(state.hidden), *state[:1], *state[2:9]),
        state.submitters,
        state.requests,
        state.hidden,
        *state.workers,
    )
    return bytes(numbers)
