"""Handlers against hostile programs: whatever a program does, its lane goes on and nothing is left behind."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import processes_with
from tests.waiting import HANG_SECONDS, until
from webordinary.agents.handlers import Command, Echo, Sleep, seconds_of
from webordinary.core.claim import Claim, Delivery, WorkerId
from webordinary.core.job import Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.ports.handler import Handler, Stop
from webordinary.system.process_output import TAIL_BYTES, OutputTail, last_words

PROC = Path("/proc")
GRACE_SECONDS = 0.3

needs_proc = pytest.mark.skipif(not PROC.exists(), reason="looks for processes in /proc")


def delivery(instruction: str = "change the title", attempt: int = 1) -> Delivery:
    lane = Lane("amelia", "scott")
    return Delivery(Claim(lane, WorkerId("w1"), 1), Job(JobId("j1"), lane, instruction, "m1"), attempt)


def shell(script: str, *arguments: str) -> Command:
    return Command(["sh", "-c", script, "sh", *arguments], GRACE_SECONDS)


async def outcome_of(handler: Handler, instruction: str = "change the title") -> Outcome:
    async with asyncio.timeout(HANG_SECONDS):
        return await handler.run(delivery(instruction), Stop())


async def outcome_when_stopped(handler: Handler, ready: Callable[[], bool]) -> Outcome:
    """Run a job, ask it to stop once it is ready, and see what it ends as."""
    stop = Stop()
    async with asyncio.timeout(HANG_SECONDS):
        job = asyncio.create_task(handler.run(delivery(), stop))
        await until(ready)
        stop.ask()
        return await job


async def all_gone(marker: str) -> None:
    """Killing is asynchronous: give the kernel a moment."""
    await until(lambda: not processes_with(marker))


@pytest.fixture
def marker(request: pytest.FixtureRequest) -> str:
    """A word to find a test's own processes by."""
    return f"marker-{os.getpid()}-{abs(hash(request.node.nodeid))}"


# --- what an exit code means ----------------------------------------------------------------------


async def test_a_program_reads_the_instruction_and_its_last_lines_are_the_answer() -> None:
    assert await outcome_of(shell("cat; echo done >&2"), "make it blue\n") == Done("make it blue\ndone")


async def test_standard_input_can_be_opened_by_name() -> None:
    """Many scripts read /dev/stdin; a socket there would refuse."""
    assert await outcome_of(shell("cat /dev/stdin"), "make it blue") == Done("make it blue")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 75", Retry("sh asked to be tried again and wrote nothing")),
        ("echo no such page; exit 3", Failed("sh ended with exit code 3: no such page")),
        ("kill -SEGV $$", Retry("sh was killed by SIGSEGV and wrote nothing")),
        ("echo half way; kill -KILL $$", Retry("sh was killed by SIGKILL: half way")),
        ("no-such-program-anywhere 2>/dev/null", Failed("sh ended with exit code 127 and wrote nothing")),
        ("true", Done("")),
    ],
)
async def test_an_exit_code_decides_and_the_reason_is_in_plain_words(script: str, expected: Outcome) -> None:
    assert await outcome_of(shell(script)) == expected


async def test_a_missing_program_fails_with_a_clear_sentence() -> None:
    assert await outcome_of(Command(["no-such-program"], 1.0)) == Failed(
        "the program 'no-such-program' is not there, or may not be run"
    )


async def test_what_a_terminal_would_obey_is_taken_out_of_the_answer() -> None:
    outcome = await outcome_of(shell(r"printf '\033[31mred\033[0m\a\000 \377 caf\303\251'"))
    assert outcome == Done("[31mred[0m � café")


def test_last_words_are_whole_lines_and_bounded() -> None:
    assert last_words("\n".join(str(number) for number in range(100))).splitlines()[-1] == "99"
    assert len(last_words("x" * 100_000)) == 2000
    assert len(last_words("\n".join("y" * 900 for _ in range(9)))) < 2000


# --- what a program is given ----------------------------------------------------------------------


async def test_no_secret_of_the_worker_reaches_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very secret")
    monkeypatch.setenv("WEBORDINARY_HOME", "/somewhere")
    outcome = await outcome_of(shell("env"))
    assert isinstance(outcome, Done)
    names = {line.split("=")[0] for line in outcome.summary.splitlines()}
    assert {"WEBORDINARY_JOB", "WEBORDINARY_LANE", "WEBORDINARY_ATTEMPT", "PATH"} <= names
    assert not names & {"AWS_SECRET_ACCESS_KEY", "WEBORDINARY_HOME"}


async def test_a_program_knows_its_job() -> None:
    script = 'echo "$WEBORDINARY_JOB $WEBORDINARY_LANE $WEBORDINARY_ATTEMPT"'
    assert await shell(script).run(delivery(attempt=3), Stop()) == Done("j1 amelia/scott 3")


# --- hostile programs -----------------------------------------------------------------------------


async def test_a_flood_of_output_is_bounded_and_its_end_is_kept() -> None:
    outcome = await outcome_of(shell("yes flood | head -c 50000000; echo; echo the end"))
    assert isinstance(outcome, Done)
    assert outcome.summary.endswith("the end")
    assert len(outcome.summary) <= 2000 < TAIL_BYTES


async def test_an_instruction_that_is_never_read_keeps_nobody_waiting() -> None:
    assert await outcome_of(shell("exec 0<&-; echo ignored"), "x" * 200_000) == Done("ignored")


@needs_proc
async def test_a_child_that_keeps_the_pipe_open_is_killed_with_its_parent(marker: str) -> None:
    """Output ends when nobody holds the pipe; waiting for that would hang the lane."""
    outcome = await outcome_of(shell('(sh -c "sleep 600" "$1" &) ; echo started', marker))
    assert outcome == Done("started")
    await all_gone(marker)


