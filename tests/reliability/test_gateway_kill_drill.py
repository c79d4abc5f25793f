"""Kill -9 of the gateway at random moments under a stream of mail.

Every mail that was answered with 250 has exactly one job, and every job exactly one final reply, whatever the
senders' servers had to send again.
"""

from __future__ import annotations

import os
import random
import smtplib
import threading
import time
from email.message import EmailMessage
from pathlib import Path

from tests.integration.cli_support import FAST_LIMITS
from tests.integration.test_mail_gateway import Mailroom
from tests.waiting import HANG_SECONDS, wait_until
from webordinary.core.job import ENDED, JobState

MAILS = int(os.environ.get("WEBORDINARY_TEST_KILL_MAILS", "100"))
KILLS = max(MAILS // 8, 8)
LANES = 5
SETTINGS = f"""{FAST_LIMITS}
[mail]
send_seconds = 2
sender_burst = 100000
project_burst = 100000
global_burst = 100000
"""


def mail(number: int) -> EmailMessage:
    message = EmailMessage()
    message["From"] = f"user{number % LANES}@example.com"
    message["To"] = "edit@localhost"
    message["Subject"] = f"[queue] mail {number}"
    message["Message-ID"] = f"<{number}@example.com>"
    message.set_content(f"do number {number}")
    return message


class Senders:
    """Servers that try again until they are told 250."""

    def __init__(self, room: Mailroom) -> None:
        self._room = room
        self.acknowledged: list[int] = []

    def send_all(self, numbers: range) -> None:
        for number in numbers:
            while not self._sent(number):
                time.sleep(0.05)
            self.acknowledged.append(number)

    def _sent(self, number: int) -> bool:
        try:
            with smtplib.SMTP("127.0.0.1", self._room.port, timeout=HANG_SECONDS) as server:
                server.send_message(mail(number))
        except (OSError, smtplib.SMTPException):
            return False
        return True


def test_every_acknowledged_mail_is_one_job_and_one_reply_whenever_the_gateway_is_killed(
    tmp_path: Path,
) -> None:
    room = Mailroom(tmp_path / "home", SETTINGS)
    for number in range(LANES):
        room.said("onboard", f"p{number}", "--user", "owner", "--sender", f"user{number}@example.com")
    senders = Senders(room)
    threads = [
        threading.Thread(target=senders.send_all, args=(range(part, MAILS, 4),), daemon=True)
        for part in range(4)
    ]
    with room.worker("--slots", "8"):
        killed = _kill_while_sending(room, threads)
        with room.gateway("--trust-loopback"):
            for thread in threads:
                thread.join()
            wait_until(lambda: all(job.state in ENDED for job in room.jobs()))
            wait_until(lambda: len(list((room.folder / "outbox").glob("*.done-*.eml"))) >= MAILS)
    assert killed >= KILLS
    assert sorted(senders.acknowledged) == list(range(MAILS))
    _check(room)


def _kill_while_sending(room: Mailroom, threads: list[threading.Thread]) -> int:
    """Start the gateway again and again; each lives for a random moment of real work."""
    rng = random.Random(7)
    for number in range(KILLS):
        with room.gateway("--trust-loopback") as gateway:
            if number == 0:
                for thread in threads:
                    thread.start()
            before = len(room.jobs())
            if rng.random() < 0.7 and any(thread.is_alive() for thread in threads):
                wait_until(lambda before=before: _moved(room, before, threads))  # type: ignore[misc]
            time.sleep(rng.random() * 0.1)
            gateway.kill()
            gateway.wait()
    return KILLS


def _moved(room: Mailroom, before: int, threads: list[threading.Thread]) -> bool:
    return len(room.jobs()) > before or not any(thread.is_alive() for thread in threads)


def _check(room: Mailroom) -> None:
    jobs = room.ask(lambda backend: backend.ledger.jobs(limit=10 * MAILS))
    assert sorted(job.instruction for job in jobs) == sorted(f"do number {number}" for number in range(MAILS))
    assert {job.state for job in jobs} == {JobState.DONE}
    replies = [path.name.partition(".")[0] for path in (room.folder / "outbox").glob("*.done-*.eml")]
    assert sorted(replies) == sorted(job.id for job in jobs)
