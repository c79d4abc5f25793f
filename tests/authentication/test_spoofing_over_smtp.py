"""The spoofing table through a real SMTP conversation: no forgery becomes a job, every honest twin does."""

import asyncio

import pytest

from tests.authentication.case import Case
from tests.authentication.smtp_server import smtp_server
from tests.authentication.test_spoofing import TABLE, rows
from tests.authentication.world import OWNER, US, Sent
from webordinary.core.job import JobState
from webordinary.core.mail import MailState

BY_SMTP = [case for case in TABLE if case.twin().envelope.peer]  # a mailbox has no peer


async def said(port: int, sent: Sent) -> list[bytes]:
    """Hand a mail over byte by byte as it is; give the answers. A library would repair some of it."""
    envelope = sent.envelope
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [
        f"EHLO {envelope.helo or 'client.example'}",
        f"MAIL FROM:<{envelope.mail_from.strip('<>')}>",
        f"RCPT TO:<{US}>",
        "DATA",
    ]
    answers = [await reader.readline()]
    for line in lines:
        writer.write(f"{line}\r\n".encode("utf-8", "surrogateescape"))
        answers.append(await answer(reader))
        if not answers[-1].startswith((b"2", b"3")):
            break
    else:
        stuffed = b"\r\n".join(
            b"." + line if line.startswith(b".") else line for line in sent.raw.split(b"\r\n")
        )
        writer.write(stuffed.removesuffix(b"\r\n") + b"\r\n.\r\n")
        answers.append(await answer(reader))
    writer.close()
    await writer.wait_closed()
    return answers


async def answer(reader: asyncio.StreamReader) -> bytes:
    while True:
        line = await reader.readline()
        if line[3:4] != b"-":
            return line


@pytest.mark.parametrize("case", rows(BY_SMTP))
async def test_no_forgery_becomes_a_job(case: Case) -> None:
    """Whoever can make us believe a From edits somebody else's site."""
    sent = case.forgery()
    async with smtp_server(case.trust, sent.envelope.peer) as server:
        await said(server.port, sent)
        assert await server.jobs() == []
        assert not await server.backend.mailbox.mails(limit=1, state=MailState.ACCEPTED)


@pytest.mark.parametrize("case", rows(BY_SMTP))
async def test_every_honest_twin_becomes_a_job(case: Case) -> None:
    """A guard that refuses honest mail is a broken product."""
    sent = case.twin()
    async with smtp_server(case.trust, sent.envelope.peer) as server:
        if sent.claimed != OWNER:
            await server.add_member(sent.claimed)
        answers = await said(server.port, sent)
        (mail,) = await server.backend.mailbox.mails(limit=2)
        assert mail.state is MailState.ACCEPTED, (answers, mail.reason)
        (job,) = await server.backend.ledger.jobs(limit=2)
        assert job.state is JobState.QUEUED
