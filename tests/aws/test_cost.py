"""What a job costs in calls: counted, printed, and held against docs/cost.md.

So nobody makes it dearer unnoticed.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.aws.bill import Bill, MeteredCloud, row
from tests.conformance.world import AMELIA, BRAVO, CORAL, LONG, W1, W2, ManualClock, World
from tests.emulators import REPOSITORY
from tests.waiting import soon, until, waiting
from webordinary.backends.aws.open import open_aws
from webordinary.backends.aws.settings import NEWS_LEASES, RECEIVE_SECONDS, AwsSettings
from webordinary.core.claim import Claim, Delivery
from webordinary.core.job import Arrival
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done
from webordinary.ports.backend import Backend

PAGE = REPOSITORY / "docs" / "cost.md"

SLOW = Limits(lease_seconds=240.0, beat_seconds=60.0)  # as the aim has it
USUAL = Limits()
JOB_SECONDS = 600

SUBMIT = "submit"
POLLS = "ten minutes of listening to the lane, for interrupts"
BEATS = "ten beats"
SETTLE = "settle"


class Office:
    """A worker and a sender, two processes, whose calls are counted together."""

    def __init__(self, settings: AwsSettings, clock: ManualClock, limits: Limits) -> None:
        self.clock, self.limits = clock, limits
        meter: Counter[str] = Counter()
        self.bill = Bill(meter)
        self.line = MeteredCloud(settings, clock, meter)
        self.backends: list[Backend] = []
        self.worker = self._process(settings, self.line)
        self.sender = self._process(settings, MeteredCloud(settings, clock, meter))
        self._heard = 0

    def _process(self, settings: AwsSettings, line: MeteredCloud) -> World:
        self.backends.append(
            open_aws(replace(settings, receive_seconds=1), self.clock, self.limits, cloud=line)
        )
        return World(self.backends[-1], self.clock, self.limits)

    async def heard(self) -> None:
        """Come back when the message that was just sent is out of its queue."""
        self._heard += 1
        await until(lambda: self.line.made.count("sqs delete_message") >= self._heard)

    async def claim_by_request(self) -> Claim:
        """Send a job to a lane that nobody owns, and have the worker hear of it."""
        async with waiting(self.worker.broker.claim(W1, room=1, wait=LONG)) as poll:
            self.bill.start()
            await self.sender.submit()
            self.bill.line(SUBMIT)
            (claim,) = (await soon(poll)).claims
        await self.heard()
        self.bill.line("hear of it and claim the lane")
        return claim

    async def job_by_wake_up(self, claim: Claim) -> Delivery:
        """Send a job to a lane that the worker owns, and have it hear of it."""
        async with waiting(self.worker.broker.next_job(claim, wait=LONG)) as poll:
            self.bill.start()
            await self.sender.submit()
            self.bill.line(SUBMIT)
            delivery = await soon(poll)
        await self.heard()
        self.bill.line("hear of it and begin")
        assert delivery is not None
        return delivery

    async def work(self, claim: Claim) -> None:
        """Ten minutes as a worker spends them while a job runs. Its sweeps are on another bill."""
        over, began = asyncio.Event(), self.clock.now()

        async def polled() -> None:
            self.bill.line(POLLS)
            await self.worker.broker.sweep()
            self.bill.start()
            gone = self.clock.now() - began
            if gone % self.limits.beat_seconds == 0:
                await self.worker.beat(W1, [claim])
                self.bill.line(BEATS)
            if gone >= JOB_SECONDS:
                over.set()
                await asyncio.Event().wait()  # what comes later is none of this job's

        self.line.polled = polled
        await soon(over.wait())
        self.line.polled = None


@pytest.fixture
def office(settings: AwsSettings, clock: ManualClock) -> Iterator[Callable[[Limits], Office]]:
    """Opens one, with the settings that operators have."""
    opened: list[Office] = []

    def opening(limits: Limits) -> Office:
        opened.append(Office(replace(settings, news_leases=NEWS_LEASES), clock, limits))
        return opened[-1]

    yield opening
    for each in opened:
        for backend in each.backends:
            backend.close()


async def acquainted(office: Office) -> Claim:
    """Everybody knows every queue's address, and the worker holds the lane with nothing left to do."""
    await office.worker.beat(W1)
    with suppress(TimeoutError):
        await asyncio.wait_for(office.worker.broker.nudged(W1, wait=LONG), 0.05)
    claim = await office.claim_by_request()
    delivery = await office.worker.deliver(claim)
    await office.worker.broker.settle(delivery, Done(), more=False)
    delivery = await office.job_by_wake_up(claim)
    await office.worker.broker.settle(delivery, Done(), more=False)
    office.bill.lines.clear()
    return claim


def on_the_page(*rows: str) -> None:
    """Print rows, and look for each in docs/cost.md."""
    print("", *rows, sep="\n")
    missing = [one for one in rows if one not in PAGE.read_text()]
    assert not missing, "docs/cost.md does not say so:\n" + "\n".join(missing)


