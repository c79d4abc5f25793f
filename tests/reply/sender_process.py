"""A sender as a process of its own, to be killed: python -m tests.reply.sender_process HOME FOLDER MAILER."""

import asyncio
import os
import sys
from pathlib import Path

from tests.reply.letters import OURS
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.limits import Limits
from webordinary.mail.folder_mailer import FolderMailer
from webordinary.ports.mailer import Sent, TryLater
from webordinary.reply.sending import Office, Sender
from webordinary.reply.sending_limits import SendingLimits
from webordinary.system.clock import SystemClock

HOLD_SECONDS = 1.0
LINGER_SECONDS = 0.03  # between handing a letter over and noting it: the moment to be killed in
LIMITS = SendingLimits(
    at_once=4,
    poll_seconds=0.5,
    hold_seconds=HOLD_SECONDS,
    send_seconds=HOLD_SECONDS / 2,
    replies_per_hour=1000,
    letters_per_hour=1000,
)


class Lingering(FolderMailer):
    """The real folder, slow to come back."""

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater:
        answer = await super().send(message, recipient=recipient, key=key, return_path=return_path)
        await asyncio.sleep(LINGER_SECONDS)
        return answer


class Forgetful(Lingering):
    """A wrong one, to show that the drill finds it: it does not know a letter again."""

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater:
        other = f"{key} {os.urandom(4).hex()}"
        return await super().send(message, recipient=recipient, key=other, return_path=return_path)


MAILERS: dict[str, type[FolderMailer]] = {"lingering": Lingering, "forgetful": Forgetful}


async def main(home: Path, folder: Path, mailer: str) -> None:
    clock = SystemClock()
    ports = open_sqlite(home, clock, Limits())
    office = Office(
        ports.outbox,
        ports.mailbox,
        ports.ledger,
        ports.quotas,
        ports.bounces,
        MAILERS[mailer](folder),
        clock,
        OURS,
        LIMITS,
    )
    await Sender(office, f"sender-{os.getpid()}").run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
