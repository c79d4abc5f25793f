"""`webordinary up`: a process tree that serves, heals itself and leaves nothing behind."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.integration.cli_support import Home, ended, home
from tests.processes import alive
from tests.waiting import wait_until
from webordinary.core.job import JobState

__all__ = ["home"]

FREE_PORTS = ("--smtp-port", "0", "--http-port", "0", "--site-port", "0")

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
    with home.started("up", "--json", *FREE_PORTS, *words) as process:
        assert process.stdout is not None
        pool = Pool(process, list(json.loads(process.stdout.readline())["pids"].values()))
        try:
            yield pool
        finally:
            process.kill()
            wait_until(pool.none_left)


def test_up_serves_and_leaves_no_process_behind(home: Home) -> None:
    with up(home) as pool:
        assert len(pool.pids) == 4  # mail, two workers, web
        assert {worker.pid for worker in home.workers()} < set(pool.pids)
        words = "change the main heading to Spring"
        assert home.json("submit", "amelia/scott", words, "--wait", "60")["result"]["state"] == "done"
        pool.process.send_signal(signal.SIGINT)
        code, _, log = ended(pool.process)
        assert code == 0, log
        assert pool.none_left()
    assert home.workers() == []


def test_up_says_what_runs_and_what_to_type(home: Home) -> None:
    with home.started("up", *FREE_PORTS, "--workers", "1", "--slots", "2") as process:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line
            said += line
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    assert "1 with 2 slots each, agent demo" in said
    assert "send --from scott@example.com" in said
    assert f"--home {home.folder}" in said
    link = urlsplit(next(line.strip() for line in said.splitlines() if line.strip().startswith("mailto:")))
    assert link.path == "edit@localhost"
    assert parse_qs(link.query) == {
        "subject": ["My site"],
        "body": ["Change the homepage title to Spring Sale"],
    }
    assert "+" not in link.query  # mail programs show it as it is


def test_up_tells_its_ports_and_status_does_too(home: Home) -> None:
    with home.started("up", "--json", *FREE_PORTS, "--workers", "1") as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        shown = home.json("status")
        ports = ("smtp_port", "http_port", "site_port")
        assert [told[name] for name in ports] == [shown[name] for name in ports]
        assert len({told[name] for name in ports}) == 3
        second = home.run("up", *FREE_PORTS)
        assert (second.returncode, "is up already" in second.stderr) == (4, True)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    assert "smtp_port" not in home.json("status")


def test_a_port_that_is_taken_is_told_in_one_sentence(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = home.run("up", "--smtp-port", port, "--http-port", "0", "--site-port", "0")
    assert said.returncode == 2
    (line,) = said.stderr.splitlines()
    assert f"port {port} can't be used for mail" in line
    assert "--smtp-port 0" in line


def test_the_first_start_shows_two_sample_sites(home: Home) -> None:
    with home.started("up", "--json", *FREE_PORTS, "--workers", "1") as process:
        assert process.stdout is not None
        sites = f"http://127.0.0.1:{json.loads(process.stdout.readline())['site_port']}"
        for path in ("amelia/", "bakery/", "live/amelia/", "live/bakery/"):
            wait_until(partial(_answers, f"{sites}/{path}"))
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    shown = home.json("members")
    assert [(one["name"], member["address"]) for one in shown for member in one["members"]] == [
        ("amelia", "scott@example.com"),
        ("bakery", "john@example.com"),
    ]


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
        wait_until(lambda: len(home.workers()) == 2)
        assert busy.pid not in {worker.pid for worker in home.workers()}
        pool.pids += [worker.pid for worker in home.workers()]
        pool.process.send_signal(signal.SIGTERM)
        assert ended(pool.process)[0] == 0


def test_workers_leave_when_their_supervisor_is_killed(home: Home) -> None:
    with up(home, "--handler", "sleep") as pool:
        job = home.submitted("amelia/scott", "600 x")
        home.until(job, JobState.RUNNING)
        pool.process.kill()
        wait_until(pool.none_left)
    assert (home.job(job).state, home.job(job).attempt) == (JobState.QUEUED, 0)
    assert home.workers() == []


def test_a_second_ctrl_c_ends_everything_at_once_and_blocks_no_lane(home: Home) -> None:
    home.folder.joinpath("webordinary.toml").write_text("[limits]\ndrain_grace_seconds = 3600\n")
    with up(home, "--workers", "1", "--", "sh", "-c", 'trap "" TERM; sleep 600; sleep 600') as pool:
        job = home.submitted("amelia/scott", "x")
        home.until(job, JobState.RUNNING)
        pool.process.send_signal(signal.SIGINT)
        wait_until(lambda: any(worker.draining for worker in home.workers()))
        pool.process.send_signal(signal.SIGINT)
        assert ended(pool.process)[0] == 0
        assert pool.none_left()
    assert home.workers() == []
    (lane,) = home.json("lanes")
    assert (lane["worker"], lane["depth"]) == (None, 1)


def _answers(address: str) -> bool:
    return httpx.get(address).status_code == httpx.codes.OK


def signal_to(pid: int, number: signal.Signals) -> None:
    subprocess.run(["kill", f"-{number.value}", str(pid)], check=True)
