"""Wrong rules, stores and callers, each in a small world where the right one passes.

A search that has not found planted bugs proves nothing. And a fault counts as found only if the right
protocol passes where it fails: so the sweep is off where it would hide the fault, and bad luck is limited to
what the right protocol survives there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from webordinary.claim.rows import LaneRow
from webordinary.claim.rules import Rules
from webordinary.core.claim import Claim, Claimed
from webordinary.core.job import Arrival
from webordinary.core.views import Happening
from webordinary.simulation import mutants
from webordinary.simulation.search.calls import Answer, Call, Verb
from webordinary.simulation.search.graph import Report, Violation, explore
from webordinary.simulation.search.states import Setup, State, Step
from webordinary.simulation.search.world import World

# --- wrong rules --------------------------------------------------------------------------------------


class RequestForOwnedLane(Rules):
    """Every new job asks for an owner, and others hand the request of an owned lane round."""

    def _announce(self, lane: LaneRow) -> None:
        super()._announce(lane)
        self._want(lane)


class ReleaseUnfenced(Rules):
    """A worker gives the lane up whatever its fence, also when it is another's by now."""

    def release(self, claim: Claim) -> None:
        """Let go of what may be somebody else's."""
        lane = self.rows.lane(claim.lane)
        if lane is not None and lane.worker is not None:
            self._let_go(lane, Happening.RELEASED)


class SweepOverOwners(Rules):
    """The sweep starts from ownership, and misses lanes that never had an owner."""

    def sweep(self) -> int:
        """Look at lanes that were claimed once."""
        rows = [row for row in self.rows.index().suspects(9) if row.fence]
        stranded = [row for row in rows if not row.owned(self.rows.now, self.limits)]
        for row in stranded:
            self._want(row)
        return len(stranded)


class NobodyWoken(Rules):
    """A lane that waits for an owner wakes nobody."""

    def _want(self, lane: LaneRow) -> None:
        lane.wanted_since = self.rows.now
        lane.wanted_from = lane.due_from(self.rows.now, self.limits)


# --- wrong stores and callers: something happens between two steps of theirs --------------------------


class Forgetful(World):
    """A world in which some calls leave the claim request as it was."""

    def run(self, rules: Rules, who: int, call: Call) -> Answer:
        """Act, and leave the claim request as it was, if the call is marked."""
        row = rules.rows.lane(self.names.lanes[call.lane])
        wanted = row.wanted_since if row else None
        answer = super().run(rules, who, call)
        row = rules.rows.lane(self.names.lanes[call.lane])
        if row is not None and call.trick:
            row.wanted_since = wanted
        return answer


class CheckThenSend(Forgetful):
    """The submitter looks at the owner first and sends the job afterwards."""

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Look."""
        if call.verb is not Verb.SUBMIT:
            return None
        lane = self.store[state.rows].lanes[call.lane]
        call = call._replace(trick="there was an owner" if lane and lane.owned else "")
        return Step(who, call, "looks at the owner", state.with_pending(who, call))


class NoSecondLook(Forgetful):
    """A worker sees nothing in its lane, and lets go a little later without looking again."""

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Look."""
        lane = self.store[state.rows].lanes[call.lane]
        if call.verb is not Verb.RELEASE or lane is None or lane.open:
            return None
        call = call._replace(trick="there was no job")
        return Step(who, call, "looks at its lane", state.with_pending(who, call))


class TwoStepClaim(World):
    """A worker sees a claim request, and claims a step later. Nothing is wrong with that."""

    crashes_between_steps = True

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Receive the request."""
        if call.verb is not Verb.CLAIM or not isinstance(self.effect(state.rows, who, call).answer, Claimed):
            return None
        return Step(who, call, "receives the request", state.with_pending(who, call))


class RequestMerged(TwoStepClaim, Forgetful):
    """A new request is swallowed while an older one is still in somebody's hands."""

    def carried_out(
        self, state: State, who: int, call: Call, how: str = "", *, late: int = 0, heard: bool = True
    ) -> Iterator[Step]:
        """Swallow the request of a new job."""
        if call.verb is Verb.SUBMIT and any(worker.pending for worker in state.workers):
            call = call._replace(trick="swallowed")
        yield from super().carried_out(state, who, call, how, late=late, heard=heard)


