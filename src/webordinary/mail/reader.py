"""Reads mails in processes that can be killed: no mail can stop the mail behind it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from webordinary.core.mail import ParsedMail, SignedParts, UnreadableMail
from webordinary.intake.read import read, read_each, unread
from webordinary.system.function_pool import FunctionPool, OutOfBounds

Mail = ParsedMail | UnreadableMail

TOGETHER_MAILS, TOGETHER_BYTES = 16, 64 * 1024  # how many small mails are read in one call, and how small
TOO_MUCH = "reading it takes too much time or memory"


class PooledMailReader:
    """Reads mails in a process of its own. See `MailReader`.

    Small mails that have to wait for a process are read together: they come back together, and what becomes
    of them shares a commit.
    """

    def __init__(self, pool: FunctionPool, own_domains: tuple[str, ...] = ()) -> None:
        """Read within these bounds; `own_domains` are those in our own Message-IDs."""
        self._pool, self._own_domains = pool, own_domains
        self._busy = 0
        self._waiting: deque[_Waiting] = deque()
        self._batches: set[asyncio.Task[None]] = set()

    async def read(self, raw: bytes, signed: SignedParts | None = None, sender: str = "") -> Mail:
        """See `MailReader.read`."""
        if signed is not None or sender or len(raw) > TOGETHER_BYTES:
            return await self._read_alone(raw, signed, sender)
        if self._busy >= self._pool.processes or self._waiting:
            waiting = _Waiting(raw, asyncio.get_running_loop().create_future())
            self._waiting.append(waiting)
            return await waiting.mail
        self._busy += 1
        try:
            return await self._read_alone(raw)
        finally:
            self._busy -= 1
            self._read_waiting()

    async def _read_alone(self, raw: bytes, signed: SignedParts | None = None, sender: str = "") -> Mail:
        try:
            return await self._pool.run(read, raw, self._own_domains, signed, sender)
        except OutOfBounds:
            return unread(raw, TOO_MUCH, self._own_domains)

    def _read_waiting(self) -> None:
        while self._waiting and self._busy < self._pool.processes:
            self._busy += 1
            some = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER_MAILS))]
            batch = asyncio.create_task(self._read_together(some))
            self._batches.add(batch)
            batch.add_done_callback(self._batches.discard)

    async def _read_together(self, some: list[_Waiting]) -> None:
        """Read a few mails in one call; if that is out of bounds, each stands for itself."""
        try:
            raws = [one.raw for one in some]
            try:
                mails = await self._pool.run(read_each, raws, self._own_domains)
            except OutOfBounds:
                mails = []
            if len(mails) != len(some):
                mails = [await self._read_alone(raw) for raw in raws]
            for one, mail in zip(some, mails, strict=True):
                if not one.mail.done():
                    one.mail.set_result(mail)
        finally:
            for one in some:
                one.mail.cancel()  # of no effect on those that are read
            self._busy -= 1
            self._read_waiting()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A mail that nobody has read yet."""

    raw: bytes
    mail: asyncio.Future[Mail]
