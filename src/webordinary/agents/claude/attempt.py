"""One start of Claude Code in the sandbox: prepared, asked, listened to, and ended with all its processes."""

from __future__ import annotations

import asyncio
import logging
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    Message,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    UserMessage,
    project_key_for_directory,
)

from webordinary.agents.claude.options import TOOLS, ClaudeOptions, bundled_cli
from webordinary.agents.claude.outcomes import system_prompt
from webordinary.agents.claude.transcript import TranscriptFile
from webordinary.core.errors import NotFound
from webordinary.core.work import Room
from webordinary.sandbox.process_tree import ProcessTree
from webordinary.sandbox.run import ProcessLimit
from webordinary.sandbox.sandbox import Ending, Interrupted, RunLimits, Sandbox, VisiblePaths
from webordinary.sandbox.watchdog import Watchdog
from webordinary.system.processes import kill_until, uncancelled

RETRIES = 2  # its own default is ten, with long pauses
MESSAGE_BYTES = 32 * 1024 * 1024  # a picture that it looks at comes as one message
START_LOOK_SECONDS = 0.005

WRITTEN_SECONDS = 0.5  # for the transcript to be on the disk; it is there before the result, as far as seen
LOOK_AGAIN_SECONDS = 0.01
TROUBLE_CHARACTERS = 500

# It logs every program that we killed as a fatal error. What is one, we tell ourselves.
logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL)

# What the SDK takes for Claude Code. It leaves its process number and becomes the program, in the sandbox and
# in a session of its own: a Ctrl-C is for the worker.
SCRIPT = """#!/bin/sh
echo $$ > {leader}
exec {setsid} {command} "$@"
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """All that is needed to start the program for one run, any number of times."""

    script: Path
    leader: Path  # where it leaves its process number
    seen: VisiblePaths
    transcripts: TranscriptFile
    room: Room
    sandboxed: bool
    options: ClaudeOptions
    run_limits: RunLimits

    def sdk_options(self, resume: str | None, on_error: Callable[[str], None]) -> ClaudeAgentOptions:
        """What the SDK is told: the mail's text is text, and nothing that lies in the tree is obeyed."""
        self.leader.unlink(missing_ok=True)
        return ClaudeAgentOptions(
            cli_path=self.script,
            cwd="/",  # of the script; the sandbox begins in the tree
            model=self.options.model,
            system_prompt={
                "type": "preset",
                "preset": "claude_code",
                "append": system_prompt(self.seen.mail),
            },
            tools=list(TOOLS),
            allowed_tools=list(TOOLS),
            add_dirs=[self.seen.mail],
            # Inside the sandbox all is allowed; outside, the program itself keeps its edits to the tree.
            permission_mode="bypassPermissions" if self.sandboxed else "acceptEdits",
            verbatim_prompts=True,
            setting_sources=[],
            strict_mcp_config=True,
            max_budget_usd=self.options.budget_usd,
            max_turns=self.options.turns_max,
            max_buffer_size=MESSAGE_BYTES,
            include_partial_messages=True,  # as signs of life while it writes something long
            resume=resume,
            stderr=on_error,
        )

    async def started(self, connecting: asyncio.Future[None]) -> ProcessTree | None:
        """Wait for the program's process; None if the start failed before there was one."""
        while True:
            try:
                return ProcessTree(int(self.leader.read_text()))
            except (FileNotFoundError, ValueError):
                if connecting.done():
                    return None
            await asyncio.sleep(START_LOOK_SECONDS)


def prepare(
    options: ClaudeOptions,
    sandbox: Sandbox,
    run_limits: RunLimits,
    room: Room,
    folder: Path,
    socket: Path,
    limit: ProcessLimit,
) -> Launch:
    """Write the script into a private folder. `socket` is the only way to the model."""
    setsid = shutil.which("setsid")
    if setsid is None:
        raise NotFound("the program 'setsid' is not there: install util-linux")
    wrapped = sandbox.wrap(
        [str(bundled_cli())],
        room,
        environment=_environment(options, sandboxed=sandbox.confines),
        run_limits=run_limits,
        socket=socket,
    )
    script, leader = folder / "claude", folder / "leader"
    command = shlex.join(limit.holding(wrapped.command))
    text = SCRIPT.format(leader=shlex.quote(str(leader)), setsid=shlex.quote(setsid), command=command)
    script.write_text(text)
    script.chmod(0o700)
    project = project_key_for_directory(wrapped.seen.tree)
    transcripts = TranscriptFile(room.home, project, options.session_bytes_max)
    return Launch(script, leader, wrapped.seen, transcripts, room, sandbox.confines, options, run_limits)


def _environment(options: ClaudeOptions, *, sandboxed: bool) -> dict[str, str]:
    tool_milliseconds = str(int(options.idle_seconds * 1000 * 2 / 3))  # a tool must not look like a stall
    environment = {
        "ANTHROPIC_API_KEY": "kept-outside",  # it wants one; the gateway puts the real one in its place
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
        "DISABLE_AUTOUPDATER": "1",
        "BASH_DEFAULT_TIMEOUT_MS": tool_milliseconds,
        "BASH_MAX_TIMEOUT_MS": tool_milliseconds,
    }
    return environment | ({"IS_SANDBOX": "1"} if sandboxed else {})


