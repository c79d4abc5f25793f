"""Workers as processes that are killed or paused: the lane goes on, and what comes back changes nothing."""

import asyncio
import signal
from pathlib import Path

from tests.aws.campaign import LANES, all_done, begun, check, submit_all, worker_processes
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.views import Happening
from webordinary.ports.backend import Backend

FEW = LANES[:6]


async def happenings(backend: Backend) -> set[Happening]:
    return {event.what for lane in FEW for event in await backend.ledger.history(lane, limit=1000)}


async def test_a_worker_that_is_killed_mid_job_loses_nothing(
    usual: AwsSettings, quiet: Backend, tmp_path: Path
) -> None:
    """Fault four of the first build: its jobs waited for new mail. Here the sweep finds another owner."""
    log = tmp_path / "log"
    async with worker_processes(usual, log, names=["w0", "w1"], slots=6, seconds=0.4) as processes:
        submitted = await submit_all(quiet, 4, FEW)
        killed = (await begun(log, lambda runs: len(runs) >= len(FEW)))[-1].worker
        processes[killed].send_signal(signal.SIGKILL)
        await all_done(quiet, 4 * len(FEW))
    again = await check(quiet, submitted, log)
    assert again >= 1  # what it was at was begun again, by somebody else
    assert Happening.TAKEN_OVER in await happenings(quiet)
    print(f"\nkill -9 of {killed}: {again} jobs begun again")


async def test_a_worker_that_is_paused_past_its_lease_changes_nothing_when_it_wakes(
    usual: AwsSettings, quiet: Backend, tmp_path: Path
) -> None:
    """Fault seven of the first build: nothing fenced it. It is woken while it still thinks it has a job."""
    log = tmp_path / "log"
    async with worker_processes(usual, log, names=["w0", "w1"], slots=6, seconds=0.4) as processes:
        submitted = await submit_all(quiet, 4, FEW)
        paused = (await begun(log, lambda runs: len(runs) >= len(FEW)))[-1].worker
        processes[paused].send_signal(signal.SIGSTOP)
        try:
            await all_done(quiet, 4 * len(FEW))
            before = await quiet.ledger.jobs(limit=100)
        finally:
            processes[paused].send_signal(signal.SIGCONT)
        more = await submit_all(quiet, 1, FEW)
        await all_done(quiet, 5 * len(FEW))
        await asyncio.sleep(1.0)  # for what it may still want to say
        assert [view for view in await quiet.ledger.jobs(limit=100) if view in before] == before
        assert processes[paused].poll() is None  # it goes on, without those lanes
    again = await check(quiet, {lane: jobs + more[lane] for lane, jobs in submitted.items()}, log)
    assert again >= 1
    assert Happening.TAKEN_OVER in await happenings(quiet)
    print(f"\nSIGSTOP of {paused}: {again} jobs begun again")
