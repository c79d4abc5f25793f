"""Greedy agents: each takes all it can of something, and is ended before the machine feels it."""

import resource
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from tests.processes import processes_with
from tests.sandbox.rooms import SMALL, Told, run_script, script
from webordinary.core.work import Broke, Room
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.run import run_confined
from webordinary.sandbox.sandbox import (
    MEBIBYTE,
    Budget,
    Ending,
    Exited,
    OverBudget,
    RunLimits,
    RunResult,
    Sandbox,
    TimedOut,
)
from webordinary.sandbox.unconfined import Unconfined
from webordinary.system.process_output import TAIL_BYTES

BOTH = pytest.mark.parametrize("sandbox", [Bubblewrap(), Unconfined()], ids=["bubblewrap", "unconfined"])
PYTHON = "/usr/bin/python3"
REFUSED = ("Cannot fork", "Resource temporarily unavailable", "can't start new thread")  # as programs tell it


async def ran(
    room: Room, text: str, run_limits: RunLimits = SMALL, interpreter: str = "/bin/sh"
) -> RunResult:
    program = script(room.tree.parent, textwrap.dedent(text), interpreter)
    wrapped = Bubblewrap().wrap([str(program)], room, environment={}, run_limits=run_limits)
    return await run_confined(wrapped, run_limits)


async def ending(
    room: Room, text: str, run_limits: RunLimits = SMALL, interpreter: str = "/bin/sh"
) -> Ending:
    return (await ran(room, text, run_limits, interpreter)).ending


def is_held(run: RunResult) -> bool:
    """The watchdog ended it, or it ended by itself after the kernel had refused it a process."""
    refused = any(words in run.tail for words in REFUSED)
    return run.ending == OverBudget(Budget.PROCESSES) or (isinstance(run.ending, Exited) and refused)


def explained(told: Told) -> str:
    assert isinstance(told.result, Broke)
    assert not told.result.again
    return told.result.reason


async def test_a_fork_bomb_is_ended_and_nothing_of_it_is_left(room: Room) -> None:
    assert is_held(await ran(room, "bomb() { bomb | bomb & }; bomb; sleep 20"))
    assert processes_with(str(room.tree.parent / "agent-script")) == []


async def test_a_fork_bomb_of_daemons_is_ended(room: Room) -> None:
    """Each leaves its parent's session and group, and its parent dies: only the namespace holds them."""
    bomb = """
        import os
        while True:
            if os.fork() == 0:
                os.setsid()
                if os.fork():
                    os._exit(0)
    """
    assert is_held(await ran(room, bomb, interpreter=PYTHON))
    assert processes_with(str(room.tree.parent / "agent-script")) == []


async def test_threads_count_as_processes(room: Room) -> None:
    threads = """
        import threading, time
        for _ in range(500):
            threading.Thread(target=time.sleep, args=(2,)).start()
    """
    assert is_held(await ran(room, threads, interpreter=PYTHON))


@BOTH
async def test_ten_gigabytes_of_output_are_cut_at_the_budget(room: Room, sandbox: Sandbox) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = await run_script(room, "head -c 10G /dev/zero | tr '\\0' 'x'", sandbox=sandbox)
    assert "wrote more text than it may" in explained(told)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 64 * 1024


async def test_the_end_of_much_output_is_kept(room: Room) -> None:
    end = await ran(room, "seq 1 100000; echo the end")
    assert end.ending == Exited(0)
    assert end.tail.splitlines()[-2:] == ["100000", "the end"]
    assert len(end.tail) <= TAIL_BYTES
    assert end.output_bytes > 500_000


@BOTH
async def test_a_file_of_ten_gigabytes_stays_small(room: Room, sandbox: Sandbox) -> None:
    told = await run_script(room, "exec head -c 10G /dev/zero > huge", sandbox=sandbox)
    assert "larger file than a site may hold" in explained(told)
    assert (room.tree / "huge").stat().st_size <= SMALL.file_bytes


@BOTH
async def test_many_files_end_the_run_before_the_disk_is_full(room: Room, sandbox: Sandbox) -> None:
    told = await run_script(
        room, "i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > file$i; sleep 0.01; done", sandbox=sandbox
    )
    assert "more files than the site may grow by" in explained(told)


async def test_empty_files_use_the_disk_up_too(room: Room) -> None:
    files = """
        import itertools, os
        for number in itertools.count():
            os.close(os.open(f"empty{number}", os.O_CREAT))
    """
    assert await ending(room, files, interpreter=PYTHON) == OverBudget(Budget.DISK)


