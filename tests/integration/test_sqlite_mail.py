"""What mail needs of a SQLite file beyond the conformance suite: restarts, other processes, bounded size."""

import asyncio
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.world import AMELIA, LIMITS, LONG, START, ManualClock, World
from tests.waiting import soon
from webordinary.backends.quota import TOKEN_KEPT_SECONDS
from webordinary.backends.sqlite import wakeups
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.core.claim import Claim, WorkerId
from webordinary.core.job import Job, JobId
from webordinary.core.mail import Letter, LetterKind
from webordinary.core.outcome import Done
from webordinary.ports.backend import Backend
from webordinary.ports.quotas import Bucket

BUCKET = Bucket("sender scott@example.org", burst=2, per_hour=60)


class Home:
    """A home folder, opened as often as a test likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened: list[Backend] = []

    def open(self, clock: ManualClock | None = None) -> Backend:
        name = f"b{len(self._opened)}-"
        self._opened.append(open_sqlite(self.folder, clock or ManualClock(name), LIMITS, synchronous="OFF"))
        return self._opened[-1]

    def count(self, table: str) -> int:
        connection = sqlite3.connect(self.folder / STORE_NAME)
        try:
            return int(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
        finally:
            connection.close()

    def close(self) -> None:
        for backend in self._opened:
            backend.close()
        self._opened.clear()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setattr(wakeups, "MISSED_WAKEUP_SECONDS", 3600.0)
    home = Home(tmp_path)
    yield home
    home.close()


async def test_a_sender_in_another_process_is_woken_at_once(home: Home) -> None:
    """A worker settles, the gateway answers, a third process sends: each owner must be answered at once."""
    gateway, worker, sender = home.open(), home.open(), home.open()
    await gateway.broker.submit(Job(JobId("j1"), AMELIA, "do it", "m1", wants_reply=True))
    for act, kind in (
        (lambda: settle_next(worker), LetterKind.DONE),
        (lambda: gateway.outbox.owe(Letter("m2", LetterKind.HELP)), LetterKind.HELP),
    ):
        poll = asyncio.create_task(sender.outbox.take("s1", limit=10, hold=60, wait=LONG))
        await asyncio.sleep(0.05)
        await act()
        (letter,) = await soon(poll)
        assert letter.kind is kind


async def settle_next(worker: Backend) -> None:
    claimed = await worker.broker.claim(WorkerId("w1"), room=1, wait=0)
    claim: Claim = claimed.claims[0]
    delivery = await worker.broker.next_job(claim, wait=0)
    assert delivery is not None
    await worker.broker.settle(delivery, Done(), more=False)


async def test_senders_in_several_processes_never_share_a_letter(home: Home) -> None:
    owner, *senders = (home.open() for _ in range(4))
    for number in range(60):
        await owner.outbox.owe(Letter(f"m{number:02}", LetterKind.HELP))

    async def drain(backend: Backend) -> list[str]:
        mine: list[str] = []
        while taken := await backend.outbox.take("s", limit=3, hold=60, wait=0):
            mine += [letter.about for letter in taken]
        return mine

    drained = await asyncio.gather(*(drain(sender) for sender in senders))
    assert sorted(name for mine in drained for name in mine) == [f"m{number:02}" for number in range(60)]


async def test_letters_and_their_holds_survive_a_restart(home: Home) -> None:
    clock = ManualClock()
    backend = home.open(clock)
    await backend.outbox.owe(Letter("m1", LetterKind.HELP))
    await backend.outbox.owe(Letter("m2", LetterKind.HELP))
    (held,) = await backend.outbox.take("s1", limit=1, hold=60, wait=0)
    home.close()
    backend = home.open(clock)
    (other,) = await backend.outbox.take("s2", limit=10, hold=60, wait=0)
    assert (held.about, other.about) == ("m1", "m2")
    clock.advance(60)
    assert [one.attempts for one in await backend.outbox.take("s2", limit=10, hold=60, wait=0)] == [2, 2]


async def test_a_quota_survives_a_restart(home: Home) -> None:
    """Otherwise a gateway that is restarted often would have no quotas."""
    clock = ManualClock()
    for token, answer in (("1", None), ("2", None), ("1", None), ("3", BUCKET)):
        backend = home.open(clock)
        assert await backend.quotas.spend([BUCKET], token) == answer
        home.close()


async def test_buckets_that_are_full_again_are_forgotten(home: Home) -> None:
    """Everybody who ever wrote would stay in the file for ever."""
    clock = ManualClock()
    backend = home.open(clock)
    for number in range(50):
        await backend.quotas.spend([replace(BUCKET, key=f"sender {number}")], f"mail {number}")
    assert (home.count("buckets"), home.count("taken")) == (50, 50)
    clock.advance(60)
    await backend.quotas.spend([BUCKET], "another")
    assert (home.count("buckets"), home.count("taken")) == (1, 51)
    clock.advance(TOKEN_KEPT_SECONDS)
    await backend.quotas.spend([BUCKET], "a last one")
    assert (home.count("buckets"), home.count("taken")) == (1, 1)


async def test_looking_for_letters_does_not_slow_down_with_their_number(home: Home) -> None:
    """Letters are kept for ever: a look must not read those that went out years ago."""
    backend = home.open()
    world = World(backend, ManualClock(), LIMITS)
    await world.submit(reply=True)
    connection = sqlite3.connect(home.folder / STORE_NAME)
    try:
        plans = [
            connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
            for sql in (
                "SELECT MIN(due_at) FROM letters WHERE state = 'owed'",
                "SELECT MAX(due_at) FROM letters WHERE state = 'owed'",
                f"SELECT seq FROM letters WHERE state = 'owed' AND due_at <= {START} ORDER BY due_at, seq",
                f"SELECT seq FROM letters WHERE state = 'owed' AND due_at > {START} ORDER BY due_at, seq",
                "SELECT COUNT(*) FROM letters WHERE about = 'j' AND kind IN ('done', 'dead')",
            )
        ]
    finally:
        connection.close()
    steps = [step[-1] for plan in plans for step in plan]
    assert all("USING" in step and "INDEX" in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps
