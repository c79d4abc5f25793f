"""The three scenarios that must be seen working. What was seen is read from the store, never assumed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from webordinary.cli.stage import Stage
from webordinary.core.job import JobState
from webordinary.core.lane import Lane
from webordinary.core.views import Happening, JobView
from webordinary.core.waiting import span

AMELIA, BAKERY = Lane("amelia", "scott"), Lane("bakery", "john")
WITHIN_SECONDS = 10.0
SOON_SECONDS = 5.0  # against the 30 minutes that an idle claim is kept


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that had to be seen, and what was seen."""

    seen: bool
    text: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A scenario and how it is played."""

    title: str
    play: Callable[[Stage], Awaitable[list[Check]]]


async def one_worker_two_lanes(stage: Stage) -> list[Check]:
    """An idle owner gives way to a waiting lane."""
    began = stage.desk.clock.now()
    async with stage.pool("worker 1"):
        first = await stage.ended(await stage.submit(AMELIA, "0.5 change the title"), WITHIN_SECONDS)
        idle = await stage.desk.backend.gatekeeper.owner(AMELIA)
        second = await stage.ended(await stage.submit(BAKERY, "0.5 new opening hours"), WITHIN_SECONDS)
        exchanged = await stage.happened(AMELIA, Happening.EXCHANGED, began)
    kept = span(stage.desk.settings.limits.idle_release_seconds)
    waited = _waited(second)
    return [
        _is(first, JobState.DONE),
        Check(idle is not None, f"the worker then held {AMELIA} idle, which it may for {kept}"),
        Check(
            exchanged and first.worker == second.worker, f"the same worker gave it in exchange for {BAKERY}"
        ),
        Check(
            waited is not None and waited < SOON_SECONDS, f"{BAKERY} waited {_seconds(waited)} for its start"
        ),
        _is(second, JobState.DONE),
    ]


async def two_workers_two_lanes(stage: Stage) -> list[Check]:
    """Each claims one, and both run at the same time."""
    async with stage.pool("worker 1", "worker 2"):
        jobs = [
            await stage.submit(AMELIA, "1 a photo on the front page"),
            await stage.submit(BAKERY, "1 a page about bread"),
        ]
        one, other = [await stage.ended(job, WITHIN_SECONDS) for job in jobs]
    together = frozenset({(one.lane, one.worker), (other.lane, other.worker)})
    overlap = _overlap(one, other)
    return [
        Check(one.worker != other.worker, f"{AMELIA} and {BAKERY} were claimed by different workers"),
        Check(
            together in stage.watcher.running_together,
            "the ownership rows showed both at work at the same moment",
        ),
        Check(overlap > 0, f"their jobs ran side by side for {overlap:.2f} s"),
        _is(one, JobState.DONE),
        _is(other, JobState.DONE),
    ]


async def interrupt(stage: Stage) -> list[Check]:
    """A second job for a lane whose job runs: the first stops, then the new one is carried out."""
    async with stage.pool("worker 1"):
        long = await stage.submit(AMELIA, "60 rebuild everything")
        was_running = await stage.running(long, WITHIN_SECONDS)
        await stage.desk.clock.sleep(0.5)
        newer = await stage.submit(AMELIA, "0.5 no, only the title")
        second = await stage.ended(newer, WITHIN_SECONDS)
        first = await stage.desk.backend.ledger.job(long)
    stopped = (first.finished_at or float("inf")) - second.submitted_at
    return [
        Check(was_running, "the first job was running when the second was submitted"),
        _is(first, JobState.PREEMPTED),
        Check(
            first.interrupted_by == newer and bool(first.note),
            f"it was stopped in favour of the second, and tells what it had: {first.note}",
        ),
        Check(stopped < SOON_SECONDS, f"from submit to the stop: {stopped * 1000:.0f} ms"),
        Check(
            first.finished_at is not None and (second.started_at or 0.0) >= first.finished_at,
            "the second started only after the first had stopped",
        ),
        _is(second, JobState.DONE),
    ]


SCENES = (
    Scene("One worker, two lanes: the second is served without waiting 30 minutes", one_worker_two_lanes),
    Scene("Two workers, two lanes: each claims one, both run at the same time", two_workers_two_lanes),
    Scene("A second job for a lane whose job is running: interrupt, then the new one is done", interrupt),
)


def _is(job: JobView, state: JobState) -> Check:
    return Check(job.state is state, f"{job.instruction!r} in {job.lane} ended as {job.state.value}")


def _waited(job: JobView) -> float | None:
    return job.started_at - job.submitted_at if job.started_at is not None else None


def _seconds(value: float | None) -> str:
    return f"{value:.2f} s" if value is not None else "in vain"


def _overlap(one: JobView, other: JobView) -> float:
    if None in (one.started_at, one.finished_at, other.started_at, other.finished_at):
        return 0.0
    ends = min(one.finished_at or 0.0, other.finished_at or 0.0)
    return ends - max(one.started_at or 0.0, other.started_at or 0.0)