async def test_files_without_a_name_count(room: Room) -> None:
    """Deleted but open, or made in memory: no look into a folder finds them."""
    hidden = """
        import os, tempfile, time
        kept = []
        while True:
            kept.append(os.memfd_create("hidden"))
            os.write(kept[-1], bytes(1 << 20))
            kept.append(tempfile.TemporaryFile(dir="/site"))
            kept[-1].write(bytes(1 << 20))
            time.sleep(0.01)
    """
    assert await ending(room, hidden, interpreter=PYTHON) == OverBudget(Budget.DISK)


async def test_a_tree_that_cannot_be_measured_ends_the_run(room: Room) -> None:
    """Folders in folders until no path reaches them: what is in there would be counted by nobody."""
    deep = """
        import os, time
        for _ in range(3000):
            os.mkdir("deep")
            os.chdir("deep")
        time.sleep(600)
    """
    assert await ending(room, deep, interpreter=PYTHON) == OverBudget(Budget.DISK)
    subprocess.run(["rm", "-rf", room.tree / "deep"], check=True)  # Python gives up on such a tree


async def test_temporary_files_are_bounded(room: Room) -> None:
    """They are memory, and the memory of nobody."""
    fill = "for i in 1 2 3 4 5; do head -c 7M /dev/zero > $0/f$i; done 2>/dev/null; du -sm $0 | cut -f1"
    for folder in ("/tmp", "/dev/shm"):
        end = await ran(room, fill.replace("$0", folder))
        assert int(end.tail) <= 17


async def test_a_memory_hog_is_ended(room: Room) -> None:
    hog = """
        import time
        kept = []
        while True:
            kept.append(b"x" * (16 << 20))
            time.sleep(0.005)
    """
    assert await ending(room, hog, interpreter=PYTHON) == OverBudget(Budget.MEMORY)


async def test_a_memory_hog_of_many_processes_is_ended(room: Room) -> None:
    hog = """
        import os, time
        for _ in range(16):
            if os.fork() == 0:
                kept = b"x" * (32 << 20)
                time.sleep(600)
        time.sleep(600)
    """
    assert await ending(room, hog, interpreter=PYTHON) == OverBudget(Budget.MEMORY)


async def test_memory_that_processes_share_is_counted_once(room: Room) -> None:
    shared = """
        import os, time
        kept = b"x" * (100 << 20)
        os.fork() and os.fork()
        time.sleep(0.5)
    """
    assert await ending(room, shared, interpreter=PYTHON) == Exited(0)


@BOTH
async def test_a_run_that_takes_too_long_is_ended(room: Room, sandbox: Sandbox) -> None:
    told = await run_script(
        room,
        "trap '' TERM; while :; do sleep 1; done",
        sandbox=sandbox,
        run_limits=replace(SMALL, seconds=0.3),
    )
    assert "took longer than it may" in explained(told)


async def test_the_default_allowance_lets_ordinary_work_through(room: Room) -> None:
    end = await ran(room, "head -c 20M /dev/zero > big; seq 1 1000; exit 3", RunLimits())
    assert end.ending == Exited(3)
    assert (room.tree / "big").stat().st_size == 20 * MEBIBYTE


async def test_time_that_is_up_is_told_as_such(room: Room) -> None:
    assert await ending(room, "sleep 20", replace(SMALL, seconds=0.2)) == TimedOut()


async def test_a_program_that_never_reads_its_input_keeps_nobody_waiting(room: Room) -> None:
    program = script(room.tree.parent, "exit 0")
    wrapped = Bubblewrap().wrap([str(program)], room, environment={}, run_limits=SMALL)
    end = await run_confined(wrapped, SMALL, stdin=bytes(10 * MEBIBYTE))
    assert end.ending == Exited(0)


async def test_a_line_without_end_is_told_in_pieces(room: Room, tmp_path: Path) -> None:
    lines: list[str] = []
    wrapped = Bubblewrap().wrap(
        ["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; printf '\\033[31mred'"],
        room,
        environment={},
        run_limits=SMALL,
    )
    end = await run_confined(wrapped, SMALL, on_line=lines.append)
    assert end.ending == Exited(0)
    assert len(lines) > 10
    assert "".join(lines) == "x" * 100_000 + "[31mred"
