"""`webordinary up`: a process tree that serves, heals itself and leaves nothing behind."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.cli_support import Home, alive, ended, eventually, home
from webordinary.core.job import JobState

__all__ = ["home"]

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")


@dataclass
class Pool:
    """A running `up`."""

    process: subprocess.Popen[str]
    pids: list[int]

    def none_left(self) -> bool:
        return not any(alive(pid) for pid in self.pids)


@contextmanager
def up(home: Home, *words: str) -> Iterator[Pool]:
    with home.started("up", "--json", *words) as process:
        assert process.stdout is not None
        pool = Pool(process, list(json.loads(process.stdout.readline())["pids"].values()))
        try:
            yield pool
        finally:
            process.kill()
            eventually(pool.none_left)


def test_up_serves_and_leaves_no_process_behind(home: Home) -> None:
    with up(home) as pool:
        assert len(pool.pids) == 2
        assert {worker.pid for worker in home.workers()} == set(pool.pids)
        assert home.json("submit", "amelia/scott", "0 x", "--wait", "60")["result"]["state"] == "done"
        pool.process.send_signal(signal.SIGINT)
        code, _, log = ended(pool.process)
        assert code == 0, log
        assert pool.none_left()
    assert home.workers() == []


def test_up_says_what_runs_and_what_to_type(home: Home) -> None:
    with home.started("up", "--workers", "1", "--slots", "2") as process:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line
            said += line
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    assert "worker 1   pid" in said
    assert "2 slots, handler sleep" in said
    assert f"--home {home.folder}" in said


def test_a_worker_that_dies_is_replaced_and_its_job_goes_on_at_once(home: Home) -> None:
    """Its supervisor knows that it is dead: nobody has to wait for a lease."""
    hangs_once = '[ "$WEBORDINARY_ATTEMPT" != 1 ] || sleep 600'
    home.folder.joinpath("webordinary.toml").write_text("[limits]\nlease_seconds = 3600\n")
    with up(home, "--", "sh", "-c", hangs_once) as pool:
        job = home.submitted("amelia/scott", "x")
        home.until(job, JobState.RUNNING)
        (busy,) = [worker for worker in home.workers() if worker.lanes]
        signal_to(busy.pid, signal.SIGKILL)
        assert home.until(job, JobState.DONE).attempt == 2
        eventually(lambda: len(home.workers()) == 2)
        assert busy.pid not in {worker.pid for worker in home.workers()}
        pool.pids += [worker.pid for worker in home.workers()]
        pool.process.send_signal(signal.SIGTERM)
        assert ended(pool.process)[0] == 0


def test_workers_leave_when_their_supervisor_is_killed(home: Home) -> None:
    with up(home, "--handler", "sleep") as pool:
        job = home.submitted("amelia/scott", "600 x")
        home.until(job, JobState.RUNNING)
        pool.process.kill()
        eventually(pool.none_left)
    assert (home.job(job).state, home.job(job).attempt) == (JobState.QUEUED, 0)
    assert home.workers() == []


def test_a_second_ctrl_c_ends_everything_at_once_and_blocks_no_lane(home: Home) -> None:
    home.folder.joinpath("webordinary.toml").write_text("[limits]\ndrain_grace_seconds = 3600\n")
    with up(home, "--workers", "1", "--", "sh", "-c", 'trap "" TERM; sleep 600; sleep 600') as pool:
        job = home.submitted("amelia/scott", "x")
        home.until(job, JobState.RUNNING)
        pool.process.send_signal(signal.SIGINT)
        eventually(lambda: any(worker.draining for worker in home.workers()))
        pool.process.send_signal(signal.SIGINT)
        assert ended(pool.process)[0] == 0
        assert pool.none_left()
    assert home.workers() == []
    (lane,) = home.json("lanes")
    assert (lane["worker"], lane["depth"]) == (None, 1)


def signal_to(pid: int, number: signal.Signals) -> None:
    subprocess.run(["kill", f"-{number.value}", str(pid)], check=True)
