"""`webordinary up` when something is wrong: one sentence, the right exit code, and nothing left behind."""

import asyncio
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.cli_support import Home, ended, home
from tests.needs import needs
from tests.waiting import HANG_SECONDS, until, wait_until
from webordinary.core.errors import StoreBusy
from webordinary.core.job import JobState
from webordinary.entrypoints.cli import main, up
from webordinary.entrypoints.cli.context import open_context
from webordinary.operations.running import (
    FILE_NAME,
    LOCK_FILE,
    Running,
    WantedPort,
    chosen_ports,
    only_one,
    running,
)
from webordinary.system import supervisor as module
from webordinary.system.clock import SystemClock
from webordinary.system.supervisor import Supervisor
from webordinary.wiring.settings import load

__all__ = ["home"]

FREE_PORTS = ("--smtp-port", "0", "--http-port", "0", "--site-port", "0")
ECHO = ("--workers", "1", "--handler", "echo")
LONG_BEATS = "[limits]\nlease_seconds = 3600\nbeat_seconds = 1000\ndrain_grace_seconds = 3600\n"


# --- who runs -------------------------------------------------------------------------------------


def test_what_a_killed_one_left_behind_blocks_nobody(home: Home) -> None:
    """After a power cut its process id is somebody else's, or in a container our own."""
    stale = Running(os.getpid(), 2525, 8025, 8080)
    stale.write(home.folder)
    (home.folder / LOCK_FILE).touch()
    assert running(home.folder) is None
    with home.started("up", "--json", *FREE_PORTS, *ECHO) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert home.json("status")["smtp_port"] == told["smtp_port"] != stale.smtp_port
        process.kill()
        process.wait()
        assert (home.folder / FILE_NAME).exists()
        assert "smtp_port" not in home.json("status")


def test_of_two_that_start_together_one_runs(home: Home) -> None:
    with ExitStack() as both:
        processes = [both.enter_context(home.started("up", *FREE_PORTS, *ECHO)) for _ in range(2)]
        wait_until(lambda: any(process.poll() is not None for process in processes))
        refused, runs = sorted(processes, key=lambda process: process.poll() is None)
        code, _, said = ended(refused)
        assert (code, str(home.folder) in said) == (4, True), said
        wait_until(lambda: running(home.folder) is not None)
        assert runs.poll() is None
        assert running(home.folder) == Running(**json.loads((home.folder / FILE_NAME).read_text()))
        runs.send_signal(signal.SIGTERM)
        assert ended(runs)[0] == 0


def test_looking_keeps_nobody_from_starting(home: Home) -> None:
    with only_one(home.folder):
        pass
    for _ in range(200):
        assert running(home.folder) is None
        with only_one(home.folder):
            assert running(home.folder) is None  # it has not said yet where it listens


# --- ports ----------------------------------------------------------------------------------------


def test_one_port_for_two_things_is_refused_at_once(home: Home) -> None:
    said = home.complained("up", "--smtp-port", "5555", "--http-port", "5555", "--site-port", "0", code=2)
    assert len(said.splitlines()) == 1
    assert "port 5555 can't be both for mail (--smtp-port) and for the dashboard (--http-port)" in said


def test_free_ports_differ_from_each_other_and_from_named_ones() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        named = found.getsockname()[1]
    wishes = [WantedPort(0, f"thing {number}", "--port") for number in range(20)]
    ports = chosen_ports([*wishes, WantedPort(named, "the named one", "--port")])
    assert ports[-1] == named
    assert len(set(ports)) == len(ports)


def test_a_process_that_can_never_run_ends_everything_with_its_sentence(home: Home) -> None:
    home.folder.joinpath("webordinary.toml").write_text('[mail]\nzone_file = "/nowhere/zone"\n')
    ran = home.run("up", *FREE_PORTS, *ECHO)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "webordinary: /nowhere/zone can't be read: No such file or directory" in ran.stderr
    assert ran.stderr.count("/nowhere/zone") == 1  # it was not started again
    assert "webordinary: mail can't run, and said why above." in ran.stderr.splitlines()[-1]
    assert home.workers() == []


async def test_a_process_that_ran_for_long_is_started_again_however_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEADY_SECONDS", 0.0)
    starts = tmp_path / "starts"
    command = ["/bin/sh", "-c", f"echo started >> {starts}; exit 2"]

    async def bury(_pid: int) -> None:
        if starts.read_text().count("started") > 1:
            supervisor.drain()

    supervisor = Supervisor({"web": command}, SystemClock(), print, bury, refusal=2)
    async with asyncio.timeout(HANG_SECONDS):
        await supervisor.run()
    assert supervisor.refused is None


