"""What every sandbox promises: a command line that runs a command in a room and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from webordinary.core.errors import NotAllowed
from webordinary.core.work import Room
from webordinary.sandbox.allowance import Allowance


class SandboxUnavailable(NotAllowed):
    """The sandbox can't be set up here, so nothing is run. The message says what to install or to change."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The room's folders as the command sees them."""

    tree: Path
    mail: Path
    home: Path


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command line that needs nothing of the environment and folder it is started from."""

    command: tuple[str, ...]
    seen: Seen
    room: Room


class Sandbox(Protocol):
    """Shuts a command in. Once the process that `wrap` describes has ended, all its offspring has, too."""

    @property
    def confines(self) -> bool:
        """Whether a hostile command is really kept in."""
        ...

    def seen(self, room: Room) -> Seen:
        """Tell the paths that a command in this room sees."""
        ...

    def wrap(
        self,
        command: Sequence[str],
        room: Room,
        *,
        environment: Mapping[str, str],
        allowance: Allowance,
        visible: Sequence[Path] = (),
        socket: Path | None = None,
        network: bool = False,
    ) -> Wrapped:
        """Wrap a command that starts in the tree and sees PATH, HOME, TMPDIR, LANG and what is given.

        Its program is made visible wherever it lies; so is what is `visible`, read-only, at its own path.
        With a `socket`, the command runs behind the relay: ANTHROPIC_BASE_URL leads to that socket.
        Raises `NotFound` if the program is not there.
        """
        ...
