"""Our own part of a job: from claiming its lane to the published site, with an agent that takes no time.

Four kinds of job on one site of 200 pages, beside plain git and `rsync -a` (`cp -a` where that is missing) on
the same tree, turn by turn.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from bench.checkout import FolderBlobs, SystemClock
from bench.effort import Effort
from bench.report import Row, ratios, row
from bench.stages import Notes, Watched, counted_programs
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.claim import Claim, WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import ParsedMail, SignedParts, UnreadableMail
from webordinary.core.outcome import Done
from webordinary.core.site import Project
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, EventKind, Room, Worked
from webordinary.flows.perform import Performance
from webordinary.flows.tools import Tools
from webordinary.ports.agent import AgentRun
from webordinary.ports.blobs import Blobs
from webordinary.ports.builder import Builder
from webordinary.ports.handler import Stop
from webordinary.ports.publisher import Publisher
from webordinary.ports.workspaces import History, Workspaces
from webordinary.sandbox.unconfined import Unconfined
from webordinary.sites.builder import SiteBuilder
from webordinary.sites.folder_publisher import FolderPublisher
from webordinary.sites.git.repositories import GitRepositories
from webordinary.sites.git.workspaces import GitHistory, GitWorkspaces

ROUNDS = 9
PAGES, PICTURES = 200, 20
PICTURE_BYTES = 30_000
LANE, WORKER = Lane("large", "amelia"), WorkerId("bench.1.w")
COPY = "rsync" if shutil.which("rsync") else "cp"
EDITED = "part2/page42.html"
EDIT = "refs/heads/webordinary/edit"
IDENTITY = ("-c", "user.name=Amelia", "-c", "user.email=amelia@example.com")
WORDS = (
    "bread",
    "flour",
    "oven",
    "morning",
    "rye",
    "crust",
    "salt",
    "open",
    "closed",
    "basket",
    "market",
    "loaf",
)

HELD = "same conversation, lane still held"
WARM = "same conversation, lane claimed anew"
NEW = "new conversation, mirror is there"
COLD = "cold: worker that never saw the site"


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Do each kind of job once a round, and the same by hand."""
    return asyncio.run(_measure(folder / "sites", effort))


async def _measure(folder: Path, effort: Effort) -> list[Row]:
    write_site(folder / "starter", effort.size(PAGES, least=50))
    repository = folder / "repositories" / f"{LANE.project}.git"
    plain: list[float] = []
    by_hand: list[float] = []
    jobs: dict[str, list[Notes]] = {HELD: [], WARM: [], NEW: [], COLD: []}
    with closing(_Shop(folder)) as shop:
        await shop.begin()
        await shop.job("first")  # the repository is made, the first release is whole
        for number in range(effort.times(ROUNDS)):
            jobs[WARM].append(await shop.job("first"))
            jobs[HELD].append(await shop.job("first", claim_anew=False))
            plain.append(_plain(repository, folder / "plain"))
            by_hand.append(_by_hand(repository, folder / "plain"))
            jobs[NEW].append(await shop.job(f"new{number}"))
            jobs[COLD].append(await shop.job("first", worker=f"worker{number}"))
    return [*_totals(jobs, plain, by_hand), *_stages(jobs)]


def _totals(jobs: dict[str, list[Notes]], plain: list[float], by_hand: list[float]) -> list[Row]:
    rows = []
    for kind, notes in jobs.items():
        spent = [sum(one.stages().values()) for one in notes]
        rows += [
            row("sites", kind, "ms", spent),
            row("sites", f"... over git worktree add, {COPY} -a", "x", ratios(spent, plain)),
            row("sites", "... over by hand", "x", ratios(spent, by_hand)),
            row("sites", "... git commands", "", [one.programs for one in notes]),
        ]
    rows.append(row("sites", f"git worktree add, {COPY} -a", "ms", plain))
    rows.append(row("sites", "by hand: that, and add, commit, push", "ms", by_hand))
    return rows


def _stages(jobs: dict[str, list[Notes]]) -> list[Row]:
    spent = [one.stages() for one in jobs[WARM]]
    return [row("stages, claimed anew", name, "ms", [one[name] for one in spent]) for name in spent[0]]


# --- our side -------------------------------------------------------------------------------------------


class _Appending:
    """An agent that takes no time: it adds a line to one page."""

    name = "appending"

    async def start(self, errand: AgentTask, room: Room) -> AgentRun:
        with (room.tree / EDITED).open("a", encoding="utf-8") as page:
            page.write(f"<p>{errand.instruction}</p>\n")
        return _Ended()


class _Ended:
    async def events(self) -> AsyncIterator[AgentEvent]:
        yield AgentEvent(EventKind.SAID, "I added a line.")

    async def interrupt(self) -> None:
        return

    async def result(self) -> AgentResult:
        return Worked("I added a line.")


class _NoMail:
    async def read(
        self, raw: bytes, signed: SignedParts | None = None, sender: str = ""
    ) -> ParsedMail | UnreadableMail:
        del signed, sender
        return UnreadableMail("", f"{len(raw)} bytes that nobody sent")


