"""Short words for the steps of a letter's way: a mail comes, a job ends, a sender sends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.conformance.world import ManualClock
from tests.reply.letters import LANE, MAIL, OURS, Read, read
from tests.waiting import soon, until
from webordinary.core.claim import WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.mail import Letter, LetterKind, MailId, MailRecord, MailState, SessionId
from webordinary.core.outcome import Outcome
from webordinary.core.site import Session
from webordinary.mail.folder_mailer import FolderMailer
from webordinary.ports.backend import Backend
from webordinary.ports.mailer import Mailer
from webordinary.reply.sending import Office, Sender
from webordinary.reply.sending_limits import SendingLimits

QUICK = SendingLimits(poll_seconds=0.05, hold_seconds=30.0, send_seconds=5.0, stop_seconds=5.0)


@dataclass(frozen=True, slots=True)
class Post:
    """A store, its clock, and a folder for letters."""

    backend: Backend
    clock: ManualClock
    folder: Path

    def office(self, mailer: Mailer | None = None, limits: SendingLimits = QUICK) -> Office:
        ports = self.backend
        mailer = mailer or FolderMailer(self.folder)
        return Office(
            ports.outbox,
            ports.mailbox,
            ports.ledger,
            ports.quotas,
            ports.bounces,
            mailer,
            self.clock,
            OURS,
            limits,
        )

    async def mail_comes(
        self,
        address: str = "amelia@flowers.example",
        state: MailState = MailState.ACCEPTED,
        session: SessionId | None = None,
    ) -> MailRecord:
        """A mail is kept, in a conversation of its own if none is given."""
        name = self.clock.unique()
        record = replace(
            MAIL,
            id=MailId(name),
            message_id=f"<{name}@flowers.example>",
            from_address=address,
            state=state,
            session=session or SessionId(f"s{name}"),
        )
        assert record.session
        await self.backend.mailbox.begin(Session(record.session, LANE, record.subject, self.clock.now()))
        return await self.backend.mailbox.keep(record)

    async def job_for(self, mail: MailRecord, arrival: Arrival = Arrival.QUEUE) -> JobId:
        """Its wish becomes a job, and the word that it was accepted is owed."""
        job = Job(
            JobId(self.clock.unique()),
            LANE,
            "Change the title",
            mail.id,
            arrival,
            wants_reply=True,
            session=mail.session or "",
        )
        await self.backend.broker.submit(job)
        return job.id

    async def job_ends(self, outcome: Outcome) -> JobId:
        """The head of the lane is carried out, and the word about its end is owed."""
        broker = self.backend.broker
        (claim,) = (await broker.claim(WorkerId("w1"), room=1, wait=0)).claims
        delivery = await broker.next_job(claim, wait=0)
        assert delivery is not None
        await broker.settle(delivery, outcome, more=False)
        await broker.release(claim)
        return delivery.job.id

    async def owe_help(self, mail: MailRecord) -> Letter:
        """Owe the simplest letter there is."""
        letter = Letter(mail.id, LetterKind.HELP, mail.id)
        assert await self.backend.outbox.owe(letter)
        return letter

    @asynccontextmanager
    async def sending(self, office: Office | None = None, name: str = "s1") -> AsyncIterator[Sender]:
        """A sender is at work meanwhile, and stops cleanly afterwards."""
        sender = Sender(office or self.office(), name)
        running = asyncio.create_task(sender.run())
        try:
            yield sender
        finally:
            sender.stop()
            await soon(running)

    async def standing(self) -> dict[str, str]:
        """How every letter stands."""
        letters = await self.backend.outbox.letters(limit=1000)
        return {f"{letter.about}.{letter.kind}": str(status) for letter, status in letters}

    async def until(self, word: str, count: int = 1) -> None:
        """Wait until so many letters stand like that."""

        async def do() -> bool:
            return sum(how.startswith(word) for how in (await self.standing()).values()) >= count

        await until(do)

    def delivered(self) -> list[Read]:
        """The letters in the folder, by name."""
        return [read(path.read_bytes()) for path in sorted(self.folder.glob("*.eml"))]
