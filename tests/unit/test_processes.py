"""Child processes: whatever they do, they are fed, heard, ended and reaped, and nothing of them is left."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.processes import processes_with
from tests.unit.test_handlers import (
    all_gone,
    marker,
    needs_proc,
    open_descriptors,
    zombies_of,
)
from tests.waiting import HANG_SECONDS, until
from webordinary.system.process_output import OutputHead, OutputTail, exit_words
from webordinary.system.processes import ChildProcess, Program, uncancelled

__all__ = ["marker"]  # a fixture

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "webordinary"
LONG = 600


def shell(script: str, *arguments: str, stdin: bytes | None = b"", leash: bool = False) -> Program:
    return Program(("sh", "-c", script, "sh", *arguments), stdin, leash=leash)


async def finished(program: Program) -> tuple[int, str]:
    output = OutputTail()
    child = await ChildProcess.start(program, output=output)
    async with asyncio.timeout(HANG_SECONDS):
        code = await child.wait()
        await child.end()
    return code, output.text


async def ready(marker: str, processes: int) -> None:
    await until(lambda: len(processes_with(marker)) >= processes)


async def test_a_program_is_fed_and_heard_to_its_end() -> None:
    assert await finished(shell("cat; echo done >&2; exit 3", stdin=b"hello ")) == (3, "hello done")


async def test_a_program_that_gets_nothing_reads_nothing() -> None:
    """Our own standard input is ours: a program that asked for more would wait for a person."""
    assert await finished(shell("cat; echo end")) == (0, "end")


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory can be sealed on Linux")
async def test_what_a_program_is_given_to_read_can_not_be_written_to() -> None:
    """A sandboxed program can open its standard input again: it must not get a file of ours to fill."""
    script = "echo x >> /proc/self/fd/0 || echo refused; cat /dev/stdin"
    code, text = await finished(shell(script, stdin=b"given"))
    assert (code, text.splitlines()[-2:]) == (0, ["refused", "given"])


async def test_a_pipe_to_a_program_closes_when_it_is_ended() -> None:
    """That is how our own long-running processes learn that we are gone."""
    output = OutputTail()
    child = await ChildProcess.start(shell("cat; echo left", stdin=None), output=output)
    child.pipe(0).write(b"one\n")
    child.pipe(0).close()
    assert await child.wait() == 0
    await child.end()
    assert output.text.split() == ["one", "left"]


async def test_only_the_beginning_of_a_flood_is_kept() -> None:
    head = OutputHead(1000)
    child = await ChildProcess.start(shell("yes"), output=head)
    async with asyncio.timeout(HANG_SECONDS):
        await child.wait_or_stop(head.cut.wait(), all_output=True)
        await child.end()
    assert bytes(head.data) == b"y\n" * 500
    assert child.code in {-signal.SIGTERM, -signal.SIGKILL}


@pytest.mark.parametrize(("written", "is_cut"), [(999, False), (1000, False), (1001, True)])
async def test_output_of_exactly_the_limit_is_whole(written: int, is_cut: bool) -> None:
    head = OutputHead(1000)
    child = await ChildProcess.start(shell(f"head -c {written} /dev/zero"), output=head)
    await child.wait_or_stop(head.cut.wait(), all_output=True)
    await child.end()
    assert (len(head.data), head.cut.is_set()) == (min(written, 1000), is_cut)


async def test_all_that_was_written_is_there_when_the_output_was_waited_for() -> None:
    """Also what somebody else in the group writes after the program itself has ended."""
    head, errors = OutputHead(10_000_000), OutputHead(100)
    script = "(sleep 0.2; head -c 3000000 /dev/zero; echo late >&2) & exit 0"
    child = await ChildProcess.start(shell(script), output=head, errors=errors)
    await child.wait_or_stop(head.cut.wait(), all_output=True)
    await child.end()
    assert (child.code, len(head.data), bytes(errors.data)) == (0, 3_000_000, b"late\n")


@needs_proc
async def test_ending_asks_first_and_waits_as_long_as_the_program_needs(marker: str) -> None:
    output = OutputTail()
    script = 'trap "echo saved; exit 0" TERM; echo ready; while :; do sleep 0.02; done'
    child = await ChildProcess.start(shell(script, marker), output=output)
    await ready(marker, 1)
    async with asyncio.timeout(HANG_SECONDS):
        while "ready" not in output.text:
            await asyncio.sleep(0.01)
        await child.end(grace_seconds=LONG)
    assert (child.code, output.text.splitlines()[-1]) == (0, "saved")


@needs_proc
@pytest.mark.parametrize("grace_seconds", [0.0, 0.1])
@pytest.mark.parametrize(
    "script",
    [
        'trap "" TERM; sh -c "trap : TERM; sleep 600; :" "$1" & sleep 600; :',
        '(sh -c "sleep 600; :" "$1" &); sleep 600; :',
        'sh -c "kill -STOP \\$\\$; sleep 600; :" "$1" & sleep 600; :',
        'sh -c "sleep 600; :" "$1" & kill -STOP $$; :',
        'sh -c "yes; :" "$1" & yes; :',
    ],
    ids=["deaf", "double-forked", "a stopped child", "stopped", "writes for ever"],
)
async def test_nothing_of_a_program_is_left_whatever_it_does(
    script: str, grace_seconds: float, marker: str
) -> None:
    child = await ChildProcess.start(shell(script, marker), output=OutputTail())
    await ready(marker, 2)
    async with asyncio.timeout(HANG_SECONDS):
        await child.end(grace_seconds)
    assert child.code is not None
    await all_gone(marker)


@needs_proc
async def test_what_a_leashed_program_leaves_behind_is_ended_with_it(marker: str) -> None:
    """A program may end and leave others in its group; the leash says that they are still the same group."""
    child = await ChildProcess.start(shell('sh -c "sleep 600; :" "$1" & exit 0', marker, leash=True))
    await child.wait()
    assert processes_with(marker)
    await child.end()
    await all_gone(marker)


@needs_proc
@pytest.mark.parametrize("leash", [False, True])
async def test_a_start_that_is_cancelled_leaves_no_process(marker: str, leash: bool) -> None:
    await finished(shell("true"))
    before = open_descriptors()
    for turns in range(12):
        program = shell("sleep 600; :", marker, stdin=b"x", leash=leash)
        start = asyncio.create_task(ChildProcess.start(program, output=OutputTail()))
        for _ in range(turns):
            await asyncio.sleep(0)
        start.cancel()
        outcome = (await asyncio.gather(start, return_exceptions=True))[0]
        if isinstance(outcome, ChildProcess):
            await outcome.end()
        else:
            assert isinstance(outcome, asyncio.CancelledError)
    await all_gone(marker)
    assert open_descriptors() <= before
    assert zombies_of(os.getpid()) == []


@needs_proc
async def test_an_end_that_is_cancelled_is_carried_through(marker: str) -> None:
    """A second Ctrl-C must not leave what the first one was ending."""
    child = await ChildProcess.start(shell('trap "" TERM; sleep 600; :', marker), output=OutputTail())
    await ready(marker, 1)
    end = asyncio.create_task(child.end(grace_seconds=0.2))
    for _ in range(3):
        await asyncio.sleep(0.02)
        end.cancel()
    with pytest.raises(asyncio.CancelledError):
        await end
    assert child.code is not None
    await all_gone(marker)


async def test_ending_twice_is_ending_once() -> None:
    child = await ChildProcess.start(shell("sleep 600"))
    await child.end()
    await child.end()
    assert child.code == -signal.SIGKILL


async def test_a_program_that_is_not_there_can_not_be_started() -> None:
    before = open_descriptors()
    with pytest.raises(FileNotFoundError):
        await ChildProcess.start(Program(("/no/such/program",)), output=OutputTail())
    assert open_descriptors() <= before


async def test_a_signal_to_a_program_that_is_gone_goes_nowhere() -> None:
    child = await ChildProcess.start(shell("exit 0"))
    await child.wait()
    child.send_signal(signal.SIGTERM)
    await child.end()


async def test_work_that_is_not_cancelled_gives_its_value_or_raises() -> None:
    async def fails() -> None:
        raise ValueError("broken")

    assert await uncancelled(asyncio.sleep(0, "value")) == "value"
    with pytest.raises(ValueError, match="broken"):
        await uncancelled(fails())


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "killed by SIGKILL"), (-40, "killed by signal 40")],
)
def test_an_exit_code_in_words(code: int, words: str) -> None:
    assert exit_words(code) == words


# --- one place for it -------------------------------------------------------------------------------------

STARTING = re.compile(
    r"\b(?:subprocess_exec|create_subprocess_\w+|killpg|os\.kill|Popen|import subprocess)\b"
)
ELSEWHERE = {
    # programs that end by themselves, waited for on the spot
    "entrypoints/cli/doctor.py": {"import subprocess"},
    "sandbox/probe.py": {"import subprocess"},
    "sites/git/sanitize_tree.py": {"import subprocess"},
    # who in the sandbox is signalled: the kernel's view of a tree, and two scripts that run by themselves
    "sandbox/process_tree.py": {"os.kill"},
    "sandbox/reaper.py": {"os.kill"},
    "sandbox/relay.py": {"os.kill"},
}


def test_processes_are_started_and_ended_in_one_place() -> None:
    """Five ways to end a process are five ways to leave one behind."""
    found = {
        str(path.relative_to(PACKAGE)): words
        for path in PACKAGE.rglob("*.py")
        if (words := set(STARTING.findall(path.read_text())))
    }
    assert found.pop("system/processes.py") == {"subprocess_exec", "killpg"}
    assert found == ELSEWHERE
