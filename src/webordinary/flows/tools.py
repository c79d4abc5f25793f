"""Everything that carrying a job out takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webordinary.ports.agent import Agent
from webordinary.ports.backend import Backend
from webordinary.ports.blobs import Blobs
from webordinary.ports.builder import Builder
from webordinary.ports.camera import Camera
from webordinary.ports.mail_reader import MailReader
from webordinary.ports.mailer import Letters
from webordinary.ports.publisher import Publisher
from webordinary.ports.workspaces import History, Repositories, Workspaces


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
    letters: Letters | None = None  # what was sent: a mail that quotes it says nothing new
