"""One SQLite file in one process: shared commits, full disks, foreign locks, sockets."""

import asyncio
import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conformance.world import AMELIA, BRAVO, LIMITS, LONG, W1, W2, ManualClock, World
from tests.integration.sqlite_child import a_job
from tests.integration.test_sqlite_processes import Child, ask
from tests.waiting import soon
from webordinary.backends.sqlite import engine as engine_module
from webordinary.backends.sqlite import wakeups as wakeups_module
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.sqlite.wakeups import SocketWakeups
from webordinary.backends.wakeups import LocalWakeups
from webordinary.claim.rows import CLAIMS
from webordinary.core.errors import BackendUnavailable, ClaimLost, StoreBusy, StoreFull
from webordinary.core.job import JobState, Submitted
from webordinary.core.outcome import Done
from webordinary.ports.backend import Backend

Opening = Callable[[Path], World]


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opening]:
    """Opens a home, as often as a test likes; the slow look for missed wake-ups is off."""
    monkeypatch.setattr(wakeups_module, "MISSED_WAKEUP_SECONDS", 3600.0)
    opened: list[Backend] = []

    def open_home(home: Path) -> World:
        clock = ManualClock(f"n{len(opened)}-")
        opened.append(open_sqlite(home, clock, LIMITS))
        return World(opened[-1], clock, LIMITS)

    yield open_home
    for backend in opened:
        backend.close()


@pytest.fixture
def world(tmp_path: Path, opening: Opening) -> World:
    return opening(tmp_path / "home")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(tmp_path / STORE_NAME, ManualClock(), LocalWakeups())
    yield engine
    engine.close()


def park(lane: str, failures: int) -> Callable[[Tx], int]:
    """A verb that leaves a trace."""

    def verb(tx: Tx) -> int:
        tx.do("INSERT INTO lanes (lane, project, failures) VALUES (?, 'p', ?)", (lane, failures))
        return failures

    return verb


def explode(tx: Tx) -> int:
    tx.do("INSERT INTO lanes (lane, project) VALUES ('spoiled', 'p')")
    raise ZeroDivisionError


def lanes(engine: Engine) -> list[str]:
    return [row[0] for row in engine.read(lambda tx: tx.all("SELECT lane FROM lanes ORDER BY lane"))]


# --- shared commits ---------------------------------------------------------------------------------


async def test_verbs_of_one_turn_share_one_commit(engine: Engine) -> None:
    """A worker with many slots pays for one durable commit, not for one a slot."""
    statements: list[str] = []
    engine._writer.set_trace_callback(statements.append)
    results = await asyncio.gather(*(engine.write(park(f"lane{n}", n)) for n in range(20)))
    assert results == list(range(20))
    assert statements.count("COMMIT") == 1


async def test_whoever_is_woken_finds_what_it_was_woken_for(tmp_path: Path) -> None:
    """Woken before the commit, a worker would look, find nothing, and sleep on."""
    found: list[list[str]] = []

    class Looking(LocalWakeups):
        def send(self, topics: Iterable[str]) -> None:
            found.extend(lanes(opened) for topic in topics if topic == CLAIMS)

    def wanted(tx: Tx) -> None:
        park("a", 1)(tx)
        tx.wake(CLAIMS)

    opened = Engine(tmp_path / STORE_NAME, ManualClock(), Looking())
    await opened.write(wanted)
    opened.close()
    assert found == [["a"]]


async def test_a_verb_that_explodes_spoils_nothing_but_itself(engine: Engine) -> None:
    answers = await asyncio.gather(
        engine.write(park("a", 1)), engine.write(explode), engine.write(park("b", 2)), return_exceptions=True
    )
    assert [answers[0], answers[2]] == [1, 2]
    assert isinstance(answers[1], ZeroDivisionError)
    assert lanes(engine) == ["a", "b"]


async def test_a_verb_that_breaks_a_rule_of_the_file_spoils_nothing_but_itself(engine: Engine) -> None:
    answers = await asyncio.gather(
        engine.write(park("a", 1)),
        engine.write(park("a", 2)),
        engine.write(park("b", 3)),
        return_exceptions=True,
    )
    assert [answers[0], answers[2]] == [1, 3]
    assert isinstance(answers[1], BackendUnavailable)
    assert lanes(engine) == ["a", "b"]


