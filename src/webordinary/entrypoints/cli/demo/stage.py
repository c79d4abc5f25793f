"""The demo's stage: a home folder, real processes, real mail, and a timeline of what the store shows."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from email.message import EmailMessage

from webordinary.core.claim import WorkerId
from webordinary.core.job import ENDED, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import Letter, LetterKind, MailId
from webordinary.core.views import Happening, JobView, LaneEvent, LaneView
from webordinary.entrypoints.cli.context import Context
from webordinary.entrypoints.cli.output import own_command
from webordinary.identify.find import mail_id
from webordinary.mail.smtp.relay import hand_in
from webordinary.operations.first_start import SAMPLES
from webordinary.operations.running import LOOPBACK, answers, free_port
from webordinary.system.process_output import exit_words
from webordinary.system.processes import ChildProcess
from webordinary.system.supervisor import start_child
from webordinary.wiring.embedded import sites_folder
from webordinary.wiring.setting_reader import PREFIX

LOOK_SECONDS = 0.03
START_SECONDS = 15.0
STOP_SECONDS = 10.0
EVENTS_MAX = 200
POOL = "pool"
WORKER = ("worker", "--until-stdin-closes", "--slots", "1", "--handler", "site")
Show = Callable[[Sequence[LaneView], float, Callable[[WorkerId | None], str]], None]
GATEWAY = ("gateway", "--until-stdin-closes", "--trust-loopback", "--smtp-port")


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline."""

    at: float
    where: str
    what: str
    rank: int = 0  # the order of what happened in one transaction


class NotUp(Exception):
    """A worker of the play did not come up."""


class Watcher:
    """Reads the store again and again and tells what changed, with the store's own times."""

    def __init__(self, context: Context, tell: Callable[[Moment], None], show: Show) -> None:
        """Watch from now on."""
        self._desk, self._tell, self._show = context, tell, show
        self._seen: set[tuple[object, ...]] = set()
        self._names: dict[WorkerId, str] = {}
        self.began = context.clock.now()
        self.running_together: set[frozenset[tuple[Lane, WorkerId]]] = set()

    def name(self, worker: WorkerId | None) -> str:
        """Call a worker by its name in the play."""
        return self._names.get(worker, worker) if worker is not None else "nobody"

    def introduce(self, worker: WorkerId, name: str) -> None:
        """Give a worker a name."""
        self._names[worker] = name

    def say(self, where: str, what: str) -> None:
        """Put a line of our own into the timeline."""
        self._tell(Moment(self._desk.clock.now() - self.began, where, what))

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Look again and again for the length of a scene."""
        looking = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            looking.cancel()

    async def _watch(self) -> None:
        while True:
            await self.look()
            await self._desk.clock.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Tell what is new since the last look, in order."""
        ledger, now = self._desk.backend.ledger, self._desk.clock.now()
        lanes = await ledger.lanes(limit=10)
        self._show(lanes, now, self.name)
        running = [(lane.lane, lane.worker) for lane in lanes if lane.running and lane.owned_at(now)]
        self.running_together.add(frozenset((lane, worker) for lane, worker in running if worker))
        found = [_of_job(job, self) for job in await ledger.jobs(limit=50)]
        for lane in lanes:
            history = await ledger.history(lane.lane, limit=EVENTS_MAX)
            found.append([_of_lane(event, self) for event in history])
        moments = [moment for several in found for moment in several]
        for moment in sorted(moments, key=lambda one: (one.at, one.rank)):
            key = (moment.at, moment.where, moment.what)
            if key not in self._seen:
                self._seen.add(key)
                self._tell(Moment(moment.at - self.began, moment.where, moment.what))


def _of_job(job: JobView, watcher: Watcher) -> list[Moment]:
    where, text = str(job.lane), job.instruction.split("\n", maxsplit=1)[0]
    moments = [Moment(job.submitted_at, where, f"submitted: {text!r}", 1)]
    if job.started_at is not None:
        moments.append(Moment(job.started_at, where, f"started on {watcher.name(job.worker)}: {text!r}", 4))
    if job.finished_at is not None:
        note = f" ({job.note})" if job.note else ""
        moments.append(Moment(job.finished_at, where, f"{job.state.value}: {text!r}{note}"))
    return moments


def _of_lane(event: LaneEvent, watcher: Watcher) -> Moment:
    by = f" by {watcher.name(event.worker)} (fence {event.fence})" if event.job is None else ""
    takes = event.what in (Happening.CLAIMED, Happening.TAKEN_OVER)
    return Moment(event.at, str(event.lane), f"{event.what.value}{by}", 3 if takes else 2)


