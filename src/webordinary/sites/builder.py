"""Building a site in the sandbox: the project's own command, without network, within limits."""

from __future__ import annotations

import asyncio
import shlex
import stat
from pathlib import Path, PurePosixPath
from typing import assert_never

from webordinary.core.errors import NotFound
from webordinary.core.site import Project
from webordinary.core.text import storable
from webordinary.core.work import BuildFailed, Built, Room
from webordinary.sandbox.probe import probe
from webordinary.sandbox.run import run_confined
from webordinary.sandbox.sandbox import (
    Exited,
    Interrupted,
    OverBudget,
    RunLimits,
    RunResult,
    Sandbox,
    SandboxUnavailable,
    TimedOut,
)

BUILD_SECONDS = 300.0
LOG_LINES, LOG_CHARACTERS = 30, 4_000


class SiteBuilder:
    """See `Builder`."""

    def __init__(self, sandbox: Sandbox, run_limits: RunLimits | None = None) -> None:
        """Build in this sandbox, which is tried before the first build."""
        self._sandbox, self._is_tried = sandbox, False
        self._allowance = run_limits or RunLimits(seconds=BUILD_SECONDS)

    async def build(self, project: Project, room: Room) -> Built | BuildFailed:
        """See `Builder.build`."""
        if project.build.strip():
            try:
                failure = _failure(await self._ran(project.build, room))
            except (NotFound, SandboxUnavailable) as error:
                return BuildFailed(f"The site was not built: {error}.")
            except ValueError as error:
                return BuildFailed(f"The build command {project.build!r} can't be read: {error}.")
            if failure is not None:
                return failure
        return output_folder(room.tree, project.output)

    async def _ran(self, build: str, room: Room) -> RunResult:
        command = shlex.split(build)
        if not self._is_tried:
            await asyncio.to_thread(probe, self._sandbox)
            self._is_tried = True
        wrapped = self._sandbox.wrap(command, room, environment={}, run_limits=self._allowance)
        return await run_confined(wrapped, self._allowance)


def _failure(ran: RunResult) -> BuildFailed | None:
    log = "\n".join(storable(ran.tail).splitlines()[-LOG_LINES:])[-LOG_CHARACTERS:]
    match ran.ending:
        case Exited(0):
            return None
        case Exited(code):
            return BuildFailed(f"The build ended with exit code {code}.", log)
        case TimedOut():
            return BuildFailed("The build took longer than it may and was ended.", log)
        case OverBudget(which):
            return BuildFailed(f"The build went over its limit of {which} and was ended.", log)
        case Interrupted():
            return BuildFailed("The build was stopped.", log)
        case _:
            assert_never(ran.ending)


def output_folder(tree: Path, output: str) -> Built | BuildFailed:
    """Find the folder to publish. Every step to it must be a real folder: a link may lead anywhere."""
    steps = PurePosixPath(output)
    if steps.is_absolute() or ".." in steps.parts or "\0" in output:
        return BuildFailed(f"The folder to publish, {output!r}, is not inside the site.")
    folder = tree
    for step in steps.parts:
        folder /= step
        try:
            mode = folder.lstat().st_mode
        except OSError:
            return BuildFailed(f"There is no folder {output!r} to publish.")
        if not stat.S_ISDIR(mode):
            return BuildFailed(f"The folder to publish, {output!r}, is a link or a file, not a folder.")
    return Built(folder)
