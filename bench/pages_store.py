"""A store with a long past: 10,000 jobs of 1,000 lanes with their mails, letters, events and history."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.checkout import FolderBlobs, SystemClock, job_facts
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.claim import Claim, Presence, WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import KeptFile, MailId, MailRecord, MailState, SessionId
from webordinary.core.outcome import Done, Failed, Outcome, Retry
from webordinary.core.site import Member, Project
from webordinary.core.work import EVENTS_MAX, AgentEvent, EventKind
from webordinary.ports.backend import Backend

LANES, EDITORS = 1_000, 10  # editors of each site
ROUNDS = 8  # jobs that each lane has behind it
HOT = Lane("site0", "user0")  # has a tenth of all jobs
WORKERS = 4
AT_ONCE = 100
# A lease that outlives the measurement; an attempt that failed is the last one.
LIMITS = Limits(lease_seconds=36_000, beat_seconds=3_600, deliveries_max=1)
PATCH = b"diff --git a/index.html b/index.html\n" + b"-<p>old</p>\n+<p>new</p>\n" * 2_400
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(50_000)
INSTRUCTION = "Change the title of the first page, please. " * 5
TRY_KEY = "bench1"


@dataclass(frozen=True, slots=True)
class Shape:
    """How much there is: by the number of lanes."""

    lanes: int

    def names(self) -> list[Lane]:
        """All lanes: ten editors for each site."""
        projects = self.lanes // EDITORS
        return [Lane(f"site{one % projects}", f"user{one // projects}") for one in range(self.lanes)]

    @property
    def last(self) -> Lane:
        """The last one, whose job waits."""
        return self.names()[-1]

    @property
    def waiting(self) -> int:
        """How many lanes have an open job."""
        return self.lanes // 2

    @property
    def running(self) -> int:
        """How many of these have a running one."""
        return max(self.lanes // 16, WORKERS)

    @property
    def ended_badly(self) -> int:
        """How many jobs are dead; and how many failed."""
        return self.lanes // 5


class Past:
    """Fills a store through the same verbs as everybody else, many at a time."""

    def __init__(self, home: Path, shape: Shape) -> None:
        """Fill the store in a home folder; nothing in it has to survive a power cut."""
        self.shape = shape
        self._clock = SystemClock()
        self.backend: Backend = open_sqlite(home, self._clock, LIMITS, synchronous="OFF")
        self._blobs = FolderBlobs(home / "blobs")
        self._facts: Any = None
        self._mail = self._picture = ""

    async def prepare(self) -> None:
        """Have sites, their editors, and the few files that all jobs share."""
        self._mail = await self._blobs.put(b"Subject: A change\r\n\r\nChange the title.\r\n" + b"x" * 4_000)
        self._picture = await self._blobs.put(PICTURE)
        self._facts = job_facts(await self._blobs.put(PATCH), self._picture)
        for project in sorted({lane.project for lane in self.shape.names()}):
            await self.backend.directory.add_project(Project(project))
        for lane in self.shape.names():
            await self.backend.directory.add_member(Member(lane, address_of(lane)))

    async def mail(self, lane: Lane, *, key: str = "") -> None:
        """A mail comes in and is a job."""
        mail, backend = MailId(self._clock.unique()), self.backend
        message_id = f"<try-{key}@localhost>" if key else f"<{mail}@mail.example>"
        session = SessionId(f"s{mail[-6:]}")
        files = (KeptFile("bowl.png", "image/png", self._picture),)
        record = MailRecord(
            mail, message_id, MailState.ACCEPTED, "", address_of(lane), "A change", (), self._clock.now(),
            self._mail, lane, session, None, files,
        )  # fmt: skip
        await backend.mailbox.keep(record)
        name = JobId(self._clock.unique())
        job = Job(name, lane, INSTRUCTION, mail, Arrival.QUEUE, wants_reply=True, session=session)
        await backend.broker.submit(job)
        await backend.mailbox.update(replace(record, job=job.id))

    async def claim(self, lane: Lane, worker: str = "old.1.w") -> Claim:
        """A worker takes the lane."""
        (claim,) = (await self.backend.broker.claim(WorkerId(worker), room=1, wait=0, only=lane)).claims
        return claim

    async def begin(self, claim: Claim, outcome: Outcome | None, events: int = 5) -> None:
        """Its job runs, tells something, and ends unless it shall go on."""
        delivery = await self.backend.broker.next_job(claim, wait=0)
        assert delivery is not None
        told = [AgentEvent(EventKind.SAID, f"I read file {number} of the site.") for number in range(events)]
        await self.backend.journal.tell(delivery, told)
        if outcome is not None:
            await self.backend.broker.settle(delivery, outcome, more=False)

    async def whole(self, lane: Lane, outcome: Outcome, *, events: int = 5) -> None:
        """A job from its mail to its end."""
        await self.mail(lane)
        claim = await self.claim(lane)
        await self.begin(claim, outcome, events)
        await self.backend.broker.release(claim)

    def done(self) -> Outcome:
        """What most jobs end with."""
        return Done("I changed the title.", self._facts)

    async def post(self) -> None:
        """Send what is owed."""
        outbox = self.backend.outbox
        while letters := await outbox.take("bench", limit=AT_ONCE, hold=60, wait=0):
            await asyncio.gather(
                *(outbox.sent(one, f"<{one.kind}.{one.about}@localhost>") for one in letters)
            )


def address_of(lane: Lane) -> str:
    """Who writes."""
    return f"{lane.user}@{lane.project}.example"


def fill(home: Path, shape: Shape) -> None:
    """Make the store."""
    asyncio.run(_fill(home, shape))


async def _fill(home: Path, shape: Shape) -> None:
    past = Past(home, shape)
    try:
        await past.prepare()
        for number in range(ROUNDS):
            for ending in _endings(past, number):
                await asyncio.gather(*(past.whole(lane, outcome) for lane, outcome in ending))
        for _ in range(shape.lanes - 1):  # the hot lane, as many again as there are lanes
            await past.whole(HOT, past.done())
        await past.whole(HOT, past.done(), events=EVENTS_MAX)
        await _today(past)
        await past.post()
    finally:
        past.backend.close()


def _endings(past: Past, number: int) -> list[list[tuple[Lane, Outcome]]]:
    """One round over all lanes, in groups that are worked on at the same time."""
    special: dict[int, tuple[int, Outcome]] = {
        2: (past.shape.ended_badly, Retry("the model did not answer within two minutes")),
        3: (past.shape.ended_badly, Failed("There is no such page. Nothing was changed.")),
    }
    count, other = special.get(number, (0, past.done()))
    names = past.shape.names()
    paired = [(lane, other if index < count else past.done()) for index, lane in enumerate(names)]
    return [paired[start : start + AT_ONCE] for start in range(0, len(paired), AT_ONCE)]


async def _today(past: Past) -> None:
    """One more job for each lane; half of them wait, some run."""
    shape, lanes = past.shape, past.shape.names()
    for start in range(0, len(lanes), AT_ONCE):
        group = lanes[start : start + AT_ONCE]
        await asyncio.gather(*(past.mail(lane, key=TRY_KEY if lane == shape.last else "") for lane in group))
    done = lanes[: -shape.waiting]
    for start in range(0, len(done), AT_ONCE):
        claims = await asyncio.gather(*(past.claim(lane) for lane in done[start : start + AT_ONCE]))
        await asyncio.gather(*(past.begin(claim, past.done()) for claim in claims))
        await asyncio.gather(*(past.backend.broker.release(claim) for claim in claims))
    names = [f"studio.{number}.w" for number in range(WORKERS)]
    running = lanes[-shape.running :]
    held = [await past.claim(lane, names[index % WORKERS]) for index, lane in enumerate(running)]
    for index, name in enumerate(names):
        presence = Presence(
            WorkerId(name), shape.running // WORKERS, SystemClock().now(), "studio", index + 1
        )
        await past.backend.broker.keep(presence, held[index::WORKERS])
    await asyncio.gather(*(past.begin(claim, None) for claim in held))
