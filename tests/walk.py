"""The files and functions that one mail, one job and one interrupt pass. `python -m tests.walk` prints them.

The whole embedded system runs in this process, real parts only. What reads mail, and has a process
of its own, is called here, too.
"""

import asyncio
import contextlib
import smtplib
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

import webordinary
from webordinary.claim.worker import Shape
from webordinary.core.job import ENDED, Arrival, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.dispatch.submit import Request, submit
from webordinary.mail.smtp.gateway import SmtpGateway
from webordinary.operations.first_start import onboard_samples
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock
from webordinary.system.function_pool import FunctionPool
from webordinary.wiring.mail import open_mail_room
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import Settings, load
from webordinary.wiring.worker import build_worker, open_handler

SOURCE = Path(webordinary.__file__).parent
SCOTT = Lane("amelia", "scott")
MAIL = (
    "From: Scott <scott@example.com>\r\nTo: edit@localhost\r\nSubject: Homepage\r\n"
    "Message-ID: <walk@example.com>\r\n\r\nChange the homepage title to Spring Sale\r\n"
)
HANG_SECONDS = 300


@dataclass
class Walk:
    """Which code of ours ran, on whichever thread."""

    passed: set[CodeType] = field(default_factory=set)
    is_recording: bool = False

    def __post_init__(self) -> None:
        threading.setprofile(self._called)  # before the first thread starts
        sys.setprofile(self._called)

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        self.is_recording = True
        try:
            yield
        finally:
            self.is_recording = False

    def close(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.is_recording and event == "call" and _is_ours(frame.f_code.co_filename):
            self.passed.add(frame.f_code)

    @property
    def files(self) -> list[str]:
        return sorted({str(Path(code.co_filename).relative_to(SOURCE)) for code in self.passed})

    @property
    def functions(self) -> int:
        """Those with a name of their own."""
        return sum(not code.co_name.startswith("<") for code in self.passed)


def _is_ours(file: str) -> bool:
    """Templates are compiled to code, too, but nobody reads that."""
    return file.startswith(str(SOURCE)) and file.endswith(".py")


async def _in_this_process(
    _pool: FunctionPool, function: Callable[..., object], *arguments: object
) -> object:
    return function(*arguments)


@contextlib.asynccontextmanager
async def _running(settings: Settings) -> AsyncIterator[Backend]:
    backend = open_backend(settings)
    handler = open_handler(settings, backend)
    _, worker = build_worker(settings, backend, handler, Shape())
    working = asyncio.create_task(worker.run())
    try:
        yield backend
    finally:
        worker.drain()
        await working
        await handler.close()
        backend.close()


async def _ended(backend: Backend, job: JobId, state: JobState | None = None) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            found = (await backend.ledger.job(job)).state
            if found is state or (state is None and found in ENDED):
                return
            await asyncio.sleep(0.01)


async def walk_of_a_mail(home: Path, walk: Walk) -> None:
    """From the SMTP connection to the letter that tells of the changed site."""
    settings = load(home)
    settings = replace(settings, work=replace(settings.work, agent="demo"))
    async with _running(settings) as backend:
        await onboard_samples(settings, backend, SystemClock())
        for job in await backend.ledger.jobs(limit=10):
            await _ended(backend, job.id)
        room = open_mail_room(settings, backend, port=0, trust_loopback=True)
        gateway = SmtpGateway(room.listening, partial(room.reception.receive, may_come_again=True))
        port = await gateway.start()
        sending = asyncio.create_task(room.sender.run())
        try:
            with walk.recorded():
                await asyncio.to_thread(_send, port)
                await _until(lambda: any("Message-ID: <done." in text for text in _letters(home)))
        finally:
            room.sender.stop()
            await sending
            await gateway.stop()
            await room.close()


def _send(port: int) -> None:
    with smtplib.SMTP("127.0.0.1", port, timeout=HANG_SECONDS) as line:
        line.sendmail("scott@example.com", ["edit@localhost"], MAIL)


def _letters(home: Path) -> list[str]:
    try:
        return [path.read_text(errors="replace") for path in home.rglob("*.eml")]
    except FileNotFoundError:  # a workspace went away under it
        return []


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not happened():
            await asyncio.sleep(0.02)


async def walk_of_a_job(home: Path, walk: Walk) -> None:
    """From the submit of an instruction to the outcome that is stored."""
    async with _running(replace(load(home), handler="echo")) as backend:
        with walk.recorded():
            job = await _submitted(backend, "hello")
            await _ended(backend, job)


async def walk_of_an_interrupt(home: Path, walk: Walk) -> None:
    """From the submit of a newer instruction, which stops the running one, to its own outcome."""
    async with _running(replace(load(home), handler="sleep", slots=1)) as backend:
        older = await _submitted(backend, f"{HANG_SECONDS}")
        await _ended(backend, older, JobState.RUNNING)
        with walk.recorded():
            newer = await _submitted(backend, "0")
            await _ended(backend, newer)


async def _submitted(backend: Backend, instruction: str) -> JobId:
    request = Request(SCOTT, instruction, policy=Arrival.INTERRUPT)
    receipt = await submit(request, backend, SystemClock(), any_project=True)
    return receipt.stored.job


WALKS = {"one mail": walk_of_a_mail, "one job": walk_of_a_job, "one interrupt": walk_of_an_interrupt}


def walked() -> dict[str, Walk]:
    """Take each walk on an empty home."""
    walks: dict[str, Walk] = {}
    inside, FunctionPool.run = FunctionPool.run, _in_this_process  # type: ignore[method-assign, assignment]
    try:
        for name, taken in WALKS.items():
            walks[name] = Walk()
            with tempfile.TemporaryDirectory() as home, contextlib.closing(walks[name]):
                asyncio.run(taken(Path(home), walks[name]))
    finally:
        FunctionPool.run = inside  # type: ignore[method-assign]
    return walks


def table(walks: dict[str, Walk]) -> str:
    """Print as Markdown."""
    rows = [f"| {name} | {len(walk.files)} | {walk.functions} |" for name, walk in walks.items()]
    return "\n".join(["| passes | files | functions |", "|---|---|---|", *rows])


if __name__ == "__main__":
    taken = walked()
    print(table(taken))
    for name, walk in taken.items():
        print(f"\n{name}:", *walk.files, sep="\n  ")
