"""How far mailboxes were read, in plain Python."""

from __future__ import annotations

from webordinary.ports.checkpoints import Checkpoint


class MemoryCheckpoints:
    """See `Checkpoints`."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._checkpoints: dict[str, Checkpoint] = {}

    async def load(self, folder: str) -> Checkpoint | None:
        """See `Checkpoints.load`."""
        return self._checkpoints.get(folder)

    async def save(self, folder: str, checkpoint: Checkpoint) -> None:
        """See `Checkpoints.save`."""
        self._checkpoints[folder] = checkpoint
