"""A store with a realistic afternoon in it: for tests of pages, and for looking at them."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from struct import pack

from webordinary.core.claim import Claim, Delivery, Presence, WorkerId
from webordinary.core.facts import Ending, Facts, PagePictures, PreviewFacts, UnfinishedWork
from webordinary.core.job import Arrival, Intent, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.mail import (
    FileProblem,
    KeptFile,
    Letter,
    MailId,
    MailRecord,
    MailState,
    SessionId,
    SkippedFile,
)
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.core.page_changes import PageChange, PageChangeKind
from webordinary.core.release import BrokenLink
from webordinary.core.site import Member, Project, Session
from webordinary.core.work import AgentEvent, EventKind
from webordinary.ports.backend import Backend
from webordinary.ports.blobs import Blobs
from webordinary.system.clock import SystemClock

SCOTT, TARA, JOHN, LENA = (
    Lane("amelia", "scott"),
    Lane("amelia", "tara"),
    Lane("bakery", "john"),
    Lane("riverside-choir", "lena"),
)
W1, W2, W3 = WorkerId("studio.4121.k7p2mq"), WorkerId("studio.4122.a9x0tz"), WorkerId("attic.77.w3c8rd")
TRIED = "prices"  # key of the mail that was written in the try-it box
HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)> {{ 7 * 7 }}'

PATCH = """commit 4be1f0c9
diff --git a/index.html b/index.html
--- a/index.html
+++ b/index.html
@@ -4,7 +4,7 @@
   <head>
     <meta charset="utf-8">
-    <title>Amelia Stone, ceramics</title>
+    <title>Spring Sale at Amelia Stone</title>
     <link rel="stylesheet" href="style.css">
@@ -12,3 +12,4 @@
     <h1>Amelia Stone</h1>
