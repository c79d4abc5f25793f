"""How far mailboxes were read, in SQLite."""

from __future__ import annotations

import json

from webordinary.backends.sqlite.engine import Engine
from webordinary.ports.checkpoints import Checkpoint


class SqliteCheckpoints:
    """See `Checkpoints`."""

    def __init__(self, engine: Engine) -> None:
        """Keep checkpoints in a file."""
        self._engine = engine

    async def load(self, folder: str) -> Checkpoint | None:
        """See `Checkpoints.load`."""
        sql = "SELECT uid_validity, first_uid, since, unsettled, took_all FROM imap_folders WHERE folder = ?"
        row = self._engine.read(lambda tx: tx.one(sql, (folder,)))
        if row is None:
            return None
        return Checkpoint(row[0], row[1], row[2], tuple(json.loads(row[3])), bool(row[4]))

    async def save(self, folder: str, checkpoint: Checkpoint) -> None:
        """See `Checkpoints.save`."""
        row = (
            folder,
            checkpoint.uid_validity,
            checkpoint.first_uid,
            checkpoint.since,
            json.dumps(checkpoint.unsettled),
            checkpoint.took_all,
        )
        await self._engine.write(
            lambda tx: tx.do("INSERT OR REPLACE INTO imap_folders VALUES (?, ?, ?, ?, ?, ?)", row)
        )
