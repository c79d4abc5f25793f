"""Long polls on top of verbs that never wait: listen, ask, and only then sleep."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import Nothing, job_topic
from webordinary.core.job import ENDED, JobId
from webordinary.core.views import JobView
from webordinary.ports.broker import Recall
from webordinary.ports.clock import Clock

T = TypeVar("T")

SHORTEST_POLL_SECONDS = 0.001


async def poll(
    wakeups: Wakeups,
    clock: Clock,
    topic: str,
    wait: float,
    ask: Callable[[], Awaitable[T | Nothing]],
    recall: Recall | None = None,
) -> T | None:
    """Ask until there is something or the seconds are over. No wake-up falls between asking and sleeping."""
    deadline = clock.monotonic() + wait
    while True:
        ear = wakeups.listen(topic)
        if recall is not None:
            recall.attach(ear.wake)
        try:
            answer = await ask()
            if not isinstance(answer, Nothing):
                return answer
            left = deadline - clock.monotonic()
            if left <= 0 or (recall is not None and recall.called):
                return None
            await ear.wait(max(min(left, answer.retry_in), SHORTEST_POLL_SECONDS))
        finally:
            ear.close()


async def poll_result(
    wakeups: Wakeups, clock: Clock, job: JobId, wait: float, look: Callable[[JobId], Awaitable[JobView]]
) -> JobView:
    """Wait for a job to end; when the seconds are over, show it as it is."""
    whole = (await look(job)).id  # people give the beginning of an id; wake-ups carry the whole

    async def ended() -> JobView | Nothing:
        view = await look(whole)
        return view if view.state in ENDED else Nothing()

    return await poll(wakeups, clock, job_topic(whole), wait, ended) or await look(whole)