class Stage:
    """Where a scene is played."""

    def __init__(self, context: Context, watcher: Watcher) -> None:
        """Start with an empty pool."""
        self.context, self.watcher = context, watcher
        self._pool: dict[str, ChildProcess] = {}
        self._port = 0
        self._letters = context.platform.letters()

    @contextlib.asynccontextmanager
    async def pool(self, *names: str) -> AsyncIterator[None]:
        """Workers with one slot each, as processes, for the length of a scene."""
        try:
            for name in names:
                await self._start(name)
            for name in names:
                await self._introduce(name)
            yield
        finally:
            await self._stop()

    @contextlib.asynccontextmanager
    async def mail_comes_in(self) -> AsyncIterator[None]:
        """A gateway as a process, for the length of the play."""
        self._port = free_port(0, "mail", "--smtp-port")
        gateway = await self._process("mail", [*GATEWAY, str(self._port)])
        try:
            deadline = self.context.clock.monotonic() + START_SECONDS
            while not await answers(self._port):
                if gateway.code is not None or self.context.clock.monotonic() > deadline:
                    raise NotUp("the gateway did not come up")
                await self.context.clock.sleep(LOOK_SECONDS)
            yield
        finally:
            await self._stop_one("mail", gateway)

    async def _start(self, name: str) -> None:
        self._pool[name] = await self._process(name, WORKER)

    async def _process(self, name: str, words: Sequence[str]) -> ChildProcess:
        home = self.context.settings.home
        environment = {key: value for key, value in os.environ.items() if not key.startswith(PREFIX)}
        environment[f"{PREFIX}WORK_AGENT"] = "demo"
        with (home / f"{name.replace(' ', '-')}.log").open("ab") as log:
            return await start_child(
                [*own_command(), *words, "--home", str(home)], environment=environment, stderr=log.fileno()
            )

    async def _introduce(self, name: str) -> None:
        child, clock = self._pool[name], self.context.clock
        deadline = clock.monotonic() + START_SECONDS
        while (worker := await self._shown(child.pid)) is None:
            if child.code is not None:
                raise NotUp(f"{name} ended at once: {exit_words(child.code)}")
            if clock.monotonic() > deadline:
                raise NotUp(f"{name} did not show itself within {START_SECONDS:g} s")
            await clock.sleep(LOOK_SECONDS)
        self.watcher.introduce(worker, name)
        self.watcher.say(POOL, f"{name} is up with one slot (pid {child.pid})")

    async def _shown(self, pid: int) -> WorkerId | None:
        workers = await self.context.backend.ledger.workers()
        return next((worker.worker for worker in workers if worker.pid == pid), None)

    async def _stop(self) -> None:
        """Ask by process id; kill whoever does not listen."""
        await asyncio.gather(*(self._stop_one(name, child) for name, child in self._pool.items()))
        self._pool.clear()
        await self.watcher.look()

    async def _stop_one(self, name: str, child: ChildProcess) -> None:
        """Signal once: after a second signal a worker ends at once, and its lanes wait for their leases."""
        child.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await child.wait()
        except TimeoutError:
            self.watcher.say(POOL, f"{name} did not leave and was killed")
        finally:
            await child.end()

    # --- what scenes do and ask -------------------------------------------------------------------

    async def mail(self, lane: Lane, text: str, *, reply_to: JobId | None = None) -> JobId:
        """Send a mail in over SMTP as a member of the lane; say which job it became.

        With `reply_to` it belongs to the conversation of that earlier job.
        """
        sender, clock = SAMPLES[lane], self.context.clock
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = sender, self.context.settings.mail.address, "My site"
        mail["Message-ID"] = f"<{clock.unique()}@example.com>"
        if reply_to is not None:
            earlier = (await self.context.backend.ledger.job(reply_to)).message_id
            answered = await self.context.backend.mailbox.mail(MailId(earlier))
            mail["In-Reply-To"] = answered.message_id if answered else ""
            mail.replace_header("Subject", "Re: My site")
        mail.set_content(text)
        recipient = self.context.settings.mail.address
        await hand_in(LOOPBACK, self._port, sender=sender, recipient=recipient, mail=mail.as_bytes())
        record = await self.context.backend.mailbox.mail(mail_id(mail["Message-ID"], sender))
        if record is None or record.job is None:
            raise NotUp(f"the mail to {lane} became no job: {record.reason if record else 'it is not known'}")
        return record.job

    async def replied(self, job: JobId, kind: LetterKind, within: float) -> bool:
        """Wait until the letter of this kind about a job is out."""
        clock = self.context.clock
        deadline = clock.monotonic() + within
        while clock.monotonic() < deadline:
            if await self._letters.copy(Letter(job, kind).key) is not None:
                return True
            await clock.sleep(LOOK_SECONDS)
        return False

    def page(self, lane: Lane) -> str:
        """The front page as it is previewed now: the published bytes."""
        folder = sites_folder(self.context.settings.home) / lane.project
        try:
            release = json.loads((folder / "places.json").read_text("utf-8"))["preview"]["release"]
            page = folder / "releases" / str(release) / "site" / "index.html"
            return page.read_text("utf-8")
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    async def ended(self, job: JobId, within: float) -> JobView:
        """Wait for a job to end; show it as it is when the seconds are over."""
        return await self.context.backend.ledger.result(job, wait=within)

    async def running(self, job: JobId, within: float) -> bool:
        """Wait for a job to run."""
        clock = self.context.clock
        deadline = clock.monotonic() + within
        while clock.monotonic() < deadline:
            view = await self.context.backend.ledger.job(job)
            if view.state is JobState.RUNNING or view.state in ENDED:
                return view.state is JobState.RUNNING
            await clock.sleep(LOOK_SECONDS)
        return False

    async def happened(self, lane: Lane, what: Happening, since: float) -> bool:
        """Whether the lane's history has such an event since a moment."""
        history = await self.context.backend.ledger.history(lane, limit=EVENTS_MAX)
        return any(event.what is what and event.at >= since for event in history)
