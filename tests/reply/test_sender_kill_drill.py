"""Senders are killed at random moments; every letter is in the folder once, whole, and noted as sent."""

import asyncio
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from tests.reply.letters import LANE, MAIL, OURS, read
from tests.waiting import HANG_SECONDS
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind, MailId, SessionId
from webordinary.core.site import Session
from webordinary.ports.backend import Backend
from webordinary.ports.outbox import LetterState
from webordinary.reply.compose import message_id_of
from webordinary.system.clock import SystemClock

ROOT = Path(__file__).resolve().parents[2]
LETTERS, SENDERS, KILLS = 80, 2, 8


@dataclass(frozen=True, slots=True)
class Drill:
    """One run: how often each message is in the folder, how often each was taken, how many senders died."""

    copies: Counter[str]
    taken: list[int]
    kills: int


async def owe_letters(ports: Backend) -> list[Letter]:
    letters = []
    for number in range(LETTERS):
        session = SessionId(f"s{number % 10}")
        await ports.mailbox.begin(Session(session, LANE, "", 0.0))
        mail = replace(MAIL, id=MailId(f"m{number:03}"), message_id=f"<{number}@x>", session=session)
        await ports.mailbox.keep(mail)
        letters.append(Letter(mail.id, LetterKind.HELP, mail.id))
        assert await ports.outbox.owe(letters[-1])
    return letters


async def all_sent(ports: Backend) -> bool:
    return all(status.state is LetterState.SENT for _, status in await ports.outbox.letters(limit=LETTERS))


async def drill(folder: Path, mailer: str, rng: random.Random) -> tuple[Drill, list[Letter]]:
    home, outbox = folder / "home", folder / "outbox"
    ports = open_sqlite(home, SystemClock(), Limits())
    letters = await owe_letters(ports)
    command = [sys.executable, "-m", "tests.reply.sender_process", str(home), str(outbox), mailer]
    running: list[subprocess.Popen[bytes]] = []
    kills = 0
    try:
        async with asyncio.timeout(HANG_SECONDS):
            while not await all_sent(ports):
                running = [process for process in running if process.poll() is None]
                running += [subprocess.Popen(command, cwd=ROOT) for _ in range(SENDERS - len(running))]
                before = len(list(outbox.glob("*.eml")))
                while len(list(outbox.glob("*.eml"))) <= before and not await all_sent(ports):
                    await asyncio.sleep(0.002)  # somebody gets to work ...
                await asyncio.sleep(rng.uniform(0, 0.08))  # ... and is struck down in the middle of it
                if kills < KILLS:
                    victim = rng.choice(running)
                    victim.kill()
                    victim.wait()  # else the next round may count it as running, and nobody replaces it
                    kills += 1
        taken = [letter.attempts for letter, _ in await ports.outbox.letters(limit=LETTERS)]
    finally:
        for process in running:
            process.kill()
            process.wait()
        ports.close()
    copies = Counter(read(path.read_bytes())["Message-ID"] for path in outbox.glob("*.eml"))
    return Drill(copies, taken, kills), letters


async def test_every_letter_is_in_the_folder_once_however_many_senders_are_killed(tmp_path: Path) -> None:
    """A letter that was handed over but not noted is handed over again, and the folder knows it."""
    seen, letters = await drill(tmp_path, "lingering", random.Random(3))
    print(
        f"{seen.kills} senders killed, {sum(times > 1 for times in seen.taken)} letters taken more than once"
    )
    assert seen.copies == Counter(message_id_of(letter, OURS.domain) for letter in letters)
    assert seen.kills >= KILLS // 2
    assert max(seen.taken) > 1  # the drill did strike while letters were in hand


async def test_the_drill_finds_a_mailer_that_does_not_know_a_letter_again(tmp_path: Path) -> None:
    """A harness that never caught a planted fault proves nothing."""
    seen, letters = await drill(tmp_path, "forgetful", random.Random(4))
    assert set(seen.copies) == {message_id_of(letter, OURS.domain) for letter in letters}
    assert max(seen.copies.values()) > 1