async def test_nothing_is_called_up_before_it_answers(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(up, "SHOWN_WITHIN_SECONDS", 0.0)
    up.log.addHandler(caplog.handler)
    with (
        caplog.at_level(logging.WARNING, up.log.name),
        open_context(load(home.folder, {}), create=True) as context,
    ):
        smtp, http, sites = chosen_ports([WantedPort(0, "x", "--x")] * 3)
        ports = Running(os.getpid(), smtp, http, sites)
        plan = up.StartPlan(ports, {"mail": (), "worker 1": (), "web": ()}, "nobody")

        async def bury(_: int) -> None:
            """Nobody dies."""

        supervisor = Supervisor({}, SystemClock(), print, bury)
        greeting = asyncio.create_task(up.greet(Namespace(json=True), context, supervisor, plan, "token"))
        await until(lambda: caplog.messages)
        assert not greeting.done()
        greeting.cancel()
    up.log.removeHandler(caplog.handler)
    assert capsys.readouterr().out == ""
    silent = f"worker 1, mail at port {ports.smtp_port}, the dashboard at {ports.dashboard}, the sites at"
    assert silent in caplog.messages[0]


# --- the store and the disk -----------------------------------------------------------------------

A_STORE_THAT_IS_LOST = """
import sys
from webordinary.entrypoints.cli import main, up
look = up.silent
async def lost(context, *rest):
    context.backend.close()
    return await look(context, *rest)
up.silent = lost
sys.exit(main.main(sys.argv[1:]))
"""


def test_a_store_that_is_lost_at_the_start_is_told_in_its_own_words(home: Home) -> None:
    words = home.words("up", *FREE_PORTS, *ECHO)
    ran = subprocess.run(
        [sys.executable, "-c", A_STORE_THAT_IS_LOST, *words],
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert ran.returncode == 3, ran.stderr
    assert "ExceptionGroup" not in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith(f"webordinary: {home.folder}/webordinary.db")
    assert home.workers() == []


def test_loops_that_end_together_have_one_sentence() -> None:
    busy = StoreBusy("the store is busy")
    assert main.first_of_ours(ExceptionGroup("x", [ExceptionGroup("y", [busy]), StoreBusy("z")])) is busy
    assert main.first_of_ours(ExceptionGroup("x", [busy, ValueError()])) is None


@pytest.fixture
def own_mounts() -> None:
    needs("unshare", "no small disk can be made")
    tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], check=False)
    if tried.returncode:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no disk can be mounted here")


def in_own_mounts(home: Home, mount: str) -> subprocess.CompletedProcess[str]:
    """Run `up` where something is mounted that nobody else sees, and that goes with it."""
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh", *home.command("up", *FREE_PORTS)],
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.usefixtures("own_mounts")
@pytest.mark.parametrize("kilobytes", [40, 200, 300, 500, 1000])
def test_a_full_disk_on_the_first_start_is_one_sentence(home: Home, kilobytes: int) -> None:
    """It is full while the store is made, git's own files, the pages, their objects, the second site."""
    ran = in_own_mounts(home, f"mount -t tmpfs -o size={kilobytes}k none {home.folder}")
    assert (ran.returncode, ran.stdout) == (3, ""), ran.stderr
    (line,) = ran.stderr.splitlines()
    assert line.startswith("webordinary: there is no room left")
    assert "kept" in line
    assert "ree some space" in line


# --- what is missing ------------------------------------------------------------------------------


def test_without_git_it_is_one_sentence(home: Home, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    said = home.complained("up", *FREE_PORTS, code=2, PATH=str(tmp_path / "empty"))
    assert said == (
        "webordinary: sites are edited with git, and there is none here: install it (apt install git)"
    )


@pytest.mark.usefixtures("own_mounts")
def test_without_the_sandbox_that_its_agent_needs_it_is_one_sentence(home: Home) -> None:
    needs("bwrap", "it is taken away here")
    home.folder.joinpath("webordinary.toml").write_text('[work]\nagent = "command"\ncommand = ["true"]\n')
    ran = in_own_mounts(home, f"mount --bind /dev/null {shutil.which('bwrap')}")
    assert (ran.returncode, ran.stdout) == (4, ""), ran.stderr
    (line,) = ran.stderr.splitlines()
    assert "the program 'bwrap' is not there" in line
    assert "apt install bubblewrap" in line


def test_without_the_key_of_its_agent_it_is_one_sentence(home: Home) -> None:
    home.folder.joinpath("webordinary.toml").write_text(
        '[work]\nagent = "claude"\nsandbox = "off-i-trust-every-sender"\n'
    )
    said = home.complained("up", *FREE_PORTS, code=2, ANTHROPIC_API_KEY="")
    assert len(said.splitlines()) == 1
    assert "the claude agent can't run" in said


def test_without_a_package_it_is_one_sentence(home: Home, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from importlib.machinery import PathFinder\n"
        "find = PathFinder.find_spec\n"
        "def found(name, *rest): return None if name.startswith('starlette') else find(name, *rest)\n"
        "PathFinder.find_spec = staticmethod(found)\n"
    )
    said = home.complained("up", *FREE_PORTS, code=2, PYTHONPATH=str(tmp_path))
    assert len(said.splitlines()) == 1
    assert "not installed here (starlette)" in said
    assert "pip install 'webordinary[web]'" in said


# --- leaving --------------------------------------------------------------------------------------


def test_leaving_is_seen_at_once_and_a_job_that_was_cut_off_does_not_run(home: Home) -> None:
    """Beats are far apart here: what is seen was told, and did not come with the next beat."""
    home.folder.joinpath("webordinary.toml").write_text(LONG_BEATS)
    with home.started("up", "--json", *FREE_PORTS, "--workers", "1", "--handler", "sleep") as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        job = home.submitted("amelia/scott", "3000 x")
        home.until(job, JobState.RUNNING)
        process.send_signal(signal.SIGINT)
        wait_until(lambda: all(worker.draining for worker in home.workers()))
        shown = home.said("status")
        assert "leaving" in shown
        assert "draining" in shown
        assert "dashboard" not in shown
        assert home.json("status")["leaving"] is True
        assert "is just coming down" in home.complained("up", *FREE_PORTS, *ECHO, code=4)
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 0
    shown = home.said("status")
    assert "1 cut off" in shown
    assert "1 running" not in shown
    assert "no worker is running" in home.said("why", "amelia/scott")
