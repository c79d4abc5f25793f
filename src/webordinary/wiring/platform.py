"""A backend with all that belongs to it, and what it says of itself. `platform_of` alone picks one.

What the cloud needs is loaded only there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.mailer import Mailer, SentLetters
from webordinary.ports.publisher import Publisher
from webordinary.ports.workflow import Workflow
from webordinary.ports.workspaces import Repositories
from webordinary.system.clock import SystemClock
from webordinary.wiring.settings import AWS, Settings

STORE_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Traits:
    """What is different between backends, for those who have to know."""

    store_name: str  # where the store is, for people
    is_local: bool  # store, sites and secrets are in the home folder, and `up` runs everything
    mail_service: str = ""  # takes mail in and sends it without a process of ours; "": the gateway does both
    lanes_need_setup: bool = False  # a lane's queues and a site's buckets are made when somebody is onboarded
    makes_repositories: bool = True  # for sites that have none elsewhere


class Platform(Protocol):
    """Everything that is one thing on this machine and another in the cloud."""

    @property
    def traits(self) -> Traits:
        """What it says of itself."""
        ...

    def backend(self, clock: Clock) -> Backend:
        """Open the store."""
        ...

    async def check(self) -> None:
        """Refuse to start where something is missing, in one sentence, and not only at the first job."""
        ...

    def letters(self) -> SentLetters:
        """Where a copy of every reply is."""
        ...

    def mailer(self) -> Mailer | None:
        """Sends replies, where no relay is set; None: the copy is all there is."""
        ...

    def sites(self) -> tuple[Publisher, Repositories]:
        """Where sites are published, and the repositories of those that have none elsewhere."""
        ...

    def workflow(self) -> Workflow | None:
        """Who follows jobs from outside the store, if anybody does."""
        ...

    def signing_key(self) -> bytes:
        """Signs reply addresses: whoever reads mail and whoever writes it need the same."""
        ...

    def store_id(self) -> str:
        """Name the store that claims come from: a new home has another one, and so have other tables."""
        ...


def store_id(which: str) -> str:
    """Name a store without telling what makes it the one."""
    return hashlib.sha256(which.encode()).hexdigest()[:STORE_ID_DIGITS]


def platform_of(settings: Settings) -> Platform:
    """Pick the backend that the settings name."""
    if settings.backend == AWS:
        from webordinary.wiring.cloud import AwsPlatform  # noqa: PLC0415 - its extra is needed only there

        return AwsPlatform(settings)
    from webordinary.wiring.embedded import EmbeddedPlatform  # noqa: PLC0415 - not needed in the cloud

    return EmbeddedPlatform(settings)


def open_backend(settings: Settings, clock: Clock | None = None) -> Backend:
    """Open the store that the settings name."""
    return platform_of(settings).backend(clock or SystemClock())
