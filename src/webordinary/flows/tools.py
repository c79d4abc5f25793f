"""Everything that carrying a job out takes: the ports, and the job with all that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webordinary.core.claim import Delivery
from webordinary.core.facts import Facts, SessionMemory, UnfinishedWork
from webordinary.core.mail import MailRecord
from webordinary.core.site import Project
from webordinary.core.views import JobView
from webordinary.ports.agent import Agent
from webordinary.ports.backend import Backend
from webordinary.ports.blobs import Blobs
from webordinary.ports.builder import Builder
from webordinary.ports.camera import Camera
from webordinary.ports.handler import Stop
from webordinary.ports.mail_reader import MailReader
from webordinary.ports.mailer import SentLetters
from webordinary.ports.publisher import Publisher
from webordinary.ports.workspaces import History, Repositories, Signed, Workspace, Workspaces
from webordinary.work.prompt import gist
from webordinary.work.session_memory import carried_on


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports that the work goes through."""

    backend: Backend
    blobs: Blobs
    reader: MailReader
    workspaces: Workspaces
    history: History
    repositories: Repositories
    starter: Path  # what a repository of our own making begins with
    agent: Agent
    builder: Builder
    publisher: Publisher
    camera: Camera | None = None
    letters: SentLetters | None = None  # what was sent: a mail that quotes it says nothing new


@dataclass(frozen=True, slots=True)
class Task:
    """One job with all that belongs to it."""

    delivery: Delivery
    project: Project
    workspace: Workspace
    stop: Stop
    memory: SessionMemory
    mail: MailRecord | None
    unfinished: tuple[UnfinishedWork, ...] = ()  # jobs of the lane that came to nothing just before
    taken: tuple[JobView, ...] = ()  # requests that this one interrupted and carries out in their place

    @property
    def signed(self) -> Signed:
        """How its commits are signed."""
        sender = self.mail.from_address if self.mail else f"{self.delivery.claim.lane}"
        return Signed(gist(self.delivery.job.instruction), "", sender)

    def without_change(self, happened: str) -> Facts:
        """What it leaves if it comes to nothing: what was kept of those before it stays so."""
        return Facts(memory=self.memory.after(happened), unfinished_before=carried_on(self.unfinished))
