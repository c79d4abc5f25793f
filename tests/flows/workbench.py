"""A site on a workbench: real store, real git, real folders. The agent is a shell that runs instructions."""

import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from webordinary.agents.command import CommandAgent
from webordinary.backends.folder_blobs import FolderBlobs
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.claim import Claim, Delivery, WorkerId
from webordinary.core.job import Arrival, Intent, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import ParsedMail, SignedParts, UnreadableMail
from webordinary.core.outcome import Outcome
from webordinary.core.release import Place
from webordinary.core.site import Project
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, Room, Worked
from webordinary.flows.perform import Performance
from webordinary.flows.tools import Tools
from webordinary.intake.read import read
from webordinary.ports.agent import Agent
from webordinary.ports.handler import Stop
from webordinary.sandbox import RunLimits
from webordinary.sandbox.unconfined import Unconfined
from webordinary.sites.builder import SiteBuilder
from webordinary.sites.folder_publisher import FolderPublisher
from webordinary.sites.git.repositories import GitRepositories
from webordinary.sites.git.workspaces import GitHistory, GitWorkspaces
from webordinary.system.clock import SystemClock

AMELIA, TARA = Lane("amelia", "scott"), Lane("amelia", "tara")
PAGE = "<!doctype html>\n<title>Old</title>\n<h1>Hello</h1>\n<p>Some text</p>\n"


class Reader:
    """Reads in this process: the bounds have tests of their own."""

    async def read(
        self, raw: bytes, signed: SignedParts | None = None, sender: str = ""
    ) -> ParsedMail | UnreadableMail:
        return read(raw, ("webordinary.example",), signed, sender)


class Scripted:
    """An agent that does to the tree what it is told, ends as it is told, and keeps what it was asked."""

    name = "scripted"

    def __init__(self) -> None:
        self.errands: list[AgentTask] = []
        self.ending: AgentResult = Worked("done", b"its session")
        self.files: dict[str, str] = {}

    async def start(self, errand: AgentTask, room: Room) -> "Scripted":
        self.errands.append(errand)
        for name, content in self.files.items():
            (room.tree / name).write_text(content)
        return self

    async def events(self) -> AsyncIterator[AgentEvent]:
        nothing: tuple[AgentEvent, ...] = ()
        for event in nothing:
            yield event

    async def interrupt(self) -> None:
        """It is too quick for that."""

    async def result(self) -> AgentResult:
        return self.ending


def git(*words: str, cwd: Path) -> str:
    done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass
class Bench:
    """One site, edited by shell scripts."""

    folder: Path
    agent: Agent = field(default_factory=lambda: CommandAgent(["sh"], Unconfined(), RunLimits()))
    project: Project = field(default_factory=lambda: Project("amelia"))

    def __post_init__(self) -> None:
        self.clock = SystemClock()
        self.backend = open_sqlite(self.folder / "home", self.clock, Limits())
        starter = self.folder / "starter"
        starter.mkdir(exist_ok=True)
        (starter / "index.html").write_text(PAGE)
        self.blobs = FolderBlobs(self.folder / "blobs")
        self.publisher = FolderPublisher(
            self.folder / "sites", address=lambda project, place: f"http://sites.example/{place}/{project}/"
        )
        self.repositories = GitRepositories(self.folder / "repositories")
        self.tools = self.tools_at("workspace")
        self.claims: dict[Lane, Claim] = {}

    def tools_at(self, workspace: str) -> Tools:
        """What a worker with workspaces of its own works with."""
        workspaces = GitWorkspaces(self.folder / workspace, disk_cap_bytes=1 << 30, clock=self.clock)
        return Tools(
            backend=self.backend,
            blobs=self.blobs,
            reader=Reader(),
            workspaces=workspaces,
            history=GitHistory(workspaces),
            repositories=self.repositories,
            starter=self.folder / "starter",
            agent=self.agent,
            builder=SiteBuilder(Unconfined()),
            publisher=self.publisher,
        )

    @property
    def repository(self) -> Path:
        return self.folder / "repositories" / "amelia.git"

    async def submitted(
        self, text: str, *, intent: Intent = Intent.EDIT, session: str = "s1", lane: Lane = AMELIA
    ) -> Delivery:
        """Queue a job and have it delivered."""
        await self.backend.directory.add_project(self.project)
        if intent is Intent.EDIT:
            text += "\nexit 0"  # what belongs to the instruction comes after it, and is no script
        unique = self.clock.unique()
        job = Job(JobId(unique), lane, text, f"<{unique}>", Arrival.QUEUE, session=session, intent=intent)
        await self.backend.broker.submit(job)
        if lane not in self.claims:
            claimed = await self.backend.broker.claim(WorkerId("w1"), room=1, wait=0, only=lane)
            (self.claims[lane],) = claimed.claims
        delivery = await self.backend.broker.next_job(self.claims[lane], wait=0)
        assert delivery is not None
        return delivery

    async def do(
        self, text: str, *, intent: Intent = Intent.EDIT, session: str = "s1", lane: Lane = AMELIA
    ) -> Outcome:
        """Carry one job out, from its queue to its end."""
        delivery = await self.submitted(text, intent=intent, session=session, lane=lane)
        outcome = await Performance(self.tools).run(delivery, Stop())
        await self.backend.broker.settle(delivery, outcome, more=False)
        return outcome

    async def undo(self, *, session: str = "s1") -> Outcome:
        return await self.do("undo", intent=Intent.UNDO, session=session)

    async def redo(self, *, session: str = "s1") -> Outcome:
        return await self.do("redo", intent=Intent.REDO, session=session)

    async def publish(self) -> Outcome:
        return await self.do("publish", intent=Intent.PUBLISH)

    def served(self, place: Place = Place.PREVIEW) -> dict[str, bytes]:
        """Every file of a place, as people get it."""
        places = json.loads((self.folder / "sites" / "amelia" / "places.json").read_text())
        shown = places.get(place.value)
        if not shown:
            return {}
        root = self.folder / "sites" / "amelia" / "releases" / shown["release"] / "site"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def log(self, branch: str = "webordinary/edit") -> list[str]:
        return git("log", "--format=%s", branch, cwd=self.repository).splitlines()
