"""Following a job to its end and its mail to the reply: what changes, as it happens."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default

from webordinary.core.job import ENDED, JobId, JobState
from webordinary.core.mail import FINAL_LETTERS, Letter, LetterKind, MailRecord
from webordinary.core.text import one_line
from webordinary.core.views import JobView
from webordinary.core.waiting import Cause
from webordinary.entrypoints.cli.context import Context
from webordinary.entrypoints.cli.output import FAINT, clean, indented, painted, typed
from webordinary.ports.outbox import LetterState

LOOK_SECONDS = 0.5
PAGE = 100


class Follower:
    """Tells on standard error what becomes of a job."""

    def __init__(
        self,
        context: Context,
        *,
        quiet: bool,
        tells_end: bool = False,
        reported: tuple[JobState, Cause] | None = None,
    ) -> None:
        """Follow in this store; `reported` is what was said before."""
        self._context, self._quiet, self._tells_end = context, quiet, tells_end
        self._reported: object = reported
        self._event = 0

    async def follow(self, job: JobId, deadline: float) -> JobView:
        """Follow until the job has ended, or until the deadline of the monotonic clock."""
        backend, clock = self._context.backend, self._context.clock
        try:
            while True:
                left = max(deadline - clock.monotonic(), 0.0)
                view = await backend.ledger.result(job, wait=min(left, LOOK_SECONDS))
                await self._report_events(view)
                if view.state in ENDED or left <= 0:
                    if view.state in ENDED and self._tells_end:
                        self._say(view.state.value)
                    return view
                await self._report(view)
        except asyncio.CancelledError:
            self._say(
                f"stopped waiting; the job goes on: {typed('job', job, home=self._context.settings.home)}"
            )
            raise

    async def _report_events(self, view: JobView) -> None:
        while page := await self._context.backend.journal.events(view.id, after=self._event, limit=PAGE):
            self._event = page[-1].number
            for event in page:
                self._say(f"{event.kind.value}: {one_line(event.text, 100)}")

    async def _report(self, view: JobView) -> None:
        reason = await self._context.reason(view)
        runs = view.state is JobState.RUNNING
        now = (view.state, view.attempt if runs else reason.cause)
        if now != self._reported:
            self._reported = now
            self._say(f"running on {view.worker}" if runs else f"{view.state.value}: {reason.text}")

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(painted(f"  {text}", FAINT, stream=sys.stderr), file=sys.stderr, flush=True)


LETTER_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Answer:
    """The letter that ends it: how it stands, and what it says if that is known here."""

    standing: str = ""  # "": none is owed yet
    text: str = ""

    def print(self) -> None:
        """Print it."""
        if self.text:
            print(f"\n{painted('reply', FAINT)}\n{indented(clean(self.text), 2)}")
        else:
            print(f"reply {clean(self.standing)}" if self.standing else "no reply yet")


async def answer_to(record: MailRecord, job: JobView | None, context: Context, deadline: float) -> Answer:
    """Wait until the letter that ends it is out."""
    standing = ""
    while job is None or job.state in ENDED:
        for letter, status in await context.backend.outbox.letters(limit=20, about=record.job or record.id):
            if _is_final(letter, job):
                standing = f"{letter.kind.value}: {status}"
                if status.state is LetterState.SENT:
                    return Answer(standing, await _text(context, letter))
        if context.clock.monotonic() >= deadline:
            break
        await context.clock.sleep(LETTER_LOOK_SECONDS)
    return Answer(standing)


def _is_final(letter: Letter, job: JobView | None) -> bool:
    return letter.kind in FINAL_LETTERS if job is not None else letter.kind is not LetterKind.ACCEPTED


async def _text(context: Context, letter: Letter) -> str:
    kept = await context.platform.letters().copy(letter.key)
    body = message_from_bytes(kept, policy=default).get_body(("plain",)) if kept else None
    return str(body.get_content()).replace("\r\n", "\n") if body is not None else ""