@dataclass(slots=True)
class Heard:
    """What became known of one start."""

    session: str = ""  # empty: it never began to work
    said: str = ""  # its last words
    result: ResultMessage | None = None
    silent: bool = False  # nothing was heard for too long
    trouble: str = ""  # why there is no result: what it wrote last to standard error, or what the SDK says
    verdict: Ending | None = None  # why the sandbox ended it
    last_line: str = ""  # of the transcript, by its id

    def take(self, message: Message) -> None:
        """Learn from a message."""
        if isinstance(message, SystemMessage) and message.subtype == "init":
            self.session = str(message.data.get("session_id", ""))
        elif isinstance(message, ResultMessage):
            self.result = message
        elif isinstance(message, AssistantMessage | UserMessage):
            self.last_line = message.uuid or self.last_line
        if isinstance(message, AssistantMessage):
            texts = [block.text for block in message.content if isinstance(block, TextBlock)]
            self.said = "\n".join(texts).strip() or self.said

    def take_error(self, line: str) -> None:
        """Learn from a line on standard error."""
        self.trouble = line.strip()[:TROUBLE_CHARACTERS] or self.trouble


class Attempt:
    """Starts the program once; may be asked to stop, and killed, while it runs."""

    def __init__(self, launch: Launch, tell: Callable[[Message], None]) -> None:
        """Tell each message as it comes."""
        self._launch, self._tell = launch, tell
        self._client: ClaudeSDKClient | None = None  # once it listens
        self._watchdog: Watchdog | None = None

    async def run(self, prompt: str, resume: str | None) -> Heard:
        """Have the prompt carried out. However this ends, no process is left."""
        heard = Heard()
        client = ClaudeSDKClient(self._launch.sdk_options(resume, heard.take_error))
        connecting = asyncio.ensure_future(client.connect())
        starting = asyncio.ensure_future(self._launch.started(connecting))
        try:
            tree = await uncancelled(starting)  # so that there is something to kill when it is cancelled
            if tree is None:
                heard.trouble = heard.trouble or str(connecting.exception())
                return heard
            folders = (self._launch.room.tree, self._launch.room.home)
            with Watchdog(tree, self._launch.run_limits, folders) as self._watchdog:
                try:
                    await self._converse(client, connecting, prompt, heard)
                finally:
                    heard.verdict = self._watchdog.verdict
                    tree.kill()  # at once: the last look of the watchdog may take a moment
        finally:
            self._client = None
            if (tree := starting.result()) is not None:
                await uncancelled(_kill_and_close(client, connecting, tree))
        return heard

    async def _converse(
        self, client: ClaudeSDKClient, connecting: asyncio.Future[None], prompt: str, heard: Heard
    ) -> None:
        try:
            await asyncio.shield(connecting)
            self._client = client
            await client.query(prompt)
            await self._listen(client, heard)
            await self._until_written(heard)
        except ClaudeSDKError as error:
            heard.trouble = heard.trouble or str(error)
        except Exception as error:
            # The SDK raises plain exceptions, too, when the program dies under a request of its own.
            if type(error) is not Exception:
                raise
            heard.trouble = heard.trouble or str(error)

    async def ask_to_stop(self) -> None:
        """Ask the program to stop; it answers with a result."""
        if self._client is not None:
            await self._client.interrupt()

    def kill(self) -> None:
        """Kill all its processes that are there now."""
        if self._watchdog is not None:
            self._watchdog.end(Interrupted())

    async def _listen(self, client: ClaudeSDKClient, heard: Heard) -> None:
        """Listen until the result, or until it was silent for too long."""
        clock, patience = asyncio.get_running_loop(), self._launch.options.idle_seconds
        try:
            async with asyncio.timeout(patience) as quiet:
                async for message in client.receive_response():
                    quiet.reschedule(clock.time() + patience)
                    if not isinstance(message, StreamEvent):
                        heard.take(message)
                        self._tell(message)
        except TimeoutError:
            if not quiet.expired():
                raise
            heard.silent = True

    async def _until_written(self, heard: Heard) -> None:
        """Wait until the last thing we heard is in the transcript, for we are going to kill its writer."""
        for _ in range(round(WRITTEN_SECONDS / LOOK_AGAIN_SECONDS)):
            written = self._launch.transcripts.read(heard.session)
            if not heard.last_line or written is None or heard.last_line.encode() in written:
                return
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


async def _kill_and_close(
    client: ClaudeSDKClient, connecting: asyncio.Future[None], tree: ProcessTree
) -> None:
    """Kill first; then the SDK has nothing to wait for. Kill until the leader, which goes last, has ended."""
    tree.kill()
    closing = asyncio.ensure_future(_close(client, connecting))
    await kill_until(tree, closing)
    closing.result()


async def _close(client: ClaudeSDKClient, connecting: asyncio.Future[None]) -> None:
    """A start that is under way fails by itself when the program is gone; to cancel it takes longer."""
    await asyncio.gather(connecting, return_exceptions=True)
    await client.disconnect()
