"""Many jobs over many lanes, workers to carry them out, and what has to be true afterwards."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.aws.worker_process import Run, runs
from tests.emulators import REPOSITORY
from tests.waiting import HANG_SECONDS, until
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Arrival, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import LetterKind
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock

LANES = [Lane(f"p{number % 5}", f"u{number}") for number in range(20)]
SLOTS = 8

Submitted = dict[Lane, list[JobId]]


async def submit_all(backend: Backend, jobs_each: int, lanes: Sequence[Lane] = LANES) -> Submitted:
    """Send every lane its mails one after the other, all lanes at once; repeat what was not answered."""
    clock, submitted = SystemClock(), {lane: list[JobId]() for lane in lanes}

    async def fill(lane: Lane) -> None:
        for _ in range(jobs_each):
            name = clock.unique()
            job = Job(JobId(name), lane, f"do {name}", f"<{name}@x.org>", Arrival.QUEUE, wants_reply=True)
            submitted[lane].append(job.id)
            while True:
                try:
                    await backend.broker.submit(job)
                    break
                except BackendUnavailable:
                    await asyncio.sleep(0.05)

    await asyncio.gather(*(fill(lane) for lane in lanes))
    return submitted


async def all_done(backend: Backend, total: int) -> None:
    """Wait until so many jobs are done."""

    done = 0

    async def are_more() -> bool:
        nonlocal done
        before, done = done, (await backend.ledger.counts())[JobState.DONE]
        return done > before

    while done < total:
        await until(are_more)


async def begun(log: Path, enough: Callable[[list[Run]], bool]) -> list[Run]:
    """Wait until the diary shows what a test waits for."""
    await until(lambda: enough(runs(log)))
    return runs(log)


async def check(backend: Backend, submitted: Submitted, log: Path) -> int:
    """Hold the ledger, the owed letters and the workers' diary against each other; say how many ran again."""
    total = sum(map(len, submitted.values()))
    counts = await backend.ledger.counts()
    assert {state: count for state, count in counts.items() if count} == {JobState.DONE: total}
    views = {view.id: view for view in await backend.ledger.jobs(limit=total + 1)}
    assert len(views) == total
    written = runs(log)
    for lane, jobs in submitted.items():
        ends = [views[job].finished_at for job in jobs]
        assert ends == sorted(end or 0.0 for end in ends)
        accepted = {(view.id, view.fence, view.attempt): view for view in (views[job] for job in jobs)}
        here = [
            run for run in written if run.lane == lane.key and (run.job, run.fence, run.attempt) in accepted
        ]
        assert [run.job for run in here] == jobs  # each of them once, in the order of the mails
        for run in here:
            said = accepted[JobId(run.job), run.fence, run.attempt].note
            assert said == f"{run.worker} {run.fence} {run.attempt}"
    letters = [(letter.about, letter.kind) for letter, _ in await backend.outbox.letters(limit=3 * total)]
    owed = [(job, kind) for job in views for kind in (LetterKind.ACCEPTED, LetterKind.DONE)]
    assert sorted(letters) == sorted(owed)
    return len(written) - total


@asynccontextmanager
async def worker_processes(
    settings: AwsSettings, log: Path, *, names: list[str], slots: int = SLOTS, seconds: float = 0.01
) -> AsyncIterator[dict[str, subprocess.Popen[bytes]]]:
    """Workers as processes; whoever is still there in the end is told to drain."""
    program = (sys.executable, "-m", "tests.aws.worker_process", settings.endpoint or "", settings.prefix)
    started: dict[str, subprocess.Popen[bytes]] = {}
    with log.with_suffix(".said").open("ab") as said:
        try:
            for name in names:
                command = (*program, name, str(slots), str(seconds), str(log))
                started[name] = subprocess.Popen(command, cwd=REPOSITORY, stdout=said, stderr=said)
            yield started
        finally:
            for process in started.values():
                process.terminate()
            for process in started.values():  # in a thread: the line they drain through is served here
                try:
                    await asyncio.to_thread(process.wait, HANG_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