-    <p>Open Tuesday to Friday, 10 to 5.</p>
+    <p>Open Tuesday to Saturday, 10 to 6.</p>
+    <p class="banner">Spring Sale: 20 % off all bowls until the end of May.</p>
"""

HEADING = PageChange(PageChangeKind.HEADING, old="Sale", new="Spring Sale")


class StoryClock(SystemClock):
    """Real time, shifted into the past until the story has caught up."""

    def __init__(self, behind: float) -> None:
        self.behind = behind

    def now(self) -> float:
        return super().now() - self.behind

    def advance(self, seconds: float) -> None:
        self.behind = max(self.behind - seconds, 0.0)


@dataclass(slots=True)
class Story:
    """Tells what happens, step by step, through the real backend."""

    backend: Backend
    blobs: Blobs
    clock: StoryClock
    letters: dict[tuple[str, str], bytes]

    async def projects(self) -> None:
        for project, members in {
            "amelia": [("scott", "scott@example.com"), ("tara", "tara@example.com")],
            "bakery": [("john", "john@example.com")],
            "riverside-choir": [("lena", "lena@example.org")],
        }.items():
            await self.backend.directory.add_project(Project(project))
            for user, address in members:
                await self.backend.directory.add_member(Member(Lane(project, user), address))

    async def mail(
        self,
        lane: Lane,
        subject: str,
        words: str,
        *,
        files: Sequence[KeptFile] = (),
        intent: Intent = Intent.EDIT,
        tried: str = "",
    ) -> JobId:
        """A mail comes in and becomes a job; `tried`: it was written in the try-it box, under this key."""
        key = MailId(self.clock.unique())
        message_id = f"<try-{tried}@localhost>" if tried else f"<{key}@mail.example>"
        sender = next(
            one.address for one in await self.backend.directory.members(lane.project) if one.lane == lane
        )
        session = SessionId(f"{lane.user}{key[-5:]}")
        raw = f"From: {sender}\r\nSubject: {subject}\r\nMessage-ID: {message_id}\r\n\r\n{words}\r\n"
        await self.backend.mailbox.begin(Session(session, lane, subject, self.clock.now()))
        record = MailRecord(
            key, message_id, MailState.ACCEPTED, "", sender, subject, (), self.clock.now(),
            await self.blobs.put(raw.encode()), lane, session, None, tuple(files),
        )  # fmt: skip
        await self.backend.mailbox.keep(record)
        job = Job(JobId(self.clock.unique()), lane, words, key, Arrival.INTERRUPT, True, session, intent)
        await self.backend.broker.submit(job)
        await self.backend.mailbox.update(replace(record, job=job.id))
        self.clock.advance(0.3)
        return job.id

    async def other_mail(self, state: MailState, sender: str, subject: str, reason: str) -> MailId:
        key = MailId(self.clock.unique())
        raw = f"From: {sender}\r\nSubject: {subject}\r\n\r\n<b>Click</b> <script>alert(1)</script>\r\n"
        skipped = (SkippedFile("invoice.exe", FileProblem.PROGRAM),)
        record = MailRecord(
            key, f"<{key}@elsewhere.example>", state, reason, sender, subject, (), self.clock.now(),
            await self.blobs.put(raw.encode()), skipped=skipped,
        )  # fmt: skip
        await self.backend.mailbox.keep(record)
        self.clock.advance(2)
        return key

    async def claim(self, lane: Lane, worker: WorkerId = W1) -> Claim:
        (claim,) = (await self.backend.broker.claim(worker, room=1, wait=0, only=lane)).claims
        self.clock.advance(0.2)
        return claim

    async def begin(self, claim: Claim, *words: str) -> Delivery:
        delivery = await self.backend.broker.next_job(claim, wait=0)
        assert delivery is not None
        self.clock.advance(0.7)
        told = [AgentEvent(EventKind.STARTED, "demo agent")]
        for word in words:
            tool = word.startswith(("Read ", "Edit ", "Write ", "Bash "))
            told.append(AgentEvent(EventKind.USED if tool else EventKind.SAID, word))
        await self.backend.journal.tell(delivery, told)
        return delivery

    async def end(self, delivery: Delivery, outcome: Outcome, seconds: float = 8.0) -> None:
        self.clock.advance(seconds)
        await self.backend.broker.settle(delivery, outcome, more=False)
        await self.post()

    async def post(self) -> None:
        """Send what is owed."""
        for letter in await self.backend.outbox.take("seed", limit=50, hold=60, wait=0):
            note = letter.facts.note if isinstance(letter.facts, Ending) else ""
            text = f"Hello,\n\nyour request is {letter.kind.value}.\n\n{note}\n"
            message_id = f"<{letter.kind.value}.{self.clock.unique()}@localhost>"
            self.letters[letter.about, letter.kind.value] = (
                f"From: edit@localhost\r\nTo: somebody@example.com\r\nSubject: Re: {letter.kind.value}\r\n"
                f"Date: {formatdate(self.clock.now())}\r\n"
                f"Message-ID: {message_id}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}"
            ).encode()
            await self.backend.outbox.sent(letter, message_id)
        self.clock.advance(0.1)

    async def beat(
        self, worker: WorkerId, claims: Sequence[Claim] = (), *, slots: int = 4, draining: bool = False
    ) -> None:
        host, pid = worker.split(".")[:2]
        presence = Presence(worker, slots, self.clock.now() - 4_000, host, int(pid), draining)
        await self.backend.broker.keep(presence, claims)

    async def sent_mail(self, letter: Letter) -> bytes | None:
        return self.letters.get((letter.about, letter.kind.value))


async def seed(backend: Backend, blobs: Blobs, clock: StoryClock) -> Story:
    """Three hours ago until now."""
    story = Story(backend, blobs, clock, {})
    await story.projects()
    await _earlier(story)
    await _amelia(story)
    await _troubles(story)
    await _now(story)
    return story


async def _earlier(story: Story) -> None:
    asks = [
        (JOHN, "Opening hours", "We open at 6 from Monday on."),
        (LENA, "Concert", "Add the spring concert on 12 June, 7 pm, to the dates."),
        (SCOTT, "New photo", "Use the photo of the blue bowl on the first page."),
        (JOHN, "Rye", "Take the rye bread off the list for now."),
        (TARA, "Typo", "It says 'cermaics' on the about page."),
    ]
    for number in range(3):
        for lane, subject, words in asks:
            await story.mail(lane, subject, words)
            story.clock.advance(0.2 + number)
            claim = await story.claim(lane, (W1, W2, W3)[number % 3])
            delivery = await story.begin(claim, "Read index.html", "Edit index.html")
            left = Facts(preview=PreviewFacts("77ab10", changes=(HEADING,)))
            outcome: Outcome = Done("Changed as you asked.", left)
            if lane == TARA and number:
                outcome = Failed("There is no such word on the about page any more. Nothing was changed.")
            await story.end(delivery, outcome, 3.0 + 7 * number)
            story.clock.advance(120)
            await story.backend.broker.release(claim)
            story.clock.advance(90)


async def _amelia(story: Story) -> None:
    """An interrupt, a takeover, a job with everything a job can leave."""
    photo = KeptFile("blue-bowl.png", "image/png", await story.blobs.put(picture(40, 90, 160)))
    await story.mail(SCOTT, "Spring", "Make the background of the first page light green, please.")
    claim = await story.claim(SCOTT, W2)
    first = await story.begin(claim, "I look at the style sheet first.", "Read style.css")
    story.clock.advance(6)
    await story.mail(
        SCOTT, "Re: Spring", "No wait: change the title to Spring Sale instead.\n\nAnd Saturdays until 6."
    )
    kept = Facts(unfinished=UnfinishedWork("light green background", files=("style.css",)))
    await story.end(first, Preempted(None, "Changes to style.css.", kept), 0.4)
    second = await story.begin(claim, "Read index.html")
    story.clock.advance(70)
    await story.backend.broker.sweep()
    story.clock.advance(1)
    claim = await story.claim(SCOTT, W1)
    second = await story.begin(
        claim,
        "Read index.html",
        "The title is in the head of index.html; the opening hours are in the first paragraph.",
        "Edit index.html",
        "I changed the title, the hours, and added a line about the sale.",
    )
    before, after = (
        await story.blobs.put(picture(250, 245, 235)),
        await story.blobs.put(picture(224, 240, 226)),
    )
    preview = PreviewFacts(
        commit="4be1f0c9d2",
        release="5f0b6a7712aa",
        address="http://127.0.0.1:8080/amelia/",
        changes=(HEADING, PageChange(PageChangeKind.TEXT_ADDED, new="Open Tuesday to Saturday")),
        patch=await story.blobs.put(PATCH.encode()),
        pictures=(PagePictures("index.html", before, after),),
        broken_links=(BrokenLink("shop.html", "vases.html", "Shop"),),
    )
    facts = Facts(preview=preview)
    await story.end(second, Done("The title is Spring Sale now, and Saturdays are until 6.", facts), 9)
    story.clock.advance(30)
    await story.mail(SCOTT, "Bowl", "Here is the photo of the bowl for the shop page.", files=[photo])
    await story.end(
        await story.begin(claim, "Write blue-bowl.png"), Done("It is on the shop page.", facts), 4
    )
    story.clock.advance(200)
    await story.backend.broker.release(claim)


async def _troubles(story: Story) -> None:
    """A dead letter, a strange job, mail that nobody trusts."""
    dead = await story.mail(LENA, "Newsletter", "Connect the newsletter form to the mailing service.")
    claim = await story.claim(LENA, W3)
    for _ in range(5):
        delivery = await story.begin(claim)
        story.clock.advance(5)
        await story.backend.broker.settle(
            delivery, Retry("the model did not answer within two minutes"), more=False
        )
        story.clock.advance(125)
        await story.beat(W3, [claim])
    await story.post()
    assert (await story.backend.ledger.job(dead)).attempt
    await story.mail(LENA, HOSTILE, HOSTILE)
    await story.end(await story.begin(claim, HOSTILE), Failed(HOSTILE), 3)
    await story.backend.broker.release(claim)
    await story.other_mail(
        MailState.QUARANTINED, "scott@example.com", HOSTILE, "its DKIM signature does not match and SPF fails"
    )
    await story.other_mail(
        MailState.REFUSED, "mallory@example.net", "Hi", "mallory@example.net may edit no site here"
    )
    await story.other_mail(
        MailState.IGNORED, "mailer-daemon@example.com", "Undeliverable", "an automatic reply"
    )


async def _now(story: Story) -> None:
    """What is going on at this moment."""
    story.clock.advance(story.clock.behind - 40)
    prices = "Raise all prices in the shop by 5 percent and round to 50 cents."
    await story.mail(SCOTT, "Prices", prices, tried=TRIED)
    scott = await story.claim(SCOTT, W1)
    await story.mail(JOHN, "Easter", "Put an Easter banner on top of every page.")
    john = await story.claim(JOHN, W2)
    await story.begin(
        john, "Read index.html", "There are four pages. I begin with the first.", "Edit index.html"
    )
    await story.begin(
        scott,
        "Read shop.html",
        "There are 23 prices on this page.",
        "Edit shop.html",
        "Now the price list as a PDF.",
    )
    story.clock.advance(story.clock.behind - 4)
    await story.mail(LENA, "Photo", "Replace the group photo on the first page.")
    await story.beat(W1, [scott])
    await story.beat(W2, [john], slots=2)
    await story.beat(W3, draining=True)
    story.clock.behind = 0.0


def picture(red: int, green: int, blue: int, width: int = 320, height: int = 180) -> bytes:
    """A PNG of one colour."""
    rows = (b"\x00" + bytes((red, green, blue)) * width) * height

    def chunk(name: bytes, body: bytes) -> bytes:
        return pack(">I", len(body)) + name + body + pack(">I", zlib.crc32(name + body))

    head = pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
