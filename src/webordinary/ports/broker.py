"""Where jobs wait and who owns each lane.

`wait` is a long poll: the call comes back as soon as there is something, and with nothing when the
seconds are over. Wake-ups are hints; only the store decides. A call that failed with
`BackendUnavailable` may be repeated: every promise here holds for the second call too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, Presence, Pulse, WorkerId
from webordinary.core.job import Duplicate, Job, Submitted
from webordinary.core.lane import Lane
from webordinary.core.outcome import Outcome


class Recall:
    """Calls a long poll back early. The poll is never cancelled, so nothing it already holds is lost."""

    __slots__ = ("_listeners", "called")

    def __init__(self) -> None:
        """Start uncalled."""
        self.called = False
        self._listeners: list[Callable[[], None]] = []

    def call(self) -> None:
        """Have the poll come back with what it has."""
        self.called = True
        for listener in self._listeners:
            listener()

    def attach(self, listener: Callable[[], None]) -> None:
        """Have this called, too; at once if the recall has been called already."""
        self._listeners = [listener]
        if self.called:
            listener()


class Gatekeeper(Protocol):
    """The check "is this lane owned?". It reads; it holds no way to write."""

    async def owner(self, lane: Lane) -> Ownership | None:
        """Say who holds the lane now. The lease decides, never the row's mere existence."""
        ...


class Broker(Protocol):
    """Where jobs wait and who owns each lane."""

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """Make the job durable in its lane; then the lane has a live owner or a claim request."""
        ...

    async def claim(
        self,
        worker: WorkerId,
        *,
        room: int,
        wait: float,
        idle: Sequence[Claim] = (),
        only: Lane | None = None,
        recall: Recall | None = None,
    ) -> Claimed:
        """Take up to `room` waiting lanes atomically; with no room, one in exchange for an idle claim."""
        ...

    async def next_job(self, claim: Claim, *, wait: float, recall: Recall | None = None) -> Delivery | None:
        """Hand over the head of the lane and only the head; the same one again until it is settled."""
        ...

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """Renew all that a worker holds in one beat; the answer tells what was lost or interrupted."""
        ...

    async def nudged(self, worker: WorkerId, *, wait: float) -> None:
        """Come back early when a beat is worth sending now, for an interrupt; a hint and nothing more."""
        ...

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | None:
        """Store outcome and owed reply together, fenced; with `more`, hand over the next job as well."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give the lane up without stranding a job: leftovers get a claim request in the same breath."""
        ...

    async def sweep(self) -> int:
        """Give lanes with work and no live owner a claim request; say how many needed one."""
        ...
