"""The whole gateway reads a mailbox whose server dies, and is told to leave."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.cli_support import FAST_LIMITS, Home
from tests.integration.imap_support import PASSWORD, USER, Fault, How, Mailbox, imap_server, proxy_to
from tests.waiting import HANG_SECONDS, until
from webordinary.core.mail import LetterKind
from webordinary.entrypoints.cli.main import main
from webordinary.ports.backend import Backend

PHASES = ("greeting", "LOGIN", "SELECT", "UID FETCH .*BODY", "UID MOVE")
ENDINGS = (How.BYE, How.CUT, How.GARBAGE, How.CUT_INSIDE, How.CUT_AFTER)

PROOF = (
    "Authentication-Results: mx.test; dmarc=pass header.from=example.com;"
    " spf=pass smtp.mailfrom=scott@example.com"
)


def mail(number: int) -> bytes:
    """As the server of the mailbox keeps it."""
    fields = (
        "Return-Path: <scott@example.com>",
        "Delivered-To: edit@localhost",
        PROOF,
        "From: Scott <scott@example.com>",
        "To: edit@localhost",
        "Subject: Site",
        f"Message-ID: <{number}@example.com>",
    )
    return "\r\n".join([*fields, "", f"Change {number}", ""]).encode()


def settings(port: int, folder: str, done: str) -> str:
    address = f"imap://{USER}:{PASSWORD}@127.0.0.1:{port}/{folder}"
    mailbox = f'imap = "{address}"\nimap_done_folder = "{done}"\nimap_every_seconds = 1\n'
    return f'{FAST_LIMITS}\n[mail]\nupstream = ["mx.test"]\n{mailbox}'


async def eventually(holds: Callable[[], bool]) -> None:
    """In a thread: the line that is waited for is served here."""
    await until(lambda: asyncio.to_thread(holds))


async def test_the_gateway_outlives_its_mailbox_and_leaves_when_told(tmp_path: Path) -> None:
    """One lost connection ended it once. Whatever dies: every mail is one job and one letter."""
    with imap_server() as server:
        async with proxy_to(server) as proxy:
            mailbox = Mailbox(server, "Site")
            home = Home(tmp_path / "home", settings(proxy.port, mailbox.folder, mailbox.done))
            await asyncio.to_thread(
                home.said, "onboard", "amelia", "--user", "scott", "--sender", "scott@example.com"
            )
            with home.started("gateway", "--smtp-port", "0") as process:
                await eventually(lambda: proxy.count("^IDLE") > 0)  # it is set up
                proxy.faults += [Fault(at, how) for at, how in zip(PHASES, ENDINGS, strict=True)]
                proxy.cut_all()
                for number in range(1, 6):
                    await asyncio.to_thread(mailbox.add, mail(number))
                await eventually(lambda: len(mailbox.mails(mailbox.done)) == 5)
                await eventually(lambda: not any(fault.times for fault in proxy.faults))
                await eventually(lambda: proxy.commands[-1] == "IDLE")
                assert process.poll() is None
                process.send_signal(signal.SIGTERM)
                _, told = await asyncio.to_thread(process.communicate, timeout=HANG_SECONDS)
                assert process.returncode == 0
                assert "Traceback" not in told
            assert mailbox.mails() == []
            assert sorted(mailbox.mails(mailbox.done)) == [mail(number) for number in range(1, 6)]
            jobs = await asyncio.to_thread(home.jobs)
            assert sorted(job.instruction for job in jobs) == [f"Change {number}" for number in range(1, 6)]

            async def letters(backend: Backend) -> int:
                owed = await backend.outbox.letters(limit=50)
                return sum(letter.kind is LetterKind.ACCEPTED for letter, _ in owed)

            assert await asyncio.to_thread(home.ask, letters) == 5


def test_the_doctor_tries_the_login(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A password that is not taken is found before anybody waits for an answer."""
    with imap_server() as server:
        mailbox = Mailbox(server, "Site")
        mailbox.add(mail(1))
        home = Home(tmp_path, settings(server, mailbox.folder, mailbox.done))
        main(home.words("doctor"))
        assert (
            "demouser is let in, Site has 1 mails; 127.0.0.1 tells of new mail at once"
            in capsys.readouterr().out
        )
        home = Home(tmp_path, settings(server, mailbox.folder, mailbox.done).replace(PASSWORD, "wrong"))
        main(home.words("doctor"))
        assert "the login is refused" in capsys.readouterr().out
    main(home.words("doctor"))
    assert f"127.0.0.1:{server} can't be used" in capsys.readouterr().out