class RequestConsumedFirst(TwoStepClaim):
    """The request is consumed, and only then is the claim written."""

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Consume."""
        begun = super().begin(state, who, call)
        if begun is None:
            return None
        rows = self.effect(state.rows, who, call._replace(lane=0, trick="consume")).rows
        call = call._replace(lane=0, trick="consumed")
        return Step(who, call, "consumes the request", state._replace(rows=rows).with_pending(who, call))

    def run(self, rules: Rules, who: int, call: Call) -> Answer:
        """Consume first, claim later."""
        row = rules.rows.lane(self.names.lanes[call.lane]) if call.trick else None
        if row is not None and call.trick == "consume":
            row.wanted_since = None
            return None
        if row is not None and row.wanted_since is None and row.open:
            row.wanted_since = rules.rows.now - 1
        return self.names.run(rules, who, call)


class QueueThenAsk(Forgetful):
    """A job is queued, and an owner asked for a step later; the sweep must make good what never comes."""

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Queue the job; asking the operator's way to stop nothing asks for an owner, too."""
        if call.verb is not Verb.SUBMIT:
            return None
        rows = self.effect(state.rows, who, call._replace(trick="queue")).rows
        asks = Call(Verb.INTERRUPT, call.lane)
        return Step(who, call, "is queued", state._replace(rows=rows).with_pending(who, asks))


class MessageDeletedFirst(World):
    """The job leaves its lane's queue, and only then is its outcome stored."""

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Delete."""
        if call.verb is not Verb.SETTLE:
            return None
        deleted = self.effect(state.rows, who, call._replace(trick="delete"))
        after = state._replace(rows=deleted.rows).with_pending(who, call)
        return Step(who, call, "deletes the message", after, broken=deleted.broken)

    def run(self, rules: Rules, who: int, call: Call) -> Answer:
        """Take the job out of its lane."""
        row = rules.rows.lane(self.names.lanes[call.lane])
        if call.trick != "delete" or row is None or not row.open:
            return self.names.run(rules, who, call)
        row.open.remove(row.open[0])
        return None


class HintFirst(World):
    """Those who wait are woken before the write: they look, see nothing, and sleep on."""

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Wake when it is decided."""
        begun = super().begin(state, who, call)
        if begun is None:
            return None
        topics = self.effect(state.rows, who, call).topics
        return begun._replace(after=super().woken(begun.after, topics))

    def woken(self, state: State, topics: frozenset[str]) -> State:
        """They were woken before."""
        del topics
        return state


class WriteUnconditional(World):
    """What was decided is written whatever was changed meanwhile."""

    def canonical(self, state: State) -> State:
        """What was read is remembered by its number: nothing may be renamed."""
        return state

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Remember what was read."""
        begun = super().begin(state, who, call)
        if begun is None:
            return None
        call = call._replace(trick=str(self.effect(state.rows, who, call).rows))
        return begun._replace(after=state.with_pending(who, call))

    def refuse_others(self, state: State, rows: int) -> State:
        """Refuse nobody."""
        del rows
        return state

    def carried_out(
        self, state: State, who: int, call: Call, how: str = "", *, late: int = 0, heard: bool = True
    ) -> Iterator[Step]:
        """Overwrite."""
        for step in super().carried_out(state, who, call._replace(trick=""), how, late=late, heard=heard):
            if not call.trick:
                yield step
                continue
            written = int(call.trick)
            lost = self.store[state.rows].jobs() - self.store[written].jobs()
            broken = f"job {min(lost) + 1} is gone" if lost else self.sound(written)
            yield step._replace(after=step.after._replace(rows=written), broken=broken)


# --- where each is found ------------------------------------------------------------------------------

CALM = Setup(jobs=1, crashes=0, sweep=False, pauses=False, losses=False)  # the right one needs no sweep here
CRASH = replace(CALM, crashes=1, sweep=True)
PAUSE = replace(CALM, pauses=True, sweep=True)
LOSS = replace(CALM, losses=True, sweep=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong, and the world in which it is found."""

    setup: Setup
    rules: type[Rules] = Rules
    world: type[World] = World
    right: type[World] = World  # in which the right rules pass
    control: Setup | None = None  # if it is another one

    @property
    def what(self) -> str:
        """What is wrong."""
        wrong = self.world if self.world is not self.right else self.rules
        return (wrong.__doc__ or "").partition("\n")[0]


