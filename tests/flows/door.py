"""A reception with real stores behind it, for mails on their way in."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.world import LIMITS, ManualClock
from webordinary.backends.memory.open import open_memory
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Arrival, JobId
from webordinary.core.lane import Lane
from webordinary.core.mail import (
    Envelope,
    FileProblem,
    LetterKind,
    MailRecord,
    ParsedMail,
    SignedParts,
    UnreadableMail,
)
from webordinary.core.site import Member, Project
from webordinary.dispatch.submit import QuotaLimits
from webordinary.flows.receive import Reception
from webordinary.intake.authenticate import Trust
from webordinary.intake.read import read
from webordinary.mail.checks.checks import OfflineChecks
from webordinary.ports.backend import Backend
from webordinary.ports.control import Control
from webordinary.ports.images import NoImage, WebImage
from webordinary.ports.mailer import SentLetters

KEY = b"k" * 32
ADDRESS = "edit@webordinary.example"
HERE = Envelope(peer="127.0.0.1", helo="here", mail_from="someone@example.com", recipients=(ADDRESS,))
ELSEWHERE = replace(HERE, peer="192.0.2.7")
SCOTT, MARY = "scott@example.com", "mary@example.com"


class Reader:
    """Reads in this process: the bounds have tests of their own."""

    async def read(
        self, raw: bytes, signed: SignedParts | None = None, sender: str = ""
    ) -> ParsedMail | UnreadableMail:
        return read(raw, ("webordinary.example",), signed, sender)


class NoPictures:
    """No picture comes up in these tests."""

    async def web_ready(self, content: bytes) -> WebImage | NoImage:
        return NoImage(FileProblem.NOT_READABLE if content else FileProblem.EMPTY)


class OutOfReach:
    """A store that is gone at the very moment."""

    def __init__(self, control: Control) -> None:
        self.evict, self.bury = control.evict, control.bury
        self.redrive, self.drop = control.redrive, control.drop

    async def interrupt(self, lane: Lane, job: JobId | None = None) -> JobId | None:
        raise BackendUnavailable(f"job {job} of {lane} can't be reached")


class Door:
    """A reception with two projects behind it."""

    def __init__(self, backend: Backend, clock: ManualClock, letters: SentLetters | None = None) -> None:
        self.backend, self.clock = backend, clock
        self.reception = Reception(
            backend=backend,
            reader=Reader(),
            checks=OfflineChecks(),
            images=NoPictures(),
            clock=clock,
            trust=Trust(loopback=True),
            quotas=QuotaLimits(),
            token_key=KEY,
            letters=letters,
        )

    async def onboard(self, lane: str, address: str, arrival: Arrival = Arrival.INTERRUPT) -> None:
        member = Member(Lane.parse(lane), address)
        await self.backend.directory.add_project(Project(member.lane.project, arrival))
        await self.backend.directory.add_member(member)

    async def mail(
        self,
        text: str,
        *,
        sender: str = SCOTT,
        number: str = "1",
        subject: str = "Site",
        answers: str = "",
        envelope: Envelope = HERE,
        extra: str = "",
    ) -> MailRecord:
        threaded = f"In-Reply-To: {answers}\r\nReferences: {answers}\r\n" if answers else ""
        raw = (
            f"From: {sender}\r\nTo: {ADDRESS}\r\nSubject: {subject}\r\nMessage-ID: <{number}@example.com>\r\n"
            f"{threaded}{extra}\r\n{text}\r\n"
        )
        return await self.reception.receive(raw.encode(), envelope)

    async def letters(self) -> list[tuple[str, LetterKind]]:
        return [(letter.about, letter.kind) for letter, _ in await self.backend.outbox.letters(limit=50)]

    async def jobs(self) -> list[tuple[str, str]]:
        listed = await self.backend.ledger.jobs(limit=50)
        return [(str(job.lane), job.instruction) for job in reversed(listed)]


@pytest.fixture(params=["memory", "sqlite"])
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    clock = ManualClock()
    is_memory = request.param == "memory"
    backend = open_memory(clock, LIMITS) if is_memory else open_sqlite(tmp_path / "home", clock, LIMITS)
    yield Door(backend, clock)
    backend.close()