async def test_a_refusal_spoils_nothing_and_is_told_to_its_caller_only(world: World) -> None:
    """Two slots settle in the same breath; one of them was paused beyond its lease."""
    lost = await world.start(AMELIA, W1)
    await world.control.evict(AMELIA)
    good = await world.start(BRAVO, W2)
    answers = await asyncio.gather(
        world.broker.settle(lost, Done(), more=False),
        world.broker.settle(good, Done(), more=False),
        world.broker.submit(world.job(BRAVO)),
        return_exceptions=True,
    )
    assert isinstance(answers[0], ClaimLost)
    assert answers[1] is None
    assert isinstance(answers[2], Submitted)
    assert await world.state(lost.job.id) is JobState.RUNNING
    assert await world.state(good.job.id) is JobState.DONE


async def test_a_caller_that_gave_up_before_its_turn_changes_nothing(engine: Engine) -> None:
    gave_up = asyncio.create_task(engine.write(park("a", 1)))
    await asyncio.sleep(0)
    gave_up.cancel()
    await engine.write(park("b", 2))
    assert lanes(engine) == ["b"]


async def test_more_verbs_than_fit_one_commit_are_all_carried_out(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "VERBS_PER_COMMIT", 3)
    assert await asyncio.gather(*(engine.write(park(f"lane{n}", n)) for n in range(10))) == list(range(10))


async def test_an_engine_that_is_closed_answers_those_who_still_wait(engine: Engine) -> None:
    """Whoever asked must learn that nothing came of it, and nothing may fail in the background."""
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    asked = asyncio.create_task(engine.write(park("a", 1)))
    await asyncio.sleep(0)
    engine.close()
    with pytest.raises(BackendUnavailable):
        await soon(asked)
    with pytest.raises(BackendUnavailable):
        await soon(engine.write(park("b", 1)))
    await asyncio.sleep(0.05)
    assert failures == []


# --- a full disk ------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk takes root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_up(disk: Path) -> Path:
    """Leave no room there."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return ballast


async def test_a_full_disk_is_said_clearly_and_loses_nothing(small_disk: Path, opening: Opening) -> None:
    world = opening(small_disk / "home")
    accepted = [await world.submit()]
    ballast = fill_up(small_disk)

    async def submit_until_refused() -> None:
        while True:
            accepted.append(await world.submit())

    with pytest.raises(StoreFull, match="no room left"):
        await submit_until_refused()
    assert sum((await world.ledger.counts()).values()) == len(accepted)
    with pytest.raises(StoreFull):
        await world.take()
    ballast.unlink()
    accepted.append(await world.submit())
    assert [view.id for view in await world.ledger.jobs(limit=1000)] == accepted[::-1]
    delivery = await world.deliver(await world.take())
    await world.broker.settle(delivery, Done(), more=False)
    assert ask(small_disk / "home", "PRAGMA integrity_check") == [("ok",)]


def test_a_disk_without_room_for_a_new_store_is_said_clearly(small_disk: Path, opening: Opening) -> None:
    ballast = fill_up(small_disk)
    with pytest.raises(BackendUnavailable, match=r"[Nn]o (space|room) left"):
        opening(small_disk / "home")
    ballast.unlink()
    opening(small_disk / "home")


def test_a_file_that_may_not_grow_is_as_full_as_a_disk(tmp_path: Path) -> None:
    """The same without root: a limit on the size of files, in a process of its own."""
    child = Child("fill", tmp_path)
    try:
        said = child.lines()
    finally:
        child.end()
    accepted = [line.split()[1] for line in said if line.startswith("accepted")]
    (refused,) = [line for line in said if line.startswith("refused")]
    assert refused.startswith("refused StoreFull there is no room left")
    assert f"counted {len(accepted) - 1}" in said
    assert accepted[-1] == "afterwards"
    stored = [str(row[0]) for row in ask(tmp_path, "SELECT id FROM jobs ORDER BY seq")]
    assert stored == accepted
    assert ask(tmp_path, "PRAGMA integrity_check") == [("ok",)]


# --- a program that locks the file without our lock -------------------------------------------------


async def test_a_foreign_lock_is_waited_for_once_and_not_once_a_verb(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty slots behind somebody's open sqlite3 shell would otherwise block the loop forty times as long."""
    wait = 0.3
    monkeypatch.setattr(engine_module, "FOREIGN_LOCK_SECONDS", wait)
    home = tmp_path / "other"
    other = open_sqlite(home, ManualClock("o"), LIMITS)
    shell = sqlite3.connect(home / STORE_NAME, isolation_level=None)
    try:
        shell.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        jobs = [a_job(f"j{n}", "amelia/scott") for n in range(40)]
        answers = await asyncio.gather(*(other.broker.submit(job) for job in jobs), return_exceptions=True)
        assert {type(answer) for answer in answers} == {StoreBusy}
        assert time.monotonic() - began < wait * len(jobs) / 2
        shell.execute("ROLLBACK")
        await other.broker.submit(jobs[0])
        assert (await other.ledger.counts())[JobState.QUEUED] == 1
    finally:
        shell.close()
        other.close()