async def test_the_page_says_what_a_job_in_a_claimed_lane_costs(office: Callable[[Limits], Office]) -> None:
    here = office(SLOW)
    claim = await acquainted(here)
    delivery = await here.job_by_wake_up(claim)
    await here.work(claim)
    here.bill.start()
    await here.worker.broker.settle(delivery, Done("yes"), more=True)
    here.bill.line(SETTLE)
    lines = [row(what, line) for what, line in here.bill.lines.items()]
    on_the_page(*lines, row("**claimed lane, ten minutes**", here.bill.total()))


async def test_the_page_says_what_a_job_in_an_unclaimed_lane_costs(
    office: Callable[[Limits], Office],
) -> None:
    here = office(SLOW)
    await here.worker.broker.release(await acquainted(here))
    claim = await here.claim_by_request()
    delivery = await here.worker.deliver(claim)
    here.bill.line("begin")
    await here.work(claim)
    here.bill.start()
    await here.worker.broker.settle(delivery, Done("yes"), more=True)
    here.bill.line(SETTLE)
    lines = [row(what, line) for what, line in here.bill.lines.items()]
    on_the_page(*lines, row("**unclaimed lane, ten minutes**", here.bill.total()))


async def test_the_page_says_what_an_idle_minute_of_a_worker_costs(
    office: Callable[[Limits], Office],
) -> None:
    here = office(USUAL)
    await here.worker.broker.release(await acquainted(here))
    await here.worker.beat(W1)
    for _ in range(int(60 / USUAL.sweep_seconds)):
        here.clock.advance(USUAL.sweep_seconds)
        here.bill.start()
        await here.worker.broker.sweep()
        here.bill.line("sweeps, every 10 s")
    for _ in range(int(60 / USUAL.beat_seconds)):
        await here.worker.beat(W1)
        here.bill.line("beats, every 15 s")
        await here.worker.claim(W1)
        here.bill.line("looks for lanes, with every beat")
    here.bill.lines["listening to claim requests"] = Counter(sqs=60 // RECEIVE_SECONDS)
    lines = [row(what, line) for what, line in here.bill.lines.items()]
    on_the_page(*lines, row("**idle minute of a worker**", here.bill.total()))


# --- what a cheap beat still knows ----------------------------------------------------------------


async def test_a_beat_of_an_owner_is_one_write_a_lane_and_its_presence_now_and_then(
    office: Callable[[Limits], Office],
) -> None:
    here = office(USUAL)
    claim = await acquainted(here)
    await here.worker.beat(W1, [claim])
    counts: list[int] = []
    for _ in range(4):
        here.clock.advance(USUAL.beat_seconds)
        await here.worker.broker.sweep()
        here.bill.start()
        await here.worker.beat(W1, [claim])
        here.bill.line(f"beat {len(counts)}")
        counts.append(here.bill.lines[f"beat {len(counts)}"]["dynamodb"])
    assert counts == [1, 2, 1, 2]


async def test_an_owner_is_seen_with_each_beat_of_its_lanes(office: Callable[[Limits], Office]) -> None:
    """People are shown that it lives, though its own item was not written."""
    here = office(USUAL)
    claim = await acquainted(here)
    for _ in range(3):
        await here.worker.beat(W1, [claim])
        (seen,) = await here.sender.ledger.workers()
        assert (seen.seen_at, seen.lanes) == (here.clock.now(), (AMELIA,))
        here.clock.advance(USUAL.beat_seconds)


async def test_a_beat_whose_lanes_are_all_lost_still_shows_its_worker(
    office: Callable[[Limits], Office],
) -> None:
    here = office(USUAL)
    claim = await acquainted(here)
    await here.worker.beat(W1, [claim])
    await here.sender.control.evict(AMELIA)
    here.clock.advance(USUAL.beat_seconds)
    assert (await here.worker.beat(W1, [claim])).lost == (claim,)
    (seen,) = await here.sender.ledger.workers()
    assert seen.seen_at == here.clock.now()


async def test_what_a_beat_says_of_waiting_lanes_is_at_most_half_a_lease_old(
    office: Callable[[Limits], Office],
) -> None:
    here = office(USUAL)
    claim = await acquainted(here)
    await here.worker.beat(W1, [claim])
    await here.sender.start(CORAL, worker=W2)  # a lane that waits for nobody
    since = here.clock.now()
    await here.sender.submit(BRAVO)
    for _ in range(2):
        here.clock.advance(USUAL.beat_seconds)
        pulse = await here.worker.beat(W1, [claim])
    assert (pulse.lanes_waiting, pulse.longest_wait) == (1, here.clock.now() - since)


async def test_an_interrupt_is_heard_at_once_also_before_the_first_beat_of_a_claim(
    office: Callable[[Limits], Office],
) -> None:
    """A worker that has just claimed a lane sends its next beat up to a minute later."""
    here = office(SLOW)
    await here.worker.broker.release(await acquainted(here))
    await here.worker.beat(W1)
    await here.worker.broker.nudged(W1, wait=0)  # what it heard of before
    async with waiting(here.worker.broker.nudged(W1, wait=LONG)) as nudge:
        claim = await here.claim_by_request()
        running = await here.worker.deliver(claim)
        newer = await here.sender.submit(arrival=Arrival.INTERRUPT)
        await soon(nudge)
    (interrupt,) = (await here.worker.beat(W1, [claim])).interrupts
    assert (interrupt.job, interrupt.by) == (running.job.id, newer)
