"""Putting a worker together: who carries jobs out, with which agent in which sandbox, and its name."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shutil
import socket
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from webordinary import samples
from webordinary.agents.command import CommandAgent
from webordinary.agents.handlers import Command, Echo, Logged, Sleep, find_program
from webordinary.claim.worker import Shape, Worker
from webordinary.core.claim import Presence, WorkerId
from webordinary.core.errors import BadInput
from webordinary.flows.perform import Performance
from webordinary.flows.tools import Tools
from webordinary.mail.reader import PooledMailReader
from webordinary.ports.agent import Agent
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.handler import Handler
from webordinary.sandbox import RunLimits, Sandbox, choose_sandbox, probe
from webordinary.sites.builder import SiteBuilder
from webordinary.sites.camera import BrowserCamera
from webordinary.sites.git.workspaces import GitHistory, GitWorkspaces
from webordinary.system.clock import SystemClock
from webordinary.system.function_pool import FunctionPool
from webordinary.wiring.embedded import workspace_folder
from webordinary.wiring.platform import platform_of
from webordinary.wiring.settings import Settings, WorkSettings

KEY_VARIABLE = "ANTHROPIC_API_KEY"
GB = 1 << 30
METADATA_VARIABLE = "ECS_CONTAINER_METADATA_URL_V4"
METADATA_SECONDS = 2.0  # it is on the same machine
METADATA_BYTES = 1_000_000
NAME_CHARACTERS = 40
TERMINATE_SHARE = 0.8  # of the stop grace, for a program to end by itself; the rest is for killing it

log = logging.getLogger("webordinary.worker")


async def _nothing() -> None:
    """There is nothing to let go of."""


@dataclass(frozen=True, slots=True)
class OpenHandler:
    """Whoever carries jobs out, what to call it, and how to let go of it."""

    handler: Handler
    name: str
    close: Callable[[], Awaitable[None]] = _nothing


def handler_name(settings: Settings) -> str:
    """Say who will carry jobs out; what can't be run here is refused."""
    if settings.handler == "command":
        _command(settings)
    if settings.handler != "site":
        return f"handler {settings.handler}"
    agent, why = _check_agent(settings)
    return f"agent {agent} ({why})"


def open_handler(settings: Settings, backend: Backend) -> OpenHandler:
    """Make whoever carries jobs out; the log says when it starts and ends one."""
    match settings.handler:
        case "echo":
            return OpenHandler(Logged(Echo()), handler_name(settings))
        case "sleep":
            return OpenHandler(Logged(Sleep()), handler_name(settings))
        case "command":
            return OpenHandler(Logged(_command(settings)), handler_name(settings))
        case _:
            name = handler_name(settings)
            performance, close = _open_performance(settings, backend, SystemClock())
            return OpenHandler(Logged(performance), name, close)


def _command(settings: Settings) -> Handler:
    if not settings.command:
        raise BadInput(
            "the command handler needs a program: write it after --, as in `worker -- python3 edit.py`"
        )
    if find_program(settings.command[0]) is None:
        raise BadInput(f"there is no program {settings.command[0]!r} that can be run here")
    return Command(settings.command, settings.limits.stop_grace_seconds * TERMINATE_SHARE)


def build_worker(
    settings: Settings, backend: Backend, handler: OpenHandler, shape: Shape
) -> tuple[Presence, Worker]:
    """Make a worker with a name that no other start will ever have."""
    clock = SystemClock()
    host, pid = short_host(), os.getpid()
    # The last part also tells two starts within one task apart.
    name = WorkerId(f"{task_name() or f'{host}.{pid}'}.{clock.unique()[-6:]}")
    presence = Presence(name, settings.slots, clock.now(), host=host, pid=pid)
    return presence, Worker(presence, backend.broker, handler.handler, clock, settings.limits, shape)


def short_host() -> str:
    """Name this machine, without its domain."""
    return re.sub(r"[^a-z0-9-]", "", socket.gethostname().split(".")[0].lower())[:20] or "here"


