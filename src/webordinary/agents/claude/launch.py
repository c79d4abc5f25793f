"""Starting the program: a script that the SDK takes for Claude Code, and that starts it in the sandbox."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, project_key_for_directory

from webordinary.agents.claude.options import TOOLS, ClaudeOptions, bundled_cli
from webordinary.agents.claude.telling import system_prompt
from webordinary.agents.claude.transcript import TranscriptFile
from webordinary.core.errors import NotFound
from webordinary.core.work import Room
from webordinary.sandbox.allowance import Allowance
from webordinary.sandbox.process_limit import ProcessLimit
from webordinary.sandbox.process_tree import ProcessTree
from webordinary.sandbox.sandbox import Sandbox, Seen

RETRIES = 2  # its own default is ten, with long pauses
MESSAGE_BYTES = 32 * 1024 * 1024  # a picture that it looks at comes as one message
LOOK_AGAIN_SECONDS = 0.005

# It leaves its process number and becomes the program, in a session of its own: a Ctrl-C is for the worker.
SCRIPT = """#!/bin/sh
echo $$ > {leader}
exec {setsid} {command} "$@"
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """All that is needed to start the program for one run, any number of times."""

    script: Path
    leader: Path  # where it leaves its process number
    seen: Seen
    transcripts: TranscriptFile
    room: Room
    sandboxed: bool
    options: ClaudeOptions
    allowance: Allowance

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
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def prepare(
    options: ClaudeOptions,
    sandbox: Sandbox,
    allowance: Allowance,
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
        allowance=allowance,
        socket=socket,
    )
    script, leader = folder / "claude", folder / "leader"
    command = shlex.join(limit.holding(wrapped.command))
    text = SCRIPT.format(leader=shlex.quote(str(leader)), setsid=shlex.quote(setsid), command=command)
    script.write_text(text)
    script.chmod(0o700)
    project = project_key_for_directory(wrapped.seen.tree)
    transcripts = TranscriptFile(room.home, project, options.session_bytes_max)
    return Launch(script, leader, wrapped.seen, transcripts, room, sandbox.confines, options, allowance)


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
