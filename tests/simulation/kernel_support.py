"""What the tests of the kernel share."""

import os
import subprocess
import sys
from pathlib import Path

from webordinary.simulation import kernel as kernel_module
from webordinary.simulation.kernel import Process

SEEDS = 300
SOURCE = Path(kernel_module.__file__).parents[2]


async def all_gone(*processes: Process) -> None:
    for process in processes:
        await process.gone.wait()


def run_python(code: str, *arguments: str, hash_seed: int = 0, warnings: str = "error") -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-W", warnings, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout
