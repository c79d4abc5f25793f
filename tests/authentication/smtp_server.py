"""Our SMTP server in this process, with DNS from a zone file and one member, the owner."""

import asyncio
import smtplib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tests.authentication.cases_replay import EVE
from tests.authentication.world import OWNER, US, resolver
from tests.conformance.world import LIMITS
from tests.flows.door import KEY, NoPictures, Reader
from webordinary.backends.memory.open import open_memory
from webordinary.core.lane import Lane
from webordinary.core.mail import Envelope, LetterKind, MailRecord
from webordinary.core.site import Member, Project
from webordinary.dispatch.submit import QuotaLimits
from webordinary.flows.receive import Reception
from webordinary.intake.authenticate import Trust
from webordinary.mail.checks.checks import OriginChecks
from webordinary.mail.smtp.gateway import SmtpGateway, SmtpListener
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock

ALIAS = "shop@alias.example"
OWNERS_SERVER, EVES_SERVER = "127.0.0.1", "127.0.0.2"  # both are this machine; the zone knows only the first


@dataclass
class Server:
    """Our SMTP server and what is behind it."""

    backend: Backend
    port: int

    async def send(
        self, raw: bytes, mail_from: str = EVE, peer: str = EVES_SERVER, to: Sequence[str] = (US,)
    ) -> MailRecord:
        """Hand a mail over as a server does; say what became of it."""
        await asyncio.to_thread(self._send, raw, mail_from, peer, to)
        return (await self.backend.mailbox.mails(limit=1))[0]

    def _send(self, raw: bytes, mail_from: str, peer: str, to: Sequence[str]) -> None:
        with smtplib.SMTP("127.0.0.1", self.port, source_address=(peer, 0)) as server:
            server.sendmail(mail_from, list(to), raw)

    async def add_member(self, address: str) -> None:
        await self.backend.directory.add_member(Member(Lane("amelia", "second"), address))

    async def letters(self) -> list[LetterKind]:
        return [letter.kind for letter, _ in await self.backend.outbox.letters(limit=50)]

    async def jobs(self) -> list[str]:
        return [job.instruction for job in reversed(await self.backend.ledger.jobs(limit=50))]


@asynccontextmanager
async def smtp_server(trust: Trust | None = None, peer: str | None = None) -> AsyncIterator[Server]:
    """Serve at this machine; with `peer`, as if everybody connected from that address."""
    clock = SystemClock()
    backend = open_memory(clock, LIMITS)
    checks = OriginChecks(resolver(), clock)
    await backend.directory.add_project(Project("amelia"))
    await backend.directory.add_member(Member(Lane("amelia", "scott"), OWNER))
    reception = Reception(
        backend=backend,
        reader=Reader(),
        checks=checks,
        images=NoPictures(),
        clock=clock,
        trust=replace(trust or Trust(), addresses=(US, ALIAS)),
        quotas=QuotaLimits(),
        token_key=KEY,
    )

    async def receive(raw: bytes, envelope: Envelope) -> MailRecord:
        came = replace(envelope, peer=envelope.peer if peer is None else peer)
        return await reception.receive(raw, came, may_come_again=True)

    gateway = SmtpGateway(SmtpListener(port=0, hostname="us.example", address=US, aliases=(ALIAS,)), receive)
    try:
        yield Server(backend, await gateway.start())
    finally:
        await gateway.stop()
        checks.close()
        backend.close()