@needs_proc
async def test_a_process_that_escaped_with_the_pipe_does_not_hang_the_lane(
    marker: str, tmp_path: Path
) -> None:
    """Only a sandbox could catch it; the lane goes on all the same."""
    escaped = tmp_path / "escaped"
    code = "import os, sys, time; os.setsid(); open(sys.argv[2], 'w').close(); time.sleep(600)"
    script = 'python="$1"; "$python" -c "$2" "$3" "$4" & until [ -e "$4" ]; do sleep 0.02; done; echo started'
    try:
        outcome = await outcome_of(shell(script, sys.executable, code, marker, str(escaped)))
        assert outcome == Done("started")
        assert processes_with(marker)
    finally:
        for pid in processes_with(marker):
            os.kill(pid, signal.SIGKILL)


@needs_proc
async def test_a_program_that_ignores_sigterm_is_killed_with_its_children(
    marker: str, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    script = (
        'trap "" TERM; sh -c \'trap "" TERM; sleep 600\' "$1" & echo kept; touch "$2"; sleep 600; sleep 600'
    )
    handler = shell(script, marker, str(ready))
    assert await outcome_when_stopped(handler, ready.exists) == Preempted(kept="kept")
    await all_gone(marker)


async def test_a_program_that_heeds_sigterm_says_what_it_kept(tmp_path: Path) -> None:
    """Even with exit code 0: a job that was stopped is not done."""
    ready = tmp_path / "ready"
    script = 'trap "echo saved my work; exit 0" TERM; touch "$1"; while :; do sleep 0.05; done'
    outcome = await outcome_when_stopped(shell(script, str(ready)), ready.exists)
    assert isinstance(outcome, Preempted)
    assert outcome.kept.endswith("saved my work")


@needs_proc
async def test_a_cancelled_job_leaves_no_process(marker: str) -> None:
    """A claim that is lost kills what runs for it, at once."""
    script = 'trap "" TERM; sh -c "sleep 600" "$1" & sleep 600; :'
    job = asyncio.create_task(shell(script, marker).run(delivery(), Stop()))
    async with asyncio.timeout(HANG_SECONDS):
        await until(lambda: len(processes_with(marker)) >= 2)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
    await all_gone(marker)


@needs_proc
async def test_a_job_cancelled_while_it_starts_leaves_no_process(marker: str) -> None:
    for turns in range(12):
        job = asyncio.create_task(shell("sleep 600; :", marker).run(delivery(), Stop()))
        for _ in range(turns):
            await asyncio.sleep(0)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
    await all_gone(marker)


KILLED_WORKER = """
import asyncio, sys
from tests.unit.test_handlers import delivery, shell
from webordinary.ports.handler import Stop

script = 'trap "" TERM; sh -c "trap : TERM; sleep 600; sleep 600" "$1" & sleep 600; sleep 600'
command = shell(script, sys.argv[1][::-1])
command._grace = 600
stop = Stop()

async def work():
    asyncio.get_running_loop().add_reader(0, stop.ask)
    await command.run(delivery(), stop)

asyncio.run(work())
"""


@needs_proc
@pytest.mark.parametrize("stopping", [False, True], ids=["running", "being stopped"])
async def test_programs_die_with_a_worker_that_is_killed(marker: str, stopping: bool) -> None:
    """kill -9 runs no `finally`: what the worker started must notice by itself, grandchildren included."""
    root = Path(__file__).resolve().parents[2]
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED_WORKER, marker[::-1]], cwd=root, stdin=subprocess.PIPE
    )
    assert worker.stdin is not None
    try:
        await until(lambda: len(processes_with(marker)) >= 3)
        if stopping:
            worker.stdin.close()
            await asyncio.sleep(0.2)
    finally:
        worker.kill()
        worker.wait()
        worker.stdin.close()
    await all_gone(marker)


def test_what_a_program_writes_takes_no_more_memory_than_its_end() -> None:
    output = OutputTail()
    for _ in range(100):
        output.feed_data(b"x" * TAIL_BYTES)
    assert len(output._tail) <= 3 * TAIL_BYTES


@needs_proc
async def test_many_jobs_leak_neither_descriptors_nor_zombies() -> None:
    await outcome_of(shell("true"))
    before = open_descriptors()
    await asyncio.gather(*(outcome_of(shell("(sleep 600 &); echo x")) for _ in range(20)))
    assert open_descriptors() <= before
    assert zombies_of(os.getpid()) == []


def open_descriptors() -> int:
    return len(list((PROC / "self" / "fd").iterdir()))


def zombies_of(parent: int) -> list[str]:
    found = []
    for stat in PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, ppid, *_ = stat.read_text().rpartition(")")[2].split()
            if state == "Z" and int(ppid) == parent:
                found.append(stat.parent.name)
    return found


# --- built-in handlers ----------------------------------------------------------------------------


async def test_echo_answers_with_the_instruction() -> None:
    assert await outcome_of(Echo(), "say this") == Done("say this")


async def test_sleep_takes_as_long_as_it_is_told_and_stops_when_asked() -> None:
    assert await outcome_of(Sleep(), "0.01 seconds") == Done("slept 0.01 s")
    outcome = await outcome_when_stopped(Sleep(), lambda: True)
    assert isinstance(outcome, Preempted)
    assert outcome.kept.endswith("of 1 s")


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [("2 change", 2.0), (" 0.5s", 0.5), ("change 2", 1.0), ("-3", 1.0), ("inf", 1.0), ("٣", 1.0)],
)
def test_sleep_reads_the_number_an_instruction_begins_with(instruction: str, expected: float) -> None:
    assert seconds_of(instruction) == expected
