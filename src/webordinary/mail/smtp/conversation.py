"""One SMTP conversation: aiosmtpd's, with what it lacks towards strangers."""

from __future__ import annotations

import asyncio
import math
import re
from typing import TYPE_CHECKING

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, syntax

from webordinary.mail.smtp.spool import Spool

if TYPE_CHECKING:
    from webordinary.mail.smtp.gateway import SmtpGateway

PIECE_BYTES = 64 * 1024
DATA_SECONDS = 600.0  # for all of a mail: nobody holds room in the spool for longer
IDLE_SECONDS, SLOW_SECONDS = 10.0, 60.0
END_OF_DATA = b"\r\n.\r\n"
PLAIN_ADDRESS = re.compile(
    r"<([a-z0-9_+=-]+(?:\.[a-z0-9_+=-]+)*@[a-z0-9-]+(?:\.[a-z0-9-]+)*)>((?: .*)?)", re.IGNORECASE | re.ASCII
)


class Conversation(SMTP):
    """Known to the gateway while it is open; reads mail by pieces instead of lines, whatever their length."""

    line_length_limit = PIECE_BYTES  # what is read ahead; commands have a limit of their own
    peer = ""
    refusal = ""  # said instead of a greeting
    heard_at = 0.0
    patience = IDLE_SECONDS  # how long it may be silent, or send one mail, when others wait for room

    def of(self, gateway: SmtpGateway) -> None:
        """Belong to a gateway."""
        self._gateway = gateway

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Also called when the conversation becomes encrypted; it is the same one then."""
        if not self.peer:
            name = transport.get_extra_info("peername")
            self.peer = str(name[0]) if name else "here"
            self.refusal = self._gateway.opened(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Be forgotten."""
        self._gateway.closed(self)
        super().connection_lost(error)

    async def _handle_client(self) -> None:
        if self.refusal:
            self.drop(self.refusal)
        else:
            await super()._handle_client()

    def drop(self, words: str) -> None:
        """End the conversation with a last word, whether anybody hears it or not."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.write(words.encode() + b"\r\n")
            self.transport.close()

    def overdue_seconds(self) -> float:
        """For how long it has kept others waiting; less than nothing if it has not."""
        return self.loop.time() - self.heard_at - self.patience

    def _reset_timeout(self, duration: float | None = None) -> None:
        self.heard_at = self.loop.time()
        super()._reset_timeout(duration)

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        """Read an address. Nearly all are plain; the full parser takes a third of the conversation's time."""
        plain = PLAIN_ADDRESS.fullmatch(arg)
        return (plain[1], plain[2]) if plain else super()._getaddr(arg)

    async def smtp_AUTH(self, _arg: str) -> None:  # noqa: N802 - named by aiosmtpd
        """Nobody logs in here, so nobody is asked for a password."""
        await self.push("502 5.5.1 There is nothing to log in to here")

    @syntax("DATA")
    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        """Take a mail in. Only a dot on a line of its own between CRLFs ends it: nothing can be smuggled."""
        if await self.check_helo_needed():
            return
        if self.envelope is None or not self.envelope.rcpt_tos:
            await self.push("503 5.5.1 Say first who it is for: RCPT")
            return
        if arg:
            await self.push("501 5.5.4 Syntax: DATA")
            return
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        self._reset_timeout(DATA_SECONDS)
        with self._gateway.spool(self.peer) as spool:
            self.patience = SLOW_SECONDS
            await self._read_data(spool)
            self.patience = math.inf  # it waits for us now
            status = spool.refusal or await self._call_handler_hook("DATA", spool)
        self._set_rset_state()  # type: ignore[no-untyped-call]
        self._reset_timeout()
        self.patience = IDLE_SECONDS
        await self.push(status)

    async def _read_data(self, spool: Spool) -> None:
        """Read up to the final dot, by pieces that end nowhere in particular.

        The line break before the first line is put back: that line may be the final dot already.
        """
        self._reader._buffer[:0] = b"\r\n"  # type: ignore[attr-defined]  # noqa: SLF001 - as aiosmtpd does
        start = 2
        while True:
            try:
                piece = await self._reader.readuntil(END_OF_DATA)
            except asyncio.LimitOverrunError as more:
                spool.write((await self._reader.readexactly(more.consumed))[start:])
                start = 0
            else:
                spool.write(piece[start : -len(b".\r\n")])
                return


class LmtpConversation(Conversation, LMTP):
    """LMTP, for a mail server on the same machine."""
