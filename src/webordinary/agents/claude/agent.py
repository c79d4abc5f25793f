"""Claude Code behind the agent's port. Import it only where `claude_available` found nothing missing."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from claude_agent_sdk import Message

from webordinary.agents.claude import outcomes
from webordinary.agents.claude.attempt import Attempt, Heard, Launch, prepare
from webordinary.agents.claude.options import ClaudeOptions
from webordinary.agents.claude.transcript import AGENT
from webordinary.core.errors import BadInput, NotFound
from webordinary.core.text import shortened
from webordinary.core.work import (
    EVENTS_MAX,
    AgentEvent,
    AgentResult,
    AgentTask,
    Broke,
    EventKind,
    Room,
    Stopped,
)
from webordinary.sandbox.gateway import ModelGateway
from webordinary.sandbox.run import ProcessLimit
from webordinary.sandbox.sandbox import RunLimits, Sandbox
from webordinary.system.processes import KILL_AGAIN_SECONDS

MINUTES_MAX = 30
FORGOTTEN = "the earlier conversation could not be gone on with; starting afresh, with a summary of it"


class ClaudeAgent:
    """See `Agent`. Must be started from the main thread: the kernel ties a sandbox to that thread's life."""

    name = AGENT

    def __init__(self, options: ClaudeOptions, sandbox: Sandbox, run_limits: RunLimits | None = None) -> None:
        """Run Claude Code in this sandbox."""
        self._options, self._sandbox = options, sandbox
        self._allowance = run_limits or RunLimits(seconds=60.0 * MINUTES_MAX)

    async def start(self, errand: AgentTask, room: Room) -> ClaudeRun:
        """See `Agent.start`."""
        return ClaudeRun(self._options, self._sandbox, self._allowance, errand, room)


class ClaudeRun:
    """See `AgentRun`. Made by `ClaudeAgent.start`."""

    def __init__(
        self, options: ClaudeOptions, sandbox: Sandbox, run_limits: RunLimits, errand: AgentTask, room: Room
    ) -> None:
        """Begin at once."""
        self._options, self._sandbox, self._allowance = options, sandbox, run_limits
        self._errand, self._room = errand, room
        self._events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._attempt: Attempt | None = None
        self._asked = False
        self._cost = 0.0
        self._running = asyncio.ensure_future(self._run())

    async def events(self) -> AsyncIterator[AgentEvent]:
        """See `AgentRun.events`."""
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)  # for whoever else listens

    async def interrupt(self) -> None:
        """See `AgentRun.interrupt`."""
        self._asked = True
        if self._attempt is not None and not self._running.done():
            asking = asyncio.ensure_future(self._attempt.ask_to_stop())
            await asyncio.wait((self._running,), timeout=self._options.grace_seconds)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        while not self._running.done():
            if self._attempt is not None:
                self._attempt.kill()
            await asyncio.wait((self._running,), timeout=KILL_AGAIN_SECONDS)

    async def result(self) -> AgentResult:
        """See `AgentRun.result`."""
        try:
            return await asyncio.shield(self._running)
        except asyncio.CancelledError:
            self._asked = True
            self._running.cancel()
            await asyncio.wait((self._running,))
            raise

    async def _run(self) -> AgentResult:
        self._emit(outcomes.event(EventKind.STARTED, f"Claude Code with {self._options.model}"))
        try:
            with contextlib.ExitStack() as stack:
                name = stack.enter_context(tempfile.TemporaryDirectory(prefix="webordinary-claude-"))
                folder = Path(name)
                gateway = ModelGateway(self._options.base_url, self._options.key)
                async with gateway.serve(folder) as socket:
                    launch = prepare(
                        self._options,
                        self._sandbox,
                        self._allowance,
                        self._room,
                        folder,
                        socket,
                        stack.enter_context(ProcessLimit(self._allowance.processes)),
                    )
                    return await self._carry_out(launch)
        except (BadInput, NotFound) as error:
            return Broke(f"The editor could not be started: {error}.", again=False)
        except OSError as error:
            why = error.strerror or error
            return Broke(f"The editor could not be started: {why}.", again=True)
        finally:
            self._events.put_nowait(None)

    async def _carry_out(self, launch: Launch) -> AgentResult:
        """Go on with the earlier conversation; where that is refused, start afresh once."""
        resume = self._brought_back(launch)
        if resume is not None:
            heard = await self._try(launch, self._errand.prompt, resume)
            if self._asked or not _is_history_refused(heard):
                return await self._outcome(launch, heard)
        if self._errand.resume is not None:
            self._emit(outcomes.event(EventKind.WARNED, FORGOTTEN))
            prompt = "\n\n".join(filter(None, (self._errand.recap, self._errand.prompt)))
        else:
            prompt = self._errand.prompt
        return await self._outcome(launch, await self._try(launch, prompt, None))

    def _brought_back(self, launch: Launch) -> str | None:
        """Put the earlier conversation where the program looks for it; give its id."""
        if self._errand.resume is None:
            return None
        conversation = launch.transcripts.unpack(self._errand.resume)
        if conversation is None or not launch.transcripts.write(conversation):
            return None
        return conversation.session

    async def _try(self, launch: Launch, prompt: str, resume: str | None) -> Heard:
        if self._asked:
            return Heard()
        self._attempt = Attempt(launch, lambda message: self._emit_message(message, launch))
        heard = await self._attempt.run(prompt, resume)
        self._cost += outcomes.cost_of(heard.result)
        return heard

    async def _outcome(self, launch: Launch, heard: Heard) -> AgentResult:
        """Say how it went. A result that is there counts, also when it was asked to stop just then."""
        result, cost = heard.result, self._cost
        if result is not None and not result.is_error:
            return outcomes.done(result, await self._session(launch, heard), cost)
        if self._asked:
            return Stopped(
                shortened(heard.said, outcomes.SUMMARY_CHARACTERS),
                await self._session(launch, heard),
                cost,
            )
        if heard.silent:
            return outcomes.fell_silent(cost)
        return outcomes.failed(result, cost) if result else outcomes.died(heard.verdict, heard.trouble, cost)

    async def _session(self, launch: Launch, heard: Heard) -> bytes | None:
        return await asyncio.to_thread(launch.transcripts.pack, heard.session)

    def _emit_message(self, message: Message, launch: Launch) -> None:
        for event in outcomes.events_of(message, launch.seen.tree):
            self._emit(event)

    def _emit(self, event: AgentEvent) -> None:
        """Keep an event for whoever listens, or drop it if nobody keeps up."""
        if self._events.qsize() < EVENTS_MAX:
            self._events.put_nowait(event)


def _is_history_refused(heard: Heard) -> bool:
    """Whether to try without the earlier conversation. A program that never began to work counts, too."""
    if heard.result is not None:
        return outcomes.is_history_refused(heard.result)
    return not heard.session and not heard.silent and heard.verdict is None