FAULTS: dict[str, Fault] = {
    "gatekeeper-claims": Fault(CALM, mutants.GatekeeperClaims),
    "row-absence-only": Fault(CRASH, mutants.RowAbsenceOnly),
    "check-then-send": Fault(replace(CALM, jobs=2), world=CheckThenSend),
    "release-without-second-look": Fault(replace(CALM, jobs=2), world=NoSecondLook),
    "no-sweep": Fault(replace(CRASH, sweep=False), control=CRASH, rules=mutants.NoSweep),
    "request-bounced": Fault(replace(CALM, jobs=2), RequestForOwnedLane),
    "request-merged": Fault(replace(CALM, jobs=2), world=RequestMerged, right=TwoStepClaim),
    "request-consumed-first": Fault(replace(CALM, crashes=1), world=RequestConsumedFirst, right=TwoStepClaim),
    "no-fencing": Fault(PAUSE, mutants.NoFencing),
    "fence-restarts": Fault(PAUSE, mutants.FenceRestarts),
    "commit-not-idempotent": Fault(LOSS, mutants.CommitNotIdempotent),
    "message-deleted-first": Fault(CRASH, world=MessageDeletedFirst),
    "release-unfenced": Fault(PAUSE, ReleaseUnfenced),
    "sweep-over-owners": Fault(CRASH, SweepOverOwners, QueueThenAsk, QueueThenAsk),
    "interrupt-leaves-head": Fault(
        replace(CALM, jobs=2, arrival=Arrival.INTERRUPT, releases=False), mutants.InterruptLeavesHead
    ),
    "never-gives-way": Fault(
        replace(CALM, jobs=2, workers=1, lanes=2, releases=False), mutants.NeverGivesWay
    ),
    "prefetch-two": Fault(replace(CALM, jobs=2), mutants.PrefetchTwo),
    "dead-owner-keeps-head": Fault(CRASH, mutants.DeadOwnerKeepsHead),
    "nobody-woken": Fault(replace(CALM, jobs=2, polls=False), NobodyWoken),
    "hint-before-write": Fault(replace(CALM, steps=True, polls=False), world=HintFirst),
    "write-unconditional": Fault(replace(CALM, jobs=2, steps=True), world=WriteUnconditional),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A fault, what the search saw of it, and what it saw of the right protocol in the same world."""

    name: str
    report: Report
    control: Report

    @property
    def found(self) -> Violation | None:
        """How the promise was broken that the right protocol keeps."""
        return self.report.violations[0] if self.report.violations and self.control.ok else None

    def __str__(self) -> str:
        """One line of a table."""
        found = f"{self.found.what} ({len(self.found.trace)} steps)" if self.found else "NOT FOUND"
        return f"{self.name:28} {found:72} {self.report.states:>6,} states"


def check_fault(name: str) -> Trial:
    """Search a wrong protocol, and the right one in the same world."""
    fault = FAULTS[name]
    wrong = fault.world(fault.setup, fault.rules)
    return Trial(name, explore(wrong), explore(fault.right(fault.control or fault.setup)))
