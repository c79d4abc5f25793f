"""Projects, their members, and conversations about them."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.core.mail import SessionId
from webordinary.core.text import storable


@dataclass(frozen=True, slots=True)
class Project:
    """A site that can be edited by mail."""

    name: str
    arrival: Arrival = Arrival.INTERRUPT
    repository: str = ""  # path or URL; "" means one of our own making
    created_at: float = 0.0
    build: str = ""  # a command line, run in the sandbox; "" means plain HTML that needs none
    output: str = ""  # the folder that is published, relative to the repository; "" means all of it


@dataclass(frozen=True, slots=True)
class Member:
    """Who may edit a project, and from which address."""

    lane: Lane
    address: str  # lower case


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation (mail thread) in a lane: a git branch and the agent's own resumable session."""

    id: SessionId
    lane: Lane
    subject: str
    started_at: float

    def __post_init__(self) -> None:
        """Keep a subject whatever is in it."""
        object.__setattr__(self, "subject", storable(self.subject))

    @property
    def branch(self) -> str:
        """The git branch of this conversation."""
        return f"session/{self.id}"
