"""The kernel's own limit on a run's processes: it binds root, too, and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import HANG_SECONDS
from webordinary.sandbox.run import MARGIN, ROOTS, ProcessLimit

FORKS = """
import os, signal, sys
children = []
try:
    for _ in range(1000):
        child = os.fork()
        if not child:
            signal.pause()
        children.append(child)
except BlockingIOError:
    pass
print(len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def groups() -> set[Path]:
    return {group for root in ROOTS for group in root.glob(f"webordinary-{os.getpid()}-*")}


def forked(command: list[str]) -> int:
    return int(
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS).stdout
    )


def test_the_kernel_refuses_what_is_over_the_limit() -> None:
    with ProcessLimit(30) as limit:
        if not groups():
            pytest.skip("no cgroup can be made here: the resource limit binds instead")
        command = limit.holding([sys.executable, "-c", FORKS])
        assert 30 <= forked(command) < 30 + MARGIN
    assert groups() == set()
