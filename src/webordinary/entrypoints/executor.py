"""Put an instruction in and wait for its result, from Python. The same on every backend."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from webordinary.core.job import JobState
from webordinary.core.views import JobView
from webordinary.dispatch.submit import Request, submit
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock


class Progress(StrEnum):
    """How far an instruction has come."""

    NO_WORKER_YET = "no worker yet"  # the time is over, and nobody has picked it up; it stays queued
    RUNNING = "running"  # the time is over, and somebody works on it or will try again
    DONE = "done"
    FAILED = "failed"
    PREEMPTED = "preempted"  # stopped in favour of a newer one; its partial work is kept
    DEAD = "dead"  # its attempts ran out; the operator can redrive it


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of an instruction within the time."""

    progress: Progress
    job: JobView


async def execute(request: Request, backend: Backend, clock: Clock, *, wait: float) -> Executed:
    """Submit, and wait so many seconds for the result. With a message id of its own it may be repeated."""
    receipt = await submit(request, backend, clock, any_project=True)
    job = await backend.ledger.result(receipt.stored.job, wait=wait)
    return Executed(progress_of(job), job)


def progress_of(job: JobView) -> Progress:
    """Tell a job's state as its submitter sees it."""
    match job.state:
        case JobState.DONE:
            return Progress.DONE
        case JobState.FAILED:
            return Progress.FAILED
        case JobState.PREEMPTED:
            return Progress.PREEMPTED
        case JobState.DEAD | JobState.DROPPED:
            return Progress.DEAD
        case JobState.RUNNING | JobState.RETRYING:
            return Progress.RUNNING
        case JobState.QUEUED:
            return Progress.NO_WORKER_YET if job.started_at is None else Progress.RUNNING
        case _:
            assert_never(job.state)
