"""SMTP in: a conversation that answers 250 only when the mail and what became of it are durable."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import re
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Session, TLSSetupException, syntax
from aiosmtpd.smtp import Envelope as SmtpEnvelope

from webordinary.core.addresses import lives_here
from webordinary.core.errors import BackendUnavailable, BadInput, CannotTellNow
from webordinary.core.mail import Envelope, MailRecord
from webordinary.mail.smtp.spool import NO_ROOM, ReadingRoom, Spool, SpoolRoom

PIECE_BYTES = 64 * 1024
DATA_SECONDS = 600.0  # for all of a mail: nobody holds room in the spool for longer
IDLE_SECONDS, SLOW_SECONDS = 10.0, 60.0
END_OF_DATA = b"\r\n.\r\n"
PLAIN_ADDRESS = re.compile(
    r"<([a-z0-9_+=-]+(?:\.[a-z0-9_+=-]+)*@[a-z0-9-]+(?:\.[a-z0-9-]+)*)>((?: .*)?)", re.IGNORECASE | re.ASCII
)


class SmtpSession(SMTP):
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


class LmtpSession(SmtpSession, LMTP):
    """LMTP, for a mail server on the same machine."""


log = logging.getLogger("webordinary.gateway")

MAIL_BYTES = 25 * 1024 * 1024
SMALL_MAIL_BYTES = 1024 * 1024  # a larger one is read from the disk beside the loop
RECIPIENTS_MAX = 20
CONNECTIONS_MAX = 200
COMMAND_SECONDS = 300.0
CLOSING_SECONDS = 10.0
IPV6_PREFIX = 64  # what one subscriber has

Receive = Callable[[bytes, Envelope], Awaitable[MailRecord]]


def is_this_machine(peer: str) -> bool:
    """Say whether a connection comes from this machine."""
    return _address(peer).is_loopback


@dataclass(frozen=True, slots=True)
class SmtpListener:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 2525
    hostname: str = "localhost"  # what we call ourselves
    address: str = "edit@localhost"  # the one mailbox; its plus-addresses are ours too
    aliases: tuple[str, ...] = ()  # other addresses of it, which a server before us may leave as they are
    tls: ssl.SSLContext | None = None
    lmtp: bool = False
    connections_per_address: int = 20
    is_known: Callable[[str], bool] = is_this_machine  # peers that speak for many: no limit for each
    spool_folder: Path | None = None  # None: where this machine has temporary files


class SmtpGateway:
    """Listens for mail and hands each to the receive flow."""

    def __init__(self, listening: SmtpListener, receive: Receive) -> None:
        """Listen once `start` is called."""
        self._listening, self._receive = listening, receive
        self._server: asyncio.Server | None = None
        self._open: set[SmtpSession] = set()
        self._in_hand = 0
        self._nothing_in_hand = asyncio.Event()
        self._nothing_in_hand.set()
        self.spool_room, self.reading_room = SpoolRoom(listening.spool_folder), ReadingRoom()

    async def start(self) -> int:
        """Listen; say at which port."""
        where = self._listening
        loop = asyncio.get_running_loop()
        try:
            if where.spool_folder is not None:
                where.spool_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._server = await loop.create_server(self._conversation, where.host, where.port)
        except OSError as error:
            raise BadInput(
                f"can't listen for mail at {where.host}:{where.port}: {error.strerror}."
                " Choose another --smtp-port."
            ) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Take no further mail; what is being received is finished first."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._nothing_in_hand.wait()
        for conversation in tuple(self._open):
            if conversation.transport is not None:
                conversation.transport.close()

    # --- connections ----------------------------------------------------------------------------------

    def _conversation(self) -> SMTP:
        where = self._listening
        kind = LmtpSession if where.lmtp else SmtpSession
        conversation = kind(
            self,
            data_size_limit=MAIL_BYTES,
            enable_SMTPUTF8=True,
            hostname=where.hostname,
            ident=f"{'LMTP' if where.lmtp else 'ESMTP'} Webordinary",
            tls_context=where.tls,
            timeout=COMMAND_SECONDS,
            loop=asyncio.get_running_loop(),
        )
        conversation.of(self)
        return conversation

    def opened(self, conversation: SmtpSession) -> str:
        """Take a new conversation up, or say why not."""
        who = self._who(conversation.peer)
        its_own = sum(self._who(other.peer) == who for other in self._open) if who else 0
        if its_own >= self._listening.connections_per_address:
            return "421 4.7.0 Too many connections from your address, close some or try again later"
        if len(self._open) >= CONNECTIONS_MAX and not self._dropped_an_idle_one():
            return "421 4.3.2 Too busy now, try again later"
        self._open.add(conversation)
        return ""

    def closed(self, conversation: SmtpSession) -> None:
        """Forget a conversation."""
        self._open.discard(conversation)

    def _dropped_an_idle_one(self) -> bool:
        """Make room for a newcomer: whoever has kept others waiting for longest gives way."""
        idlest = max(self._open, key=SmtpSession.overdue_seconds)
        if idlest.overdue_seconds() < 0:
            return False
        self._open.discard(idlest)
        idlest.drop("421 4.4.2 You took long and others are waiting, try again later")
        return True

    def _who(self, peer: str) -> str:
        """Who is counted; "" is nobody in particular."""
        return "" if self._listening.is_known(peer) else subscriber(peer)

    def spool(self, peer: str) -> Spool:
        """Give room to a mail that comes in now."""
        return Spool(self.spool_room, self._who(peer), MAIL_BYTES)

    # --- what aiosmtpd asks ---------------------------------------------------------------------------

    async def handle_EHLO(  # noqa: N802 - named by aiosmtpd
        self, _server: SMTP, session: Session, _envelope: SmtpEnvelope, hostname: str, offers: list[str]
    ) -> list[str]:
        """Offer what there is: commands may come in one go, and nobody can log in."""
        session.host_name = hostname
        offered = [offer for offer in offers if not offer.startswith("250-AUTH")]
        return [offered[0], "250-PIPELINING", *offered[1:]]

    async def handle_MAIL(  # noqa: N802
        self,
        server: SmtpSession,
        _session: Session,
        envelope: SmtpEnvelope,
        address: str,
        options: list[str],
    ) -> str:
        """Accept a sender, unless there is no room for what it wants to send."""
        sizes = (option.removeprefix("SIZE=") for option in options if option.startswith("SIZE="))
        if not self.spool_room.has(self._who(server.peer), int(next(sizes, "0"))):
            return NO_ROOM
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, _session: Session, envelope: SmtpEnvelope, address: str, options: list[str]
    ) -> str:
        """Refuse at once whoever does not live here."""
        where = self._listening
        if not lives_here(address, where.address, *where.aliases):
            return "550 5.1.1 There is no such mailbox here"
        if len(envelope.rcpt_tos) >= (1 if isinstance(server, LMTP) else RECIPIENTS_MAX):
            return "452 4.5.3 Too many recipients, send the rest separately"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_DATA(  # noqa: N802
        self, server: SmtpSession, session: Session, envelope: SmtpEnvelope, spool: Spool
    ) -> str:
        """Receive the mail. 4xx only where another try can help."""
        came = Envelope(
            peer=server.peer,
            helo=session.host_name or "",
            mail_from=(envelope.mail_from or "").removeprefix("<>"),
            recipients=tuple(envelope.rcpt_tos),
        )
        self._in_hand += 1
        self._nothing_in_hand.clear()
        try:
            async with self.reading_room.entered(spool.size):
                is_small = spool.size <= SMALL_MAIL_BYTES
                raw = spool.read() if is_small else await asyncio.to_thread(spool.read)
                record = await self._receive(raw, came)
        except CannotTellNow as error:
            log.warning("a mail was turned away for now: %s", error)
            return "451 4.7.0 Your sender address can't be looked up now, try again later"
        except BackendUnavailable as error:
            log.warning("a mail was turned away for now: %s", error)
            return "451 4.3.0 The store is not available now; nothing was kept, try again later"
        except Exception:
            log.exception("a mail was turned away for now, by a mistake of ours")
            return "451 4.3.0 Something went wrong here; nothing was lost, try again later"
        finally:
            self._in_hand -= 1
            if not self._in_hand:
                self._nothing_in_hand.set()
        log.info("%s from %s: %s %s", record.id, record.from_address or "-", record.state, record.reason)
        return f"250 2.0.0 Kept as {record.id}"

    async def handle_exception(self, error: Exception) -> str:
        """Answer a command that failed. Scanners fail at encryption all day, which is no mistake of ours."""
        if isinstance(error, TLSSetupException):
            log.info("a conversation ended: it was not encrypted as the other side had asked")
        else:
            log.error("a command failed, by a mistake of ours", exc_info=error)
        return "451 4.3.0 Something went wrong here, try again later"


def subscriber(peer: str) -> str:
    """Name who has an address: one of IPv6 is one of very many of the same subscriber."""
    address = _address(peer)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False))
    return str(address)


def _address(peer: str) -> IPv4Address | IPv6Address:
    """Read an address; one that is none is nobody's in particular."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return ip_address(0)
    return getattr(address, "ipv4_mapped", None) or address
