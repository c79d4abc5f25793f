"""The three scenarios that must be seen working. What was seen is read from the store, never assumed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from webordinary.core.job import JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import LetterKind
from webordinary.core.text import one_line
from webordinary.core.views import Happening, JobView
from webordinary.core.waiting import span
from webordinary.entrypoints.cli.demo.stage import Stage

AMELIA, BAKERY = Lane("amelia", "scott"), Lane("bakery", "john")
WITHIN_SECONDS = 20.0
HEADING = 'Change the heading "Recent work" to "Work of this winter"'
SLOWLY = "take your time: 1 second"
SOON_SECONDS = 5.0  # against the 30 minutes that an idle claim is kept


@dataclass(frozen=True, slots=True)
class SceneCheck:
    """One thing that had to be seen, and what was seen."""

    seen: bool
    text: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A scenario and how it is played."""

    title: str
    play: Callable[[Stage], Awaitable[list[SceneCheck]]]


async def one_worker_two_lanes(stage: Stage) -> list[SceneCheck]:
    """An idle owner gives way to a waiting lane."""
    began = stage.context.clock.now()
    async with stage.pool("worker 1"):
        sale = await stage.mail(AMELIA, "Change the homepage title to Spring Sale")
        first = await stage.ended(sale, WITHIN_SECONDS)
        idle = await stage.context.backend.gatekeeper.owner(AMELIA)
        hours = await stage.mail(BAKERY, "Change the homepage title to Open at seven")
        second = await stage.ended(hours, WITHIN_SECONDS)
        exchanged = await stage.happened(AMELIA, Happening.EXCHANGED, began)
        replied = await stage.replied(hours, LetterKind.DONE, WITHIN_SECONDS)
    kept = span(stage.context.settings.limits.idle_release_seconds)
    waited = _waited(second)
    return [
        _is(first, JobState.DONE),
        SceneCheck(idle is not None, f"the worker then held {AMELIA} idle, which it may for {kept}"),
        SceneCheck(
            exchanged and first.worker == second.worker, f"the same worker gave it in exchange for {BAKERY}"
        ),
        SceneCheck(
            waited is not None and waited < SOON_SECONDS, f"{BAKERY} waited {_seconds(waited)} for its start"
        ),
        _is(second, JobState.DONE),
        _published(stage, AMELIA, "<title>Spring Sale</title>"),
        _published(stage, BAKERY, "<title>Open at seven</title>"),
        SceneCheck(replied, "the reply with the preview link is out"),
    ]


async def two_workers_two_lanes(stage: Stage) -> list[SceneCheck]:
    """Each claims one, and both run at the same time."""
    async with stage.pool("worker 1", "worker 2"):
        jobs = [
            await stage.mail(AMELIA, f"Change the homepage title to Peonies\n{SLOWLY}"),
            await stage.mail(BAKERY, f"Change the homepage title to Rye and wheat\n{SLOWLY}"),
        ]
        one, other = [await stage.ended(job, WITHIN_SECONDS) for job in jobs]
    together = frozenset({(one.lane, one.worker), (other.lane, other.worker)})
    overlap = _overlap(one, other)
    return [
        SceneCheck(one.worker != other.worker, f"{AMELIA} and {BAKERY} were claimed by different workers"),
        SceneCheck(
            together in stage.watcher.running_together,
            "the ownership rows showed both at work at the same moment",
        ),
        SceneCheck(overlap > 0, f"their jobs ran side by side for {overlap:.2f} s"),
        _is(one, JobState.DONE),
        _is(other, JobState.DONE),
        _published(stage, AMELIA, "<title>Peonies</title>"),
        _published(stage, BAKERY, "<title>Rye and wheat</title>"),
    ]


async def interrupt(stage: Stage) -> list[SceneCheck]:
    """A second mail of a conversation whose job runs: the first stops, then both are carried out."""
    async with stage.pool("worker 1"):
        long = await stage.mail(AMELIA, f"{HEADING}\ntake your time: 60 seconds")
        was_running = await stage.running(long, WITHIN_SECONDS)
        await stage.context.clock.sleep(0.5)
        newer = await stage.mail(AMELIA, "Change the homepage title to Winter", reply_to=long)
        second = await stage.ended(newer, WITHIN_SECONDS)
        first = await stage.context.backend.ledger.job(long)
        answered = await stage.replied(long, LetterKind.PREEMPTED, WITHIN_SECONDS)
        replied = await stage.replied(newer, LetterKind.DONE, WITHIN_SECONDS)
    stopped = (first.finished_at or float("inf")) - second.submitted_at
    return [
        SceneCheck(was_running, "the first job was running when the second mail came"),
        _is(first, JobState.PREEMPTED),
        SceneCheck(
            first.interrupted_by == newer and bool(first.note),
            f"it was stopped in favour of the second, and its work is kept: {one_line(first.note, 60)}",
        ),
        SceneCheck(stopped < SOON_SECONDS, f"from the newer mail to the stop: {stopped * 1000:.0f} ms"),
        SceneCheck(
            first.finished_at is not None and (second.started_at or 0.0) >= first.finished_at,
            "the second started only after the first had stopped",
        ),
        _is(second, JobState.DONE),
        _published(stage, AMELIA, "<title>Winter</title>"),
        _published(stage, AMELIA, "<h2>Work of this winter</h2>"),
        SceneCheck(answered, "the sender was told that the first is carried out with the second"),
        SceneCheck(replied and bool(second.facts.also), "and got one reply that tells of both"),
    ]


SCENES = (
    Scene("One worker, two lanes: the second is served without waiting 30 minutes", one_worker_two_lanes),
    Scene("Two workers, two lanes: each claims one, both run at the same time", two_workers_two_lanes),
    Scene("A reply while the conversation's job is running: interrupt, then both are done", interrupt),
)


def _published(stage: Stage, lane: Lane, words: str) -> SceneCheck:
    return SceneCheck(words in stage.page(lane), f"the published page of {lane.project} says {words}")


def _is(job: JobView, state: JobState) -> SceneCheck:
    first = job.instruction.split("\n", maxsplit=1)[0]
    return SceneCheck(job.state is state, f"{first!r} in {job.lane} ended as {job.state.value}")


def _waited(job: JobView) -> float | None:
    return job.started_at - job.submitted_at if job.started_at is not None else None


def _seconds(value: float | None) -> str:
    return f"{value:.2f} s" if value is not None else "in vain"


def _overlap(one: JobView, other: JobView) -> float:
    if None in (one.started_at, one.finished_at, other.started_at, other.finished_at):
        return 0.0
    ends = min(one.finished_at or 0.0, other.finished_at or 0.0)
    return ends - max(one.started_at or 0.0, other.started_at or 0.0)
