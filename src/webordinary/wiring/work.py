"""Putting the work together: which agent, in which sandbox, on which workspaces, published where."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from webordinary import samples
from webordinary.agents.command import CommandAgent
from webordinary.core.errors import BadInput
from webordinary.flows.perform import Performance
from webordinary.flows.tools import Tools
from webordinary.ports.agent import Agent
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.sandbox import RunLimits, Sandbox, choose_sandbox, probe
from webordinary.sites.builder import SiteBuilder
from webordinary.sites.camera import BrowserCamera
from webordinary.sites.git.workspaces import GitHistory, GitWorkspaces
from webordinary.system.bounded import Bounded, BoundedReader
from webordinary.wiring.folders import workspace_folder
from webordinary.wiring.home_secrets import store_identity
from webordinary.wiring.settings import Settings, WorkSettings
from webordinary.wiring.stores import open_letters, open_publisher, open_repositories

KEY_VARIABLE = "ANTHROPIC_API_KEY"
GB = 1 << 30


@dataclass(frozen=True, slots=True)
class Workshop:
    """Who carries jobs out, and how to let go of it all."""

    performance: Performance
    close: Callable[[], Awaitable[None]]


def check_workshop(settings: Settings, environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
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


def open_workshop(
    settings: Settings, backend: Backend, clock: Clock, environment: Mapping[str, str] = os.environ
) -> Workshop:
    """Open the workshop of a home folder."""
    work, home = settings.work, settings.home
    name, _ = chosen_agent(work, environment)
    sandbox = choose_sandbox(work.sandbox)
    bounded = Bounded(processes=1)
    workspaces = GitWorkspaces(
        workspace_folder(home, work),
        disk_cap_bytes=int(work.disk_gb * GB),
        clock=clock,
        network_environment=dict(environment),
        store=store_identity(settings),
    )
    tools = Tools(
        backend=backend,
        blobs=backend.blobs,
        reader=BoundedReader(bounded, (settings.mail.address.rpartition("@")[2],)),
        workspaces=workspaces,
        history=GitHistory(workspaces),
        repositories=open_repositories(settings),
        starter=samples.folder("starter"),
        agent=_agent(name, settings, sandbox, environment),
        builder=SiteBuilder(sandbox, RunLimits(seconds=60 * work.build_minutes, memory_bytes=_memory(work))),
        publisher=open_publisher(settings),
        camera=BrowserCamera() if work.browser else None,
        letters=open_letters(settings),
    )
    return Workshop(Performance(tools), bounded.close)


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
