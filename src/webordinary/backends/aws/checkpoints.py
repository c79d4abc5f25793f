"""How far mailboxes were read, in the table of mails and conversations."""

from __future__ import annotations

import hashlib
import json

from webordinary.backends.aws.dynamo import Dynamo
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.values import lengthened, shortened
from webordinary.ports.checkpoints import Checkpoint


class AwsCheckpoints:
    """See `Checkpoints`."""

    def __init__(self, dynamo: Dynamo, settings: AwsSettings) -> None:
        """Keep checkpoints in a table."""
        self._dynamo, self._table = dynamo, settings.sessions

    async def load(self, folder: str) -> Checkpoint | None:
        """See `Checkpoints.load`."""
        item = await self._dynamo.get(self._table, {"key": _key(folder)})
        if item is None:
            return None
        return Checkpoint(
            uid_validity=item["uidValidity"],
            first_uid=item["firstUid"],
            since=item["since"],
            unsettled=tuple(json.loads(lengthened(item["unsettled"]))),
            took_all=item["tookAll"],
        )

    async def save(self, folder: str, checkpoint: Checkpoint) -> None:
        """See `Checkpoints.save`."""
        item = {
            "key": _key(folder),
            "folder": folder,
            "uidValidity": checkpoint.uid_validity,
            "firstUid": checkpoint.first_uid,
            "since": checkpoint.since,
            "unsettled": shortened(json.dumps(checkpoint.unsettled)),
            "tookAll": checkpoint.took_all,
        }
        await self._dynamo.put(self._table, item)


def _key(folder: str) -> str:
    return f"imap {hashlib.sha256(folder.encode()).hexdigest()}"
