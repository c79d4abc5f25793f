"""One git command: nothing of our surroundings in it, bounded, and gone when it is cancelled."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from webordinary.core.errors import BackendUnavailable
from webordinary.system.process_output import OutputHead
from webordinary.system.processes import ChildProcess, Program, uncancelled

OUTPUT_BYTES = 64 * 2**20  # far more than any command here needs to say
WORDS_BYTES = 8_192  # kept of what a command complains about
WORDS_CHARACTERS = 500  # of it shown to people
LOCAL_SECONDS = 600.0
NETWORK_SECONDS = 900.0  # a first clone of a large repository takes its time
GRACE_SECONDS = 2.0  # asked to end, git takes its lock files away

SETTINGS: Mapping[str, str] = {
    # nothing that a repository or a tree could bring along is run
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    # nothing runs behind our back
    "gc.auto": "0",
    "gc.autoDetach": "false",
    "maintenance.auto": "false",
    # the bytes in a tree are the bytes in a commit
    "core.autocrlf": "false",
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.ignoreCase": "false",
    "core.sparseCheckout": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "merge.conflictStyle": "merge",
    "merge.directoryRenames": "false",
    "init.defaultBranch": "main",
}
ENVIRONMENT: Mapping[str, str] = {
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
}
_OPTIONS = tuple(word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}"))
_CREDENTIALS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^/\s'\"]*@")
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class GitResult:
    """How a command ended, and what it said."""

    code: int
    out: bytes
    words: str  # what it complained about, without credentials
    cut: bool = False  # there was more output than was asked for


async def run_git(
    *arguments: str,
    environment: Mapping[str, str],
    folder: Path,
    stdin: bytes = b"",
    limit: int = OUTPUT_BYTES,
    seconds: float = LOCAL_SECONDS,
    held: Sequence[int] = (),
) -> GitResult:
    """Run git in a folder. `held` stay open in it: a lock is not free before the last of its users ended."""
    whole = {"PATH": os.environ.get("PATH", os.defpath)} | dict(ENVIRONMENT) | dict(environment)
    program = Program(("git", *_OPTIONS, *arguments), stdin, whole, folder, held)
    out, complaints = OutputHead(limit), OutputHead(WORDS_BYTES)
    try:
        child = await ChildProcess.start(program, output=out, errors=complaints)
    except FileNotFoundError as error:
        raise BackendUnavailable("git can't be started: is it installed?") from error
    try:
        async with asyncio.timeout(seconds):
            await child.wait_or_stop(out.cut.wait(), all_output=True)
    except TimeoutError as error:
        raise BackendUnavailable(f"git {arguments[0]} took longer than {seconds:.0f} seconds") from error
    finally:
        await child.end(GRACE_SECONDS)
    words = without_credentials(complaints.data.decode(errors="replace"))
    return GitResult(await child.wait(), bytes(out.data), words, cut=out.cut.is_set())


def without_credentials(text: str) -> str:
    """Take user names, passwords and tokens out of all addresses in a text."""
    return _CREDENTIALS.sub(r"\1", text)


def shown(words: str) -> str:
    """What git complained about, short enough for a person."""
    lines = [line.strip() for line in words.splitlines() if line.strip() and not line.startswith("hint:")]
    return "; ".join(lines)[:WORDS_CHARACTERS] or "git gave no reason"


async def in_thread(work: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
    """Do file work beside the loop. A cancellation waits for its end: nothing goes on behind the next job."""
    return await uncancelled(asyncio.to_thread(work, *given, **named))