def _check_agent(settings: Settings, environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Say which agent will work and why that one; refuse what can't be run here now, not at the first job."""
    work = settings.work
    if shutil.which("git") is None:
        raise BadInput("sites are edited with git, and there is none here: install it (apt install git)")
    name, why = chosen_agent(work, environment)
    sandbox = choose_sandbox(work.sandbox)
    if name != "demo":
        probe(sandbox)
    _agent(name, settings, sandbox, environment)
    return name, why


def _open_performance(
    settings: Settings, backend: Backend, clock: Clock, environment: Mapping[str, str] = os.environ
) -> tuple[Performance, Callable[[], Awaitable[None]]]:
    """Open all that edits a site, and how to let go of it."""
    work, home = settings.work, settings.home
    name, _ = chosen_agent(work, environment)
    sandbox = choose_sandbox(work.sandbox)
    pool, platform = FunctionPool(processes=1), platform_of(settings)
    publisher, repositories = platform.sites()
    workspaces = GitWorkspaces(
        workspace_folder(home, work),
        disk_cap_bytes=int(work.disk_gb * GB),
        clock=clock,
        network_environment=dict(environment),
        store=platform.store_id(),
    )
    tools = Tools(
        backend=backend,
        blobs=backend.blobs,
        reader=PooledMailReader(pool, (settings.mail.domain,)),
        workspaces=workspaces,
        history=GitHistory(workspaces),
        repositories=repositories,
        starter=samples.folder("starter"),
        agent=_agent(name, settings, sandbox, environment),
        builder=SiteBuilder(sandbox, RunLimits(seconds=60 * work.build_minutes, memory_bytes=_memory(work))),
        publisher=publisher,
        camera=BrowserCamera() if work.browser else None,
        letters=platform.letters(),
    )
    return Performance(tools), pool.close


def chosen_agent(work: WorkSettings, environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Say which agent edits sites here, and why that one."""
    if work.agent != "auto":
        return work.agent, "as the settings say"
    from webordinary.agents.claude.options import claude_available

    missing = claude_available()
    if missing is not None:
        return "demo", missing
    if not environment.get(KEY_VARIABLE):
        return "demo", f"Claude Code has no key: {KEY_VARIABLE} is not set"
    return "claude", f"Claude Code is installed and {KEY_VARIABLE} is set"


def _memory(work: WorkSettings) -> int:
    return int(work.memory_gb * GB)


def _agent(name: str, settings: Settings, sandbox: Sandbox, environment: Mapping[str, str]) -> Agent:
    work, limits = settings.work, settings.limits
    run_limits = RunLimits(seconds=limits.job_budget_seconds, memory_bytes=_memory(work))
    match name:
        case "demo":
            from webordinary.agents.demo import DemoAgent

            return DemoAgent()
        case "command":
            return CommandAgent(work.command, sandbox, run_limits)
        case _:
            from webordinary.agents.claude.agent import ClaudeAgent
            from webordinary.agents.claude.options import ClaudeOptions, claude_available

            missing, key = claude_available(), environment.get(KEY_VARIABLE, "")
            if missing is not None or not key:
                raise BadInput(f"the claude agent can't run: {missing or f'{KEY_VARIABLE} is not set'}")
            options = ClaudeOptions(
                key=key,
                base_url=work.model_url,
                model=work.model,
                budget_usd=work.budget_usd,
                idle_seconds=work.quiet_seconds,
            )
            return ClaudeAgent(options, sandbox)


def task_name(environment: Mapping[str, str] = os.environ) -> str | None:
    """Say as which task the container service runs us; None where there is none, or it does not say."""
    address = environment.get(METADATA_VARIABLE, "")
    if not address.startswith("http://"):
        return None
    try:
        with urllib.request.urlopen(f"{address}/task", timeout=METADATA_SECONDS) as answer:  # noqa: S310 - http, see above
            arn = json.loads(answer.read(METADATA_BYTES))["TaskARN"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("the container service does not say who we are (%s); a name was made up", error)
        return None
    return re.sub(r"[^A-Za-z0-9-]", "", str(arn).rpartition("/")[2])[:NAME_CHARACTERS] or None


@asynccontextmanager
async def replies(settings: Settings, backend: Backend) -> AsyncIterator[None]:
    """Send replies while something else is done, where no gateway does.

    There mail comes in without a process of ours, so workers are the only ones that are there. A worker hears
    at once of what it settled itself, and looks now and then for what others owe.
    """
    if not platform_of(settings).traits.mail_service:
        yield
        return
    # What mail takes is loaded only here: a bare worker needs none of it.
    from webordinary.wiring.mail import open_mail_room

    room = open_mail_room(settings, backend)
    sending = asyncio.create_task(room.sender.run())
    try:
        yield
    finally:
        room.sender.stop()
        await sending
        await room.close()
