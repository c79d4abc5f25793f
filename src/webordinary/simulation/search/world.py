"""Everything that can happen next: what workers, submitters and operators ask, and what may go wrong.

A store with transactions carries a call out in one step. One without (`Setup.steps`) reads and decides, and
writes a step later if nobody was quicker: a write that would be refused is forgotten, and its caller asks
again. Either way an answer may be lost after the effect, a request may arrive long after its sender gave it
up or died, a worker may stop for longer than its lease lasts, and who crashes knows nothing afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, product
from typing import NamedTuple

from webordinary.claim.rows import CLAIMS, Nothing, lane_topic
from webordinary.claim.rules import Rules
from webordinary.core.claim import Claimed, Delivery, Pulse
from webordinary.core.errors import ClaimLost, NotAllowed, NotFound
from webordinary.core.job import JobState
from webordinary.simulation.search import checks
from webordinary.simulation.search.calls import REFUSED, Answer, Call, Verb
from webordinary.simulation.search.rows import GONE, NOBODY, Clock, Frozen, RowStore, is_changed
from webordinary.simulation.search.states import (
    AWAKE,
    DOZES,
    SLEEPS,
    Held,
    Setup,
    State,
    Step,
    Worker,
    canonical,
)

LATE_MOST = 2  # ticks after which a call that was not written is given up


class Effect(NamedTuple):
    """What a call did to rows."""

    rows: int
    answer: Answer
    topics: frozenset[str]
    broken: str


class World:
    """A setup, the rules that are searched, and everything that follows."""

    crashes_between_steps = False  # and nowhere else

    def __init__(self, setup: Setup, rules: type[Rules] = Rules) -> None:
        """Search these rules."""
        self.setup, self.rules = setup, rules
        self.limits, self.names = setup.limits, setup.names
        self.store = RowStore(self.limits, *self.names, setup.warm, bool(setup.breaker))
        self._effects: dict[tuple[int, int, Call, int], Effect] = {}
        self._sound: dict[int, str] = {}

    def start(self) -> State:
        """Nothing has happened yet."""
        setup = self.setup
        return State(
            self.store.number(Frozen((None,) * setup.lanes)),
            (Worker(),) * setup.workers,
            Worker(),
            crashes=setup.crashes,
            strays=setup.strays,
            operator=setup.operator,
            clock_steps=setup.clock_steps,
        )

    def left(self, state: State) -> list[int]:
        """The jobs that have not ended."""
        return [job.number + 1 for lane in self.store[state.rows].lanes if lane for job in lane.open]

    # --- what a call does to the rows -----------------------------------------------------------------

    def effect(self, rows: int, who: int, call: Call, late: int = 0) -> Effect:
        """Carry out a call that was decided so many ticks ago. The rules are asked once for equal rows."""
        key = (rows, who, call, late)
        found = self._effects.get(key)
        if found is None:
            found = self._effects[key] = self._perform(*key)
        return found

    def _perform(self, number: int, who: int, call: Call, late: int) -> Effect:
        before = self.store[number]
        rows = self.store.thaw(before)
        rows.now -= late
        try:
            answer: Answer = self.run(self.rules(rows, self.limits), who, call)
        except (ClaimLost, NotFound, NotAllowed):
            answer = REFUSED
        after = self.store.freeze(rows)
        broken = next(
            chain(
                checks.in_its_lane(rows),
                checks.of_step(before, after, who, call, answer),
                checks.of_wakeups(before, after, rows.topics, self.names),
            ),
            "",
        )
        return Effect(self.store.number(after), answer, frozenset(rows.topics), broken)

    def canonical(self, state: State) -> State:
        """The one state that stands for all like this one; a wrong store may need them all."""
        return canonical(state, self.store)

    def run(self, rules: Rules, who: int, call: Call) -> Answer:
        """Carry out a call by the rules; a wrong store does more than that."""
        return self.names.run(rules, who, call)

    def sound(self, number: int) -> str:
        """Check the rows of a state, and that those who may only look change nothing."""
        broken = self._sound.get(number)
        if broken is None:
            of_rows = checks.of_rows(self.store[number], clock_moved=self.setup.clock_steps > 0)
            broken = self._sound[number] = next(chain(of_rows, self._looks(number)), "")
        return broken

    def _looks(self, number: int) -> Iterator[str]:
        for lane in range(self.setup.lanes):
            if self.effect(number, NOBODY, Call(Verb.OWNER, lane)).rows != number:
                yield "the gatekeeper writes"
        for job in self.store[number].jobs():
            again = Call(Verb.SUBMIT, job % self.setup.lanes, job=job)
            if self.effect(number, NOBODY, again).rows != number:
                yield "the same message twice is not one job"
        swept = self.effect(number, NOBODY, Call(Verb.SWEEP)).rows
        if self.setup.sweep and checks.stranded(self.store[swept]):
            yield "a lane is stranded after the sweep"

    # --- everything that can happen -------------------------------------------------------------------

    def steps(self, state: State) -> Iterator[Step]:
        """List every step that is possible in a state."""
        yield from self.submitter_steps(state)
        for who in range(self.setup.workers):
            yield from self.worker_steps(state, who)
            yield from self.crash(state, who)
        for who, call in state.stray:
            arrived = self.carried_out(state._replace(stray=()), who, call, "arrives late", heard=False)
            yield from (step._replace(sure=False) for step in arrived)
        if state.operator:
            spent = state._replace(operator=state.operator - 1)
            for call in self.operator_calls(self.store[state.rows]):
                asked = self.carried_out(spent, NOBODY, call, "by an operator", heard=False)
                yield from (step._replace(sure=False) for step in asked)
        yield from self.clock(state)

    def clock(self, state: State) -> Iterator[Step]:
        """Time passes, or the store's clock is set back."""
        yield Step(NOBODY, Clock.TICK, "", self.aged(state if self.setup.pauses else self._kept(state)))
        if state.clock_steps:
            for back in (Clock.BACK, Clock.FAR_BACK):
                rows = self.store.moved(state.rows, back)
                after = state._replace(rows=rows, clock_steps=state.clock_steps - 1)
                yield Step(NOBODY, back, "", after, sure=False)

    def _kept(self, state: State) -> State:
        """Without pauses nobody misses a beat."""
        for who, worker in enumerate(state.workers):
            claims = tuple((one.lane, one.fence) for one in worker.claims)
            if claims:
                call = Call(Verb.KEEP, claims=claims)
                state = state._replace(rows=self.effect(state.rows, who, call).rows)
        return state

    def aged(self, state: State) -> State:
        """A tick later."""

        def older(worker: Worker) -> Worker:
            asleep = AWAKE if worker.asleep == DOZES else worker.asleep
            claims = tuple(
                one._replace(asleep=AWAKE) if one.asleep == DOZES else one for one in worker.claims
            )
            if worker.pending and worker.late == LATE_MOST:
                return Worker(claims, asleep=asleep)
            return Worker(claims, worker.pending, worker.late + 1 if worker.pending else 0, asleep)

        submitter = older(state.submitter)
        return state._replace(
            rows=self.store.moved(state.rows, Clock.TICK),
            workers=tuple(older(worker) for worker in state.workers),
            submitter=submitter,
            sent=state.sent - len(state.submitter.pending) + len(submitter.pending),
        )

    def submitter_steps(self, state: State) -> Iterator[Step]:
        """The next job is submitted. Who sends the same one again changes nothing: `_looks` sees to that."""
        submitter = state.submitter
        if submitter.pending:
            yield from self.write(state, NOBODY, submitter)
            if state.crashes and not self.setup.steps:
                after = state._replace(submitter=Worker(), crashes=state.crashes - 1)
                yield Step(NOBODY, None, "the submitter crashes", after, sure=False)
        elif state.sent < self.setup.jobs:
            lane = state.sent % self.setup.lanes
            sent = state._replace(sent=state.sent + 1)
            asked = self.asked(sent, NOBODY, Call(Verb.SUBMIT, lane, job=state.sent))
            yield from (step._replace(sure=False) for step in asked)

    def operator_calls(self, rows: Frozen) -> Iterator[Call]:
        """What an operator may do, and `up`, which knows its dead workers."""
        for number, lane in enumerate(rows.lanes):
            if lane is None:
                continue
            yield Call(Verb.EVICT, number)
            if lane.worker == GONE:
                yield Call(Verb.BURY, number)
            yield Call(Verb.INTERRUPT, number)
            yield from (Call(Verb.INTERRUPT, number, job=job.number) for job in lane.open)
            for job in lane.jobs:
                if job.state is JobState.DEAD:
                    yield Call(Verb.REDRIVE, number, job=job.number)
                    yield Call(Verb.DROP, number, job=job.number)

    # --- workers --------------------------------------------------------------------------------------

    def worker_steps(self, state: State, who: int) -> Iterator[Step]:
        """What a worker may ask next, and every way in which that can go."""
        worker = state.workers[who]
        if worker.pending:
            yield from self.write(state, who, worker)
        for call in self.calls(worker, busy=bool(worker.pending)):
            yield from self.asked(state, who, call)
            if state.strays and not state.stray:
                astray = state._replace(stray=((who, call),), strays=state.strays - 1)
                yield Step(who, call, "goes astray", astray, sure=False)
        rows = self.store[state.rows]
        for held in worker.claims:
            lane = rows.lanes[held.lane]
            if lane is None or (lane.worker, lane.fence) != (who, held.fence) or not lane.owned:
                kept = tuple(one for one in worker.claims if one is not held)
                after = state.with_worker(who, worker._replace(claims=kept))
                yield Step(who, None, f"gives lane {held.lane} up: its lease ran out unrenewed", after)

    def calls(self, worker: Worker, *, busy: bool) -> Iterator[Call]:
        """What a worker may ask now. A beat goes on while another call is at work."""
        if worker.claims:
            yield Call(Verb.KEEP, claims=tuple((one.lane, one.fence) for one in worker.claims))
        if busy:
            return
        room = self.setup.slots - len(worker.claims)
        idle = () if room else tuple((one.lane, one.fence) for one in worker.claims if one.job < 0)
        if (room or (idle and self.setup.lanes > 1)) and not worker.asleep:
            yield Call(Verb.CLAIM, room=room, claims=idle)
        if self.setup.sweep:
            yield Call(Verb.SWEEP)
        for held in worker.claims:
            claim = Call(Verb.NEXT_JOB, held.lane, held.fence)
            if self.setup.releases:
                yield claim._replace(verb=Verb.RELEASE)
            if held.job < 0:
                if not held.asleep:
                    yield claim
                continue
            outcomes = ("preempted",) if held.stop else self.setup.outcomes
            for outcome, more in product(outcomes, (True, False)):
                yield claim._replace(
                    verb=Verb.SETTLE, job=held.job, attempt=held.attempt, outcome=outcome, more=more
                )

    def crash(self, state: State, who: int) -> Iterator[Step]:
        """A worker that knows something forgets it. What it held is held by nobody who comes back."""
        worker = state.workers[who]
        if not state.crashes or worker == Worker() or (self.crashes_between_steps and not worker.pending):
            return
        order = tuple(GONE if one == who else one for one in range(self.setup.workers))
        after = state.with_worker(who, Worker())._replace(
            rows=self.store.renamed(state.rows, order),
            stray=tuple((GONE if one == who else one, call) for one, call in state.stray),
            crashes=state.crashes - 1,
        )
        yield Step(who, None, "crashes and starts afresh", after, sure=False)

    # --- how a call goes ------------------------------------------------------------------------------

    def asked(self, state: State, who: int, call: Call) -> Iterator[Step]:
        """A call reaches the store: it is begun, or carried out at once."""
        begun = self.begin(state, who, call)
        return iter([begun]) if begun else self.carried_out(state, who, call)

    def begin(self, state: State, who: int, call: Call) -> Step | None:
        """Read and decide, in a store without transactions. A beat is one conditional write."""
        if not self.setup.steps or call.verb is Verb.KEEP:
            return None
        effect = self.effect(state.rows, who, call)
        if effect.rows == state.rows:
            return None
        if call.verb is Verb.CLAIM:  # which lane is taken, and which one goes for it, is decided now
            assert isinstance(effect.answer, Claimed)
            taken = effect.answer.claims + effect.answer.given_up
            lanes = [self.names.lanes.index(one.lane) for one in taken]
            call = call._replace(lane=lanes[0], claims=tuple(one for one in call.claims if one[0] in lanes))
        return Step(who, call, "is decided", state.with_pending(who, call))

    def write(self, state: State, who: int, caller: Worker) -> Iterator[Step]:
        """Write what was decided. Had anybody been quicker, it would not be there any more."""
        call, done = caller.pending[0], state.with_pending(who, None)
        yield from self.carried_out(done, who, call, "is written", late=caller.late)

    def carried_out(
        self, state: State, who: int, call: Call, how: str = "", *, late: int = 0, heard: bool = True
    ) -> Iterator[Step]:
        """A call has its effect, and its caller gets the answer, or not."""
        effect = self.effect(state.rows, who, call, late)
        broken = effect.broken or self.sound(effect.rows)
        after = state
        if effect.rows != state.rows:
            after = State(effect.rows, *self.refuse_others(state, effect.rows)[1:])
        if effect.topics and not self.setup.polls:
            after = self.woken(after, effect.topics)
        if who != NOBODY and heard:
            if self.setup.losses and effect.rows != state.rows:
                yield Step(who, call, "and the answer is lost", after, sure=False, broken=broken)
            after = after.with_worker(who, self.learned(after.workers[who], call, effect.answer))
        yield Step(who, call, how, after, broken=broken, answer=effect.answer)

    def refuse_others(self, state: State, rows: int) -> State:
        """Whoever decided on what is changed by now will be refused, and ask again."""
        if not self.setup.steps:
            return state
        lanes = zip(self.store[state.rows].lanes, self.store[rows].lanes, strict=True)
        changed = {number for number, (was, now) in enumerate(lanes) if is_changed(was, now)}

        def refused(one: Worker) -> bool:
            if not one.pending:
                return False
            call = one.pending[0]
            touched = {call.lane, *(lane for lane, _ in call.claims)}
            return call.verb is Verb.SWEEP or bool(touched & changed)

        workers = tuple(
            Worker(one.claims, asleep=one.asleep) if refused(one) else one for one in state.workers
        )
        if refused(state.submitter):
            state = state._replace(submitter=Worker(), sent=state.sent - 1)
        return state._replace(workers=workers)

    def woken(self, state: State, topics: frozenset[str]) -> State:
        """Wake-ups arrive."""
        lanes = {number for number, lane in enumerate(self.names.lanes) if lane_topic(lane) in topics}
        workers = tuple(
            worker._replace(
                asleep=AWAKE if CLAIMS in topics else worker.asleep,
                claims=tuple(
                    one._replace(asleep=AWAKE) if one.lane in lanes else one for one in worker.claims
                ),
            )
            for worker in state.workers
        )
        return state._replace(workers=workers)

    def learned(self, worker: Worker, call: Call, answer: Answer) -> Worker:
        """What a worker knows once it has the answer."""
        claims, lanes = {one.lane: one for one in worker.claims}, self.names.lanes
        if call.verb is Verb.RELEASE or answer == REFUSED:
            claims.pop(call.lane, None)
        match answer:
            case Claimed(taken, given_up):
                for claim in given_up:
                    del claims[lanes.index(claim.lane)]
                claims |= {(lane := lanes.index(one.lane)): Held(lane, one.fence) for one in taken}
            case Pulse(lost, interrupts):
                for claim in lost:
                    del claims[lanes.index(claim.lane)]
                stopped = {int(one.job) - 1 for one in interrupts}
                claims = {
                    lane: one._replace(stop=one.stop or one.job in stopped) for lane, one in claims.items()
                }
            case Delivery(claim, job, attempt):
                claims[call.lane] = Held(call.lane, claim.fence, int(job.id) - 1, attempt)
            case Nothing(retry_in):
                asleep = AWAKE if self.setup.polls else SLEEPS if retry_in == math.inf else DOZES
                if call.verb is Verb.CLAIM:
                    return worker._replace(asleep=asleep)
                asked = call.verb is Verb.NEXT_JOB or call.more
                claims[call.lane] = Held(call.lane, call.fence, asleep=asleep if asked else AWAKE)
            case _:
                pass
        known = tuple(claims[lane] for lane in sorted(claims))
        return worker._replace(claims=known, asleep=worker.asleep if known == worker.claims else AWAKE)