# --- waking others ----------------------------------------------------------------------------------


async def woken(first: World, second: World) -> None:
    """A waiter of the one is woken by the other."""
    poll = asyncio.create_task(second.broker.claim(W2, room=1, wait=LONG))
    await asyncio.sleep(0.05)
    assert not poll.done()
    await first.submit()
    assert (await soon(poll)).claims


async def test_a_home_with_a_path_too_long_for_a_socket_still_wakes(tmp_path: Path, opening: Opening) -> None:
    home = tmp_path / ("deep" * 20) / ("deeper" * 10)
    assert len(os.fsencode(home)) > wakeups_module.SOCKET_PATH_BYTES
    await woken(opening(home), opening(home))


async def test_a_home_behind_a_link_still_wakes(tmp_path: Path, opening: Opening) -> None:
    """One process may know it by its short name, the other one by its long one."""
    home = tmp_path / ("deep" * 20) / ("deeper" * 10)
    home.mkdir(parents=True)
    link = Path(os.environ.get("TMPDIR", "/tmp")) / f"webordinary-link-{os.getpid()}"
    link.symlink_to(home)
    try:
        await woken(opening(link), opening(home))
    finally:
        link.unlink()


def sockets(home: Path) -> Path:
    """The folder where the processes of a store listen."""
    folder = wakeups_module._folder_for(home / STORE_NAME)
    folder.mkdir(exist_ok=True)
    return folder


async def test_sockets_of_the_dead_are_cleared_away(tmp_path: Path, opening: Opening) -> None:
    home = tmp_path / "home"
    first, second = opening(home), opening(home)
    stale = sockets(home) / "dead.claims.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(str(stale))
    assert stale.exists()
    await woken(first, second)
    assert not stale.exists()


async def test_a_process_removes_its_own_sockets_when_it_leaves(tmp_path: Path, opening: Opening) -> None:
    home = tmp_path / "home"
    await opening(home).broker.nudged(W1, wait=0)
    leaving = open_sqlite(home, ManualClock("leaving"), LIMITS)
    try:
        await leaving.broker.nudged(W2, wait=0)
        assert list(sockets(home).glob("leaving*"))
    finally:
        leaving.close()
    assert not list(sockets(home).glob("leaving*"))


async def test_a_socket_born_in_the_same_tick_of_the_file_system_is_noticed(tmp_path: Path) -> None:
    """The time of a folder stands still for milliseconds; a worker that starts then must still be woken."""
    store, folder = tmp_path / STORE_NAME, sockets(tmp_path)
    mouth, early, late = (SocketWakeups(store, name) for name in ("mouth", "early", "late"))
    try:
        early.listen(CLAIMS)
        born = folder.stat()
        mouth.send([CLAIMS])
        ear = late.listen(CLAIMS)
        os.utime(folder, ns=(born.st_atime_ns, born.st_mtime_ns))
        mouth.send([CLAIMS])
        await soon(ear.wait(LONG))
    finally:
        for wakeups in (mouth, early, late):
            wakeups.close()


async def test_more_topics_than_fit_one_datagram_wake_everybody(tmp_path: Path) -> None:
    store = tmp_path / STORE_NAME
    mouth, other = SocketWakeups(store, "mouth"), SocketWakeups(store, "other")
    try:
        ear = other.listen("lane p#u1999")
        mouth.send([f"lane p#u{number}" for number in range(2000)])
        await soon(ear.wait(LONG))
    finally:
        mouth.close()
        other.close()
