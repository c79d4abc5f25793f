"""One SQLite file, several processes, durable commits, and many verbs in one commit.

Every verb runs on the event loop's own thread. Verbs that are asked for in the same turn of the loop
share one transaction, so a worker with many slots pays for one durable commit, not for one a slot.
Only *waiting* for another process's transaction happens in a helper thread: the loop, with the
watchdogs of all leases in it, never waits for a lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from webordinary.backends.loading import Needs
from webordinary.backends.sqlite.schema import check_version, is_older, migrate
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.wakeups import Wakeups
from webordinary.core.errors import BackendUnavailable, StoreBusy, StoreFull, WebordinaryError
from webordinary.ports.clock import Clock

T = TypeVar("T")
Verb = Callable[[Tx], T]

LOCK_WAIT_SECONDS = 10.0  # another process's transaction takes milliseconds; longer means it is stuck
FOREIGN_LOCK_SECONDS = 2.0  # a tool that writes to the file without our lock
VERBS_PER_COMMIT = 512
CHECKPOINT_PAGES = 4000
LOCK_LOOK_SECONDS = 0.01
FULL_CODES = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
PRIMARY_CODE = 0xFF  # the other bits of a code of SQLite's say more about the same thing


@dataclass(slots=True)
class _Asked:
    verb: Verb[Any]
    future: asyncio.Future[Any]
    needs: Needs | None  # of a call of the claim protocol


class Engine:
    """Runs verbs as transactions on one file."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        wakeups: Wakeups,
        *,
        shared_commits: bool = True,
        synchronous: str = "FULL",
    ) -> None:
        """Open the file and bring its schema forward; create it if it is not there."""
        self.path, self._clock, self._wakeups = path, clock, wakeups
        self._shared_commits = shared_commits
        self._asked: list[_Asked] = []
        self._flushing = False
        self._overdue: asyncio.TimerHandle | None = None
        self._lock_file = -1
        with contextlib.ExitStack() as opened, _translated(path):
            self._lock_file = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            opened.callback(self._close_lock_file)
            self._writer = opened.enter_context(contextlib.closing(_connect(path, synchronous)))
            if is_older(self._writer):  # only then: a store whose lock is stuck can still be looked at
                with _locked(self._lock_file, path):
                    migrate(self._writer, str(path))
            self._reader = opened.enter_context(
                contextlib.closing(_connect(path, synchronous, read_only=True))
            )
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Close the file. Whoever still waits is told that nothing came of it."""
        self._opened.close()
        if self._overdue is not None:
            self._overdue.cancel()
        self._answer_all(BackendUnavailable(f"{self.path} was closed before this was stored"))

    def _close_lock_file(self) -> None:
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def read(self, query: Verb[T], needs: Needs | None = None) -> T:
        """Run a query on a connection that cannot write. It sees all that was committed before."""
        with _translated(self.path):
            return query(Tx(self._reader, self._clock.now(), [needs] if needs else (), writes=False))

    def changes_seen(self) -> int:
        """Give a number that differs when another process has committed since.

        Asked of the connection that writes: to the other one, our own commits are somebody else's too.
        """
        with _translated(self.path):
            return int(self._writer.execute("PRAGMA data_version").fetchone()[0])

    async def write(self, verb: Verb[T], needs: Needs | None = None) -> T:
        """Run a verb in a durable transaction, possibly shared with other verbs of this turn.

        With `needs`, the verb works on rows; what all verbs of the transaction need of them is read at once.
        """
        if self._lock_file < 0:
            raise BackendUnavailable(f"{self.path} is closed")
        if not self._shared_commits:
            return self._write_alone(verb, needs)
        loop = asyncio.get_running_loop()
        asked = _Asked(verb, loop.create_future(), needs)
        self._asked.append(asked)
        if not self._flushing:
            self._flushing = True
            loop.call_soon(self._flush, loop)
        result: T = await asked.future
        return result

    def _write_alone(self, verb: Verb[T], needs: Needs | None) -> T:
        with _translated(self.path):
            tx = Tx(self._writer, self._clock.now(), [needs] if needs else ())
            self._writer.execute("BEGIN IMMEDIATE")
            with self._rolled_back_on_error():
                result = verb(tx)
                tx.flush()
                self._writer.execute("COMMIT")
        self._wakeups.send(tx.topics)
        return result

    @contextlib.contextmanager
    def _rolled_back_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    # --- shared commits ---------------------------------------------------------------------------

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take the lock at once if it is free; otherwise let a thread wait for it."""
        if self._lock_file < 0:
            return
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait_for_lock(loop)
        else:
            self._commit_all(loop)

    def _wait_for_lock(self, loop: asyncio.AbstractEventLoop) -> None:
        self._overdue = loop.call_later(LOCK_WAIT_SECONDS, self._give_up_waiting, loop)
        lock_file = self._lock_file

        def locked() -> None:
            if self._overdue is not None:
                self._overdue.cancel()
            if self._lock_file >= 0:
                self._commit_all(loop)

        def wait() -> None:
            with contextlib.suppress(OSError, RuntimeError):  # closed meanwhile
                fcntl.flock(lock_file, fcntl.LOCK_EX)
                loop.call_soon_threadsafe(locked)

        threading.Thread(target=wait, name="waiting for the store", daemon=True).start()

    def _give_up_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer those who waited so far; the thread goes on waiting for those who ask later."""
        self._overdue = loop.call_later(LOCK_WAIT_SECONDS, self._give_up_waiting, loop)
        self._answer_all(_locked_for_too_long(self.path))

    def _answer_all(self, error: WebordinaryError) -> None:
        asked, self._asked = self._asked, []
        for one in asked:
            if not one.future.done():
                one.future.set_exception(error)

    def _commit_all(self, loop: asyncio.AbstractEventLoop) -> None:
        """With the lock held: run what was asked for in one commit, and hand out the results."""
        batch = [one for one in self._asked[:VERBS_PER_COMMIT] if not one.future.done()]
        del self._asked[:VERBS_PER_COMMIT]
        topics: dict[str, None] = {}
        try:
            settled = self._commit(batch, topics)
        finally:
            fcntl.flock(self._lock_file, fcntl.LOCK_UN)
            self._flushing = bool(self._asked)
            if self._flushing:
                loop.call_soon(self._flush, loop)
        self._wakeups.send(topics)
        for one, result in settled:
            if isinstance(result, Exception):
                one.future.set_exception(result)
            else:
                one.future.set_result(result)

    def _commit(self, batch: list[_Asked], topics: dict[str, None]) -> list[tuple[_Asked, Any]]:
        if not batch:
            return []
        try:
            return list(zip(batch, self._transact(batch, topics), strict=True))
        except Exception as error:  # noqa: BLE001 - one verb spoiled the batch: let each stand for itself
            topics.clear()
            if isinstance(error, sqlite3.Error) and _is_busy(error):  # or each would wait as long again
                return [(one, _our_error(error, self.path)) for one in batch]
            return [(one, self._transact_one(one, topics)) for one in batch]

    def _transact_one(self, one: _Asked, topics: dict[str, None]) -> object:
        try:
            with _translated(self.path):
                return self._transact([one], topics)[0]
        except Exception as error:  # noqa: BLE001 - handed to whoever asked
            return error

    def _transact(self, batch: list[_Asked], topics: dict[str, None]) -> list[object]:
        tx = Tx(self._writer, self._clock.now(), [one.needs for one in batch if one.needs is not None])
        self._writer.execute("BEGIN IMMEDIATE")
        with self._rolled_back_on_error():
            results = [_answer(one, tx) for one in batch]
            tx.flush()
            self._writer.execute("COMMIT")
        topics.update(tx.topics)
        return results


def _answer(asked: _Asked, tx: Tx) -> object:
    """Run a verb; a refusal is an answer, too. One without rows reads in the tables what others changed."""
    try:
        if asked.needs is None:
            tx.flush()
        return asked.verb(tx)
    except WebordinaryError as refusal:
        return refusal


def _connect(path: Path, synchronous: str, *, read_only: bool = False) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=FOREIGN_LOCK_SECONDS)
    try:
        check_version(connection, str(path))
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Let no error of the driver leave this backend."""
    try:
        yield
    except sqlite3.Error as error:
        raise _our_error(error, path) from error
    except OSError as error:
        raise BackendUnavailable(f"{path} can't be used: {error.strerror or error}") from error
    except UnicodeDecodeError as error:  # the driver could not even read its own words about the file
        raise BackendUnavailable(f"{path} is damaged: it holds what is no text") from error


def _our_error(error: sqlite3.Error, path: Path) -> WebordinaryError:
    if getattr(error, "sqlite_errorcode", None) in FULL_CODES:
        return StoreFull(
            f"there is no room left for {path}. Nothing of this call was stored, all that was "
            "acknowledged before is kept. Free some space there and try again."
        )
    if _is_busy(error):
        return StoreBusy(f"another program keeps {path} locked. Nothing of this call was stored; try again.")
    return BackendUnavailable(f"{path}: {error}")


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE in BUSY_CODES


@contextlib.contextmanager
def _locked(lock_file: int, path: Path) -> Iterator[None]:
    """Hold the lock that writers of all processes take in turn. Only for before there is a loop to block."""
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise _locked_for_too_long(path) from None
            time.sleep(LOCK_LOOK_SECONDS)
    try:
        yield
    finally:
        fcntl.flock(lock_file, fcntl.LOCK_UN)


def _locked_for_too_long(path: Path) -> StoreBusy:
    return StoreBusy(
        f"{path} has been locked by another process for {LOCK_WAIT_SECONDS:g} s. "
        "Nothing of this call was stored; it can be repeated."
    )
