"""Following a job to its end: what changes, and what its agent says, as it happens."""

from __future__ import annotations

import sys

from webordinary.core.job import ENDED, JobId, JobState
from webordinary.core.text import one_line
from webordinary.core.views import JobView
from webordinary.entrypoints.cli.desk import Desk
from webordinary.entrypoints.cli.words import FAINT, painted

LOOK_SECONDS = 0.5
PAGE = 100


class Follower:
    """Tells on standard error what becomes of a job."""

    def __init__(self, desk: Desk, *, quiet: bool) -> None:
        """Follow in this store."""
        self._desk, self._quiet = desk, quiet
        self._told: object = None
        self._event = 0

    async def follow(self, job: JobId, deadline: float) -> JobView:
        """Follow until the job has ended, or until the deadline of the monotonic clock."""
        backend, clock = self._desk.backend, self._desk.clock
        while True:
            left = max(deadline - clock.monotonic(), 0.0)
            view = await backend.ledger.result(job, wait=min(left, LOOK_SECONDS))
            await self._tell_events(view)
            await self._tell(view)
            if view.state in ENDED or left <= 0:
                return view

    async def _tell_events(self, view: JobView) -> None:
        while page := await self._desk.backend.journal.events(view.id, after=self._event, limit=PAGE):
            self._event = page[-1].number
            for event in page:
                self._say(f"{event.kind.value}: {one_line(event.text, 100)}")

    async def _tell(self, view: JobView) -> None:
        reason = await self._desk.reason(view) if view.state not in ENDED else None
        now = (view.state, view.attempt, reason.cause if reason else None)
        if now == self._told:
            return
        self._told = now
        if view.state is JobState.RUNNING:
            self._say(f"running on {view.worker}")
        else:
            self._say(f"{view.state.value}" + (f": {reason.text}" if reason else ""))

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(painted(f"  {text}", FAINT, stream=sys.stderr), file=sys.stderr, flush=True)
