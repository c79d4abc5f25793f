"""How often the disk is waited for before the 250: what a mail costs, counted."""

import os
import random
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import apsw
import pytest

from tests.conformance.world import LIMITS, ManualClock
from tests.flows.door import SCOTT, Door
from tests.reliability.disk import Synced
from tests.reliability.recorder import recorder_of
from tests.reliability.workload import DATABASE, Books, Life, Recording
from tests.smtp.line import Gate, Received
from webordinary.backends.folder_blobs import FolderBlobs
from webordinary.backends.sqlite import engine
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.mail.smtp.gateway import SmtpGateway, SmtpListener
from webordinary.ports.blobs import blob_key


class Counted:
    """Commits of the store, and syncs of files."""

    def __init__(self) -> None:
        self.commits = self.syncs = 0

    def saw(self, statement: str) -> None:
        self.commits += statement == "COMMIT"

    def fsync(self, handle: int) -> None:
        self.syncs += 1
        os.fdatasync(handle)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted, connect = Counted(), engine._connect

    def watched(path: Path, synchronous: str, *, read_only: bool = False) -> sqlite3.Connection:
        connection = connect(path, synchronous, read_only=read_only)
        connection.set_trace_callback(counted.saw)
        return connection

    monkeypatch.setattr(engine, "_connect", watched)
    monkeypatch.setattr(os, "fsync", counted.fsync)
    return counted


@pytest.fixture
def door(counted: Counted, tmp_path: Path) -> Iterator[Door]:
    assert counted.commits == 0
    clock = ManualClock()
    backend = open_sqlite(tmp_path / "home", clock, LIMITS, large=FolderBlobs(tmp_path / "home" / "blobs"))
    yield Door(backend, clock)
    backend.close()


@pytest.fixture
async def gate(door: Door) -> AsyncIterator[Gate]:
    await door.onboard("amelia/scott", SCOTT)
    gateway = SmtpGateway(SmtpListener(port=0), door.reception.receive)
    yield Gate(gateway, await gateway.start(), Received())
    await gateway.stop()


def mail(number: int, words: str = "Change the title") -> bytes:
    """The final dot included."""
    head = f"From: {SCOTT}\r\nSubject: Site\r\nMessage-ID: <{number}@example.com>\r\n\r\n"
    return f"{head}{words}\r\n.\r\n".encode()


async def send(gate: Gate, *mails: bytes) -> None:
    async with gate.greeted() as line:
        for one in mails:
            await line.begin()
            await line.send(one)
            assert (await line.hear()).startswith("250 ")


async def test_a_mail_is_one_commit_and_no_file(gate: Gate, door: Door, counted: Counted) -> None:
    counted.commits = counted.syncs = 0
    await send(gate, *(mail(number) for number in range(5)))
    assert (counted.commits, counted.syncs) == (5, 0)
    assert len(await door.jobs()) == 5


async def test_a_large_mail_is_one_commit_and_a_file_with_two_syncs(gate: Gate, counted: Counted) -> None:
    """The file and its name. That of its folder was synced when the folder was first used."""

    def folder(one: bytes) -> str:
        return blob_key(one.removesuffix(b".\r\n"))[:2]

    large = (mail(number, "Change this, please.\r\n" * 4000) for number in count())
    first = next(large)
    await send(gate, first)
    counted.commits = counted.syncs = 0
    await send(gate, next(one for one in large if folder(one) == folder(first)))
    assert (counted.commits, counted.syncs) == (1, 2)


async def test_mails_over_many_connections_share_commits(gate: Gate, door: Door, counted: Counted) -> None:
    """Twenty senders at the same moment wait for the disk once or twice, not twenty times."""
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(gate.greeted()) for _ in range(20)]
        for line in lines:
            await line.begin()
        counted.commits = counted.syncs = 0
        for number, line in enumerate(lines):
            line.writer.write(mail(number))
        assert {(await line.hear())[:3] for line in lines} == {"250"}
    assert counted.syncs == 0
    assert counted.commits <= 10
    assert len(await door.jobs()) == 20


def test_a_commit_with_many_mails_in_it_is_one_sync_of_the_disk(tmp_path: Path) -> None:
    """Seen by the disk itself; a checkpoint now and then comes on top."""
    with recorder_of(tmp_path) as recorder:
        recording = Recording({}, recorder.log, [(0, Books())])
        life = Life(recording, random.Random(1))
        connection = apsw.Connection(str(tmp_path / DATABASE), vfs=recorder.name)
        life.open(connection, "FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 100000")
        life.admit(1)  # the log begins with its own header
        for mails in (1, 1, 20):
            before = len(recorder.log)
            life.admit(mails)
            assert sum(isinstance(one, Synced) for one in recorder.log[before:]) == 1
        connection.close()
