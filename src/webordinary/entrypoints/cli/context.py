"""The operator's context: settings and an open store, for as long as a command runs."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from webordinary.claim.wait_reasons import explained
from webordinary.core.errors import NotFound
from webordinary.core.job import JobState
from webordinary.core.site import Member
from webordinary.core.views import JobView, LaneView
from webordinary.core.waiting import Reason
from webordinary.entrypoints.cli.arguments import LIST_MAX
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.system.clock import SystemClock
from webordinary.wiring.embedded import store_path
from webordinary.wiring.platform import Platform, platform_of
from webordinary.wiring.settings import Settings, home_folder, load

PAGE = 500


@dataclass(frozen=True, slots=True)
class Context:
    """What a command works with."""

    settings: Settings
    backend: Backend
    clock: Clock
    platform: Platform

    async def lanes(self, limit: int = LIST_MAX, *, busy: bool = False) -> list[LaneView]:
        """List lanes by name, page by page; with `busy` only those that have work or an owner."""
        found: list[LaneView] = []
        while len(found) < limit:
            after = found[-1].lane if found else None
            page = await self.backend.ledger.lanes(
                limit=min(PAGE, limit - len(found)), after=after, busy=busy
            )
            found += page
            if len(page) < PAGE:
                break
        return found

    async def reasons(self, lanes: list[LaneView]) -> list[tuple[LaneView, Reason]]:
        """Say of each lane what it waits for."""
        workers = await self.backend.ledger.workers()
        return await explained(self.backend.ledger, lanes, workers, self.settings.limits, self.clock.now())

    async def reason(self, job: JobView) -> Reason:
        """Say what a job's lane waits for."""
        (_, reason), *_ = await self.reasons([await self.backend.ledger.lane(job.lane)])
        return reason

    async def members(self, limit: int = PAGE) -> list[Member]:
        """List who may edit what."""
        projects = await self.backend.directory.projects(limit=limit)
        return [one for project in projects for one in await self.backend.directory.members(project.name)]

    async def dead(self, limit: int = LIST_MAX) -> list[JobView]:
        """List dead letters, newest first."""
        return await self.backend.ledger.jobs(limit=limit, state=JobState.DEAD)


@contextlib.contextmanager
def open_context(settings: Settings, *, create: bool) -> Iterator[Context]:
    """Open the store of a home folder. Commands that only look do not create one by mistake."""
    platform = platform_of(settings)
    if not create and platform.traits.is_local and not store_path(settings.home).exists():
        raise NotFound(
            f"there is nothing in {settings.home} yet: start a pool with `webordinary up`, "
            "or name the right folder with --home"
        )
    clock = SystemClock()
    backend = platform.backend(clock)
    try:
        yield Context(settings, backend, clock, platform)
    finally:
        backend.close()


def in_context(
    args: argparse.Namespace,
    ask: Callable[[argparse.Namespace, Context], Awaitable[int]],
    *,
    create: bool = False,
) -> int:
    """Run what a command asks of an open store."""
    with open_context(load(home_folder(args.home)), create=create) as context:

        async def asked() -> int:
            return await ask(args, context)

        return asyncio.run(asked())
