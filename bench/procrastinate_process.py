"""procrastinate in processes of its own: its tables, its submitter, its worker.

python -m bench.procrastinate_process schema ADDRESS | submit ADDRESS TASKS | work ADDRESS SLOTS NOTES
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

from bench.processes import hold
from bench.procrastinate_peer import SUBMITS_AT_ONCE, open_app


async def schema(address: str) -> None:
    """Create its tables."""
    async with open_app(address, []).open_async() as app:
        await app.schema_manager.apply_schema_async()


async def submit(address: str, tasks: int) -> None:
    """Defer tasks, each with a lock of its own."""
    async with open_app(address, []).open_async() as app:
        for start in range(0, tasks, SUBMITS_AT_ONCE):
            numbers = range(start, min(start + SUBMITS_AT_ONCE, tasks))
            await asyncio.gather(
                *(app.configure_task("note", lock=f"lane{each}").defer_async(number=each) for each in numbers)
            )


async def work(address: str, slots: int) -> list[tuple[int, int]]:
    """Work until told to stop; say what was started when."""
    started: list[tuple[int, int]] = []
    async with open_app(address, started).open_async() as app:
        hold()
        await app.run_worker_async(concurrency=slots)
    return started


def main() -> None:
    """Do what was asked for."""
    logging.disable(logging.ERROR)
    match sys.argv[1:]:
        case ["schema", address]:
            asyncio.run(schema(address))
        case ["submit", address, tasks]:
            asyncio.run(submit(address, int(tasks)))
        case ["work", address, slots, notes]:
            Path(notes).write_text(json.dumps(asyncio.run(work(address, int(slots)))), "utf-8")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
