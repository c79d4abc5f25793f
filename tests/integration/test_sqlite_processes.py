"""Several processes on one SQLite file."""

import asyncio
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.world import AMELIA
from tests.integration.sqlite_child import a_job
from tests.waiting import HANG_SECONDS, soon, until
from webordinary.backends.sqlite import engine as engine_module
from webordinary.backends.sqlite import schema
from webordinary.backends.sqlite import wakeups as wakeups_module
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.core.claim import WorkerId
from webordinary.core.errors import SchemaMismatch, StoreBusy
from webordinary.core.job import JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock

ROOT = Path(__file__).resolve().parents[2]


class Child:
    """Another process on the same store."""

    def __init__(self, verb: str, home: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "tests.integration.sqlite_child", verb, str(home), *arguments]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self._said: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # None: it has ended
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line.strip())
        self._said.put(None)

    async def soon(self) -> str:
        """The next thing it says."""
        await until(lambda: not self._said.empty())
        return self._said.get() or "it ended"

    def lines(self) -> list[str]:
        """Everything it says until it ends well."""
        said = []
        while (line := self._said.get(timeout=HANG_SECONDS)) is not None:
            said.append(line)
        assert self._process.wait(HANG_SECONDS) == 0, said
        return said

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def children() -> Iterator[list[Child]]:
    """All are ended with the test."""
    started: list[Child] = []
    yield started
    for child in started:
        child.end()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def backend(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """This process's own view of the store; its slow look for missed wake-ups is off."""
    monkeypatch.setattr(wakeups_module, "MISSED_WAKEUP_SECONDS", 3600.0)
    backend = open_sqlite(home, SystemClock(), Limits())
    yield backend
    backend.close()


def ask(home: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(home / STORE_NAME)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


# --- work shared between processes ------------------------------------------------------------------


async def test_processes_that_submit_and_serve_at_once_do_every_job_once_and_in_order(
    home: Path, children: list[Child]
) -> None:
    """The embedded store is one file and any number of processes, each job done once."""
    lanes = ("amelia/scott", "amelia/tara", "bravo/kim", "coral/lee")
    submitters = [Child("submit", home, name, "40", *lanes) for name in "abc"]
    servers = [Child("serve", home, name, "120") for name in ("w1", "w2", "w3")]
    children += submitters + servers
    accepted = [line for child in submitters for line in child.lines()]
    served = [line.split() for child in servers for line in child.lines()]
    assert sorted(job for _, job, _, _ in served) == sorted(accepted)
    assert len(accepted) == 120
    assert {attempt for *_, attempt in served} == {"1"}
    done = ask(home, "SELECT lane, id FROM jobs WHERE state = 'done' ORDER BY finished_at, seq")
    for lane in lanes:
        here = [str(job) for key, job in done if key == lane.replace("/", "#")]
        for submitter in "abc":
            mine = [job for job in here if job.startswith(submitter)]
            assert mine == sorted(mine)
    assert ask(home, "PRAGMA integrity_check") == [("ok",)]


async def test_of_many_waiting_processes_one_gets_the_lane(
    home: Path, backend: Backend, children: list[Child]
) -> None:
    children += [Child("wait", home, f"w{number}") for number in range(4)]
    assert [await child.soon() for child in children] == ["waiting"] * 4
    for number in range(4):
        await backend.broker.submit(a_job(f"j{number}", f"amelia/u{number}"))
    said = [await child.soon() for child in children]
    assert sorted(said) == [f"claimed amelia/u{number}" for number in range(4)]


async def test_a_worker_is_woken_by_another_process(
    home: Path, backend: Backend, children: list[Child]
) -> None:
    children.append(Child("wait", home, "w1"))
    assert await children[0].soon() == "waiting"
    await backend.broker.submit(a_job("j1", "amelia/scott"))
    assert await children[0].soon() == "claimed amelia/scott"


async def test_somebody_who_waits_for_a_result_is_woken_by_another_process(
    home: Path, backend: Backend, children: list[Child]
) -> None:
    await backend.broker.submit(a_job("j1", "amelia/scott"))
    waiting = asyncio.create_task(backend.ledger.result(JobId("j1"), wait=HANG_SECONDS))
    await asyncio.sleep(0.05)
    children.append(Child("serve", home, "w1", "1"))
    assert (await soon(waiting)).state is JobState.DONE


# --- beginnings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("round_", range(3))
def test_many_processes_may_begin_a_new_store_at_once(home: Path, children: list[Child], round_: int) -> None:
    """Two that both switch a new file to its journal at first sight would lock each other out."""
    children += [Child("open", home) for _ in range(6)]
    assert [child.lines() for child in children] == [["opened 0"]] * 6
    assert ask(home, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert ask(home, "PRAGMA journal_mode") == [("wal",)]


async def test_what_one_process_stored_the_next_one_finds(home: Path, children: list[Child]) -> None:
    children.append(Child("submit", home, "a", "3", "amelia/scott"))
    children[0].lines()
    children.append(Child("open", home))
    assert children[1].lines() == ["opened 3"]


def test_a_store_of_a_newer_version_is_refused_and_left_alone(home: Path) -> None:
    """Its rows may mean what this version can't know."""
    open_sqlite(home, SystemClock(), Limits()).close()
    newer = schema.SCHEMA_VERSION + 1
    ask(home, f"PRAGMA user_version = {newer}")
    before = (home / STORE_NAME).read_bytes()
    with pytest.raises(SchemaMismatch) as refused:
        open_sqlite(home, SystemClock(), Limits())
    assert f"schema version {newer}" in str(refused.value)
    assert f"knows up to {schema.SCHEMA_VERSION}" in str(refused.value)
    assert "Nothing was changed" in str(refused.value)
    assert (home / STORE_NAME).read_bytes() == before


def test_a_store_of_an_older_version_is_brought_forward_with_all_that_is_in_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(one_job(home))
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE later (a TEXT);"))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    open_sqlite(home, SystemClock(), Limits()).close()
    assert ask(home, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert ask(home, "SELECT id FROM jobs") == [("j1",)]
    assert ask(home, "SELECT COUNT(*) FROM later") == [(0,)]


def test_a_step_forward_that_fails_leaves_the_store_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a migration is a file that no version can read."""
    asyncio.run(one_job(home))
    version = schema.SCHEMA_VERSION
    broken = "CREATE TABLE later (a TEXT); INSERT INTO nowhere VALUES (1);"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", version + 1)
    with pytest.raises(Exception, match="nowhere"):
        open_sqlite(home, SystemClock(), Limits())
    assert ask(home, "PRAGMA user_version") == [(version,)]
    assert ask(home, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'later'") == [(0,)]
    assert ask(home, "SELECT id FROM jobs") == [("j1",)]


async def one_job(home: Path) -> None:
    backend = open_sqlite(home, SystemClock(), Limits())
    await backend.broker.submit(a_job("j1", "amelia/scott"))
    backend.close()


# --- a process that holds the lock and does not let go ----------------------------------------------


async def test_a_stuck_process_makes_the_store_busy_and_nothing_is_lost(
    home: Path, backend: Backend, children: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped in its transaction stops all who write, but not for ever in silence."""
    monkeypatch.setattr(engine_module, "LOCK_WAIT_SECONDS", 0.3)
    await backend.broker.submit(a_job("before", "amelia/scott"))
    children.append(Child("hold", home))
    assert await children[0].soon() == "holding"
    answers = await asyncio.gather(
        *(backend.broker.submit(a_job(f"j{n}", "amelia/scott")) for n in range(3)), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [StoreBusy] * 3
    assert "Nothing of this call was stored" in str(answers[0])
    with pytest.raises(StoreBusy):
        await backend.broker.submit(a_job("j3", "amelia/scott"))
    assert sum((await backend.ledger.counts()).values()) == 1  # looking is always possible
    assert await backend.gatekeeper.owner(AMELIA) is None
    patient = asyncio.create_task(backend.broker.submit(a_job("j4", "amelia/scott")))
    await asyncio.sleep(0.05)
    children[0].go_on()
    await soon(patient)
    assert sum((await backend.ledger.counts()).values()) == 2
    await backend.broker.submit(a_job("j0", "amelia/scott"))
    assert await children[0].soon() == "let go"


async def test_the_loop_goes_on_while_it_waits_for_another_process(
    home: Path, backend: Backend, children: list[Child]
) -> None:
    """The watchdogs of all leases live in that loop."""
    await backend.broker.submit(a_job("before", "amelia/scott"))
    children.append(Child("hold", home))
    assert await children[0].soon() == "holding"
    waiting = asyncio.create_task(backend.broker.submit(a_job("j1", "amelia/scott")))
    for _ in range(20):
        await asyncio.sleep(0.01)
    assert not waiting.done()
    children[0].go_on()
    await soon(waiting)


async def test_a_store_can_be_opened_and_looked_at_while_a_stuck_process_holds_its_lock(
    home: Path, backend: Backend, children: list[Child]
) -> None:
    """That is when the operator wants to see what is going on."""
    await backend.broker.submit(a_job("before", "amelia/scott"))
    children.append(Child("hold", home))
    assert await children[0].soon() == "holding"
    children.append(Child("open", home))
    assert await children[1].soon() == "opened 1"
    children[0].go_on()


async def test_a_new_store_whose_maker_is_stuck_is_busy(
    home: Path, children: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "LOCK_WAIT_SECONDS", 0.3)
    children.append(Child("hold", home_of(home)))
    assert await children[0].soon() == "holding"
    ask(home, "PRAGMA wal_checkpoint")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE later (a TEXT);"))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    with pytest.raises(StoreBusy):
        await asyncio.to_thread(open_sqlite, home, SystemClock(), Limits())
    children[0].go_on()


def home_of(home: Path) -> Path:
    home.mkdir()
    return home


async def test_a_process_that_dies_in_its_transaction_leaves_nothing_locked(
    home: Path, backend: Backend, children: list[Child]
) -> None:
    await backend.broker.submit(a_job("before", "amelia/scott"))
    children.append(Child("hold", home))
    assert await children[0].soon() == "holding"
    children[0].end()
    claimed = await backend.broker.claim(WorkerId("w1"), room=1, wait=0)
    delivery = await backend.broker.next_job(claimed.claims[0], wait=0)
    assert delivery is not None
    await backend.broker.settle(delivery, Done(), more=False)
    assert os.listdir(home)  # noqa: PTH208 - the folder is still there
