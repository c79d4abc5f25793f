"""One git command: nothing of our surroundings in it, bounded, and gone when it is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from webordinary.core.errors import BackendUnavailable

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
class Ran:
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
) -> Ran:
    """Run git in a folder. `held` stay open in it: a lock is not free before the last of its users ended."""
    whole = {"PATH": os.environ.get("PATH", os.defpath)} | dict(ENVIRONMENT) | dict(environment)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write(stdin)
        given.seek(0)
        starting = asyncio.create_subprocess_exec(
            *("git", *_OPTIONS, *arguments),
            stdin=given,
            stdout=PIPE,
            stderr=complaints,
            env=whole,
            cwd=folder,
            pass_fds=tuple(held),
            start_new_session=True,
        )
        child = await _started(asyncio.ensure_future(starting))
        out = await _output(child, limit, seconds, arguments[0])
        complaints.seek(0)
        words = complaints.read(WORDS_BYTES).decode(errors="replace")
    assert child.returncode is not None
    return Ran(child.returncode, out[:limit], without_credentials(words), cut=len(out) > limit)


async def _started(starting: asyncio.Future[Process]) -> Process:
    """Wait for the start, which is quick; a cancellation is heeded when there is something to kill."""
    cancelled: asyncio.CancelledError | None = None
    while not starting.done():
        try:
            await asyncio.wait((starting,))
        except asyncio.CancelledError as error:
            cancelled = error
    try:
        child = starting.result()
    except FileNotFoundError as error:
        raise BackendUnavailable("git can't be started: is it installed?") from error
    if cancelled is not None:
        await _end(child)
        raise cancelled
    return child


async def _output(child: Process, limit: int, seconds: float, what: str) -> bytes:
    """Read what a command says until it ends; end it when it says too much or takes too long."""
    assert child.stdout is not None
    out = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while len(out) <= limit and (piece := await child.stdout.read(65_536)):
                out += piece
            if len(out) <= limit:
                await child.wait()
    except TimeoutError as error:
        raise BackendUnavailable(f"git {what} took longer than {seconds:.0f} seconds") from error
    finally:
        await _end(child)
    return bytes(out)


async def _end(child: Process) -> None:
    """Leave no process of the command: ask first, so that git removes its lock files."""
    if child.returncode is None:
        _signal(child, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await _drained(child)
    if child.returncode is None:
        _signal(child, signal.SIGKILL)
        await _drained(child)


async def _drained(child: Process) -> None:
    """Wait for the end, and read on meanwhile: a program that can't write may not end."""
    assert child.stdout is not None
    while await child.stdout.read(65_536):
        pass
    await child.wait()


def _signal(child: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def without_credentials(text: str) -> str:
    """Take user names, passwords and tokens out of all addresses in a text."""
    return _CREDENTIALS.sub(r"\1", text)


def shown(words: str) -> str:
    """What git complained about, short enough for a person."""
    lines = [line.strip() for line in words.splitlines() if line.strip() and not line.startswith("hint:")]
    return "; ".join(lines)[:WORDS_CHARACTERS] or "git gave no reason"


async def in_thread(work: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
    """Do file work beside the loop. A cancellation waits for its end: nothing goes on behind the next job."""
    doing = asyncio.ensure_future(asyncio.to_thread(work, *given, **named))
    cancelled: asyncio.CancelledError | None = None
    while not doing.done():
        try:
            await asyncio.wait((doing,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        with contextlib.suppress(Exception):
            doing.result()
        raise cancelled
    return doing.result()