class _Shop:
    """A store, a site, its folders; and workers that share them, each with workspaces of its own."""

    def __init__(self, folder: Path) -> None:
        """Open everything in a folder."""
        self._folder, self._clock = folder, SystemClock()
        self._backend = open_sqlite(folder / "home", self._clock, Limits())
        self._publisher = FolderPublisher(folder / "published", address=lambda _project, _place: "")
        self._workspaces: dict[str, GitWorkspaces] = {}
        self._notes = Notes()
        self._claim: Claim | None = None

    def close(self) -> None:
        """Give everything back."""
        for workspaces in self._workspaces.values():
            workspaces.close()
        self._backend.close()

    async def begin(self) -> None:
        """Have the project known."""
        await self._backend.directory.add_project(Project(LANE.project))

    async def job(self, session: str, *, worker: str = "worker", claim_anew: bool = True) -> Notes:
        """Submit a job; then note all that happens from the claim to the end."""
        broker = self._backend.broker
        if claim_anew and self._claim is not None:
            await broker.release(self._claim)
            self._claim = None
        name, message_id = JobId(self._clock.unique()), f"<{self._clock.unique()}>"
        await broker.submit(Job(name, LANE, "Add a line", message_id, Arrival.QUEUE, session=session))
        tools = self._tools(worker)
        with counted_programs(lambda: self._notes):
            self._notes, began = Notes(), time.perf_counter()
            if self._claim is None:
                (self._claim,) = (await broker.claim(WORKER, room=1, wait=0, only=LANE)).claims
            delivery = await broker.next_job(self._claim, wait=0)
            assert delivery is not None
            self._notes.calls.append(("claim, delivery", began, time.perf_counter()))
            outcome = await Performance(tools).run(delivery, Stop())
            ended = time.perf_counter()
            await broker.settle(delivery, outcome, more=False)
            self._notes.calls.append(("settle", ended, time.perf_counter()))
        if not isinstance(outcome, Done) or not outcome.facts:
            raise RuntimeError(f"the job did not end well: {outcome}")
        return self._notes

    def _tools(self, worker: str) -> Tools:
        folder = self._folder
        if worker not in self._workspaces:
            self._workspaces[worker] = GitWorkspaces(
                folder / worker, disk_cap_bytes=1 << 40, clock=self._clock
            )
        return Tools(
            backend=self._backend,
            blobs=cast("Blobs", self._watched(FolderBlobs(folder / "blobs"), "put")),
            reader=_NoMail(),
            workspaces=cast(
                "Workspaces",
                self._watched(self._workspaces[worker], "open", "commit", "push", "latest"),
            ),
            history=cast("History", self._watched(GitHistory(self._workspaces[worker]), "changes", "patch")),
            repositories=GitRepositories(folder / "repositories"),
            starter=folder / "starter",
            agent=_Appending(),
            builder=cast("Builder", self._watched(SiteBuilder(Unconfined()), "build")),
            publisher=cast("Publisher", self._watched(self._publisher, "enter", "publish")),
        )

    def _watched(self, port: object, *names: str) -> Watched:
        return Watched(port, lambda: self._notes, *names)


# --- the other side -------------------------------------------------------------------------------------


def _plain(repository: Path, folder: Path) -> float:
    """Have git lay the tree out, and copy it; say how many milliseconds that took."""
    with _gone_afterwards(repository, folder):
        began = time.perf_counter()
        _run("git", "worktree", "add", "--quiet", "--detach", str(folder / "tree"), EDIT, cwd=repository)
        _run(COPY, "-a", f"{folder / 'tree'}/.", str(folder / "release"), cwd=folder)
        return (time.perf_counter() - began) * 1000


def _by_hand(repository: Path, folder: Path) -> float:
    """Do what the job does as a person would: nothing is fenced, checked, told or flushed to the disk."""
    with _gone_afterwards(repository, folder):
        tree = folder / "tree"
        began = time.perf_counter()
        _run("git", "worktree", "add", "--quiet", "--detach", str(tree), EDIT, cwd=repository)
        with (tree / EDITED).open("a", encoding="utf-8") as page:
            page.write("<p>By hand</p>\n")
        _run("git", "add", "--all", cwd=tree)
        _run("git", *IDENTITY, "commit", "--quiet", "--message", "By hand", cwd=tree)
        _run("git", "push", "--quiet", str(repository), "HEAD:refs/heads/by-hand", "--force", cwd=tree)
        _run(COPY, "-a", f"{tree}/.", str(folder / "release"), cwd=folder)
        return (time.perf_counter() - began) * 1000


@contextmanager
def _gone_afterwards(repository: Path, folder: Path) -> Iterator[None]:
    folder.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(folder)
        _run("git", "worktree", "prune", cwd=repository)


def _run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, capture_output=True)


# --- the site -------------------------------------------------------------------------------------------


def write_site(folder: Path, pages: int) -> None:
    """Write a site of many pages that link to each other, and some pictures."""
    chance = random.Random(4)
    for number in range(PICTURES):
        _file(folder, f"pictures/{number}.jpg").write_bytes(chance.randbytes(PICTURE_BYTES))
    _file(folder, "style.css").write_text("body { font: 1rem/1.5 serif }\n" * 100)
    names = ["index.html", *(f"part{number % 10}/page{number}.html" for number in range(1, pages))]
    for name in names:
        links = "\n".join(f'<li><a href="/{other}">{other}</a></li>' for other in chance.sample(names, 15))
        words = "\n".join(f"<p>{' '.join(chance.choices(WORDS, k=60))}.</p>" for _ in range(6))
        _file(folder, name).write_text(
            f'<!doctype html>\n<html lang="en">\n<head><title>{name}</title>'
            '<link rel="stylesheet" href="/style.css"></head>\n<body>\n'
            f'<h1>{name}</h1>\n<img src="/pictures/{chance.randrange(PICTURES)}.jpg" alt="">\n{words}\n'
            f"<ul>\n{links}\n</ul>\n</body>\n</html>\n"
        )


def _file(folder: Path, name: str) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    return folder / name
