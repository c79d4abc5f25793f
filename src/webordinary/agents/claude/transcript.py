"""An agent's conversation as bytes that another worker can go on from.

Claude Code keeps a conversation as a file of lines in its home. The home is the agent's to write in, so
nothing in it is trusted: no link is followed, only a regular file of bounded size is read.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

AGENT = "claude"
COST_LINE = "cost-state"  # with it the next run would count what this one cost as its own

_SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)  # nothing else becomes a path
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe in its place keeps nobody waiting
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation that can be gone on with."""

    session: str
    transcript: bytes


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """Where Claude Code keeps a conversation in its home."""

    home: Path
    project: str  # the name it gives to the folder it works in
    bytes_max: int

    def read(self, session: str) -> bytes | None:
        """The conversation as it is on the disk; None if there is none, or more than we carry around."""
        if not _SESSION.fullmatch(session):
            return None
        try:
            with _folder(self.home, self._folders(), make=False) as folder:
                handle = os.open(f"{session}.jsonl", _READ, dir_fd=folder)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    return None
                content = file.read(self.bytes_max + 1)
        except OSError:
            return None
        return content if len(content) <= self.bytes_max else None

    def write(self, conversation: Conversation) -> bool:
        """Put a conversation where Claude Code looks for it; False if the home does not let us."""
        name = f"{conversation.session}.jsonl"
        try:
            with _folder(self.home, self._folders(), make=True) as folder:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
                handle = os.open(name, _WRITE, 0o600, dir_fd=folder)
            with os.fdopen(handle, "wb") as file:
                file.write(conversation.transcript)
        except OSError:
            return False
        return True

    def pack(self, session: str) -> bytes | None:
        """The conversation for `AgentTask.resume` of the next job."""
        content = self.read(session)
        if not content:
            return None
        lines = b"\n".join(line for line in content.split(b"\n") if _is_worth_keeping(line)) + b"\n"
        packed = {"agent": AGENT, "session": session, "transcript": lines.decode(errors="replace")}
        return gzip.compress(json.dumps(packed).encode(), mtime=0)

    def unpack(self, packed: bytes) -> Conversation | None:
        """Read what `pack` gave; None if it is not that."""
        try:
            # JSON escapes make at most six bytes of one; more than that was never packed here.
            content = json.loads(_unzipped(packed, 6 * self.bytes_max))
            agent, session = content["agent"], content["session"]
            transcript = content["transcript"].encode()
        except (ValueError, TypeError, KeyError, AttributeError, OSError, EOFError, zlib.error):
            return None
        known = agent == AGENT and isinstance(session, str) and _SESSION.fullmatch(session)
        return Conversation(session, transcript) if known and len(transcript) <= self.bytes_max else None

    def _folders(self) -> tuple[str, ...]:
        return (".claude", "projects", self.project)


def _is_worth_keeping(line: bytes) -> bool:
    """Whether it is a whole line: a killed agent may have left half of one."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and entry.get("type") != COST_LINE


def _unzipped(packed: bytes, bytes_max: int) -> bytes:
    unpacking = zlib.decompressobj(wbits=31)  # 31: a gzip file
    content = unpacking.decompress(packed, bytes_max)
    if not unpacking.eof:
        raise ValueError("cut, or larger than anything packed here")
    return content


@contextlib.contextmanager
def _folder(root: Path, names: tuple[str, ...], *, make: bool) -> Iterator[int]:
    """Open a folder inside another, step by step, so that no link leads elsewhere."""
    handle = os.open(root, _FOLDER)
    try:
        for name in names:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=handle)
            inner = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)
