"""SMTP in: a conversation that answers 250 only when the mail and what became of it are durable."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Session, TLSSetupException
from aiosmtpd.smtp import Envelope as SmtpEnvelope

from webordinary.core.addresses import lives_here
from webordinary.core.errors import BackendUnavailable, BadInput, CannotTellNow
from webordinary.core.mail import Envelope, MailRecord
from webordinary.mail.smtp.conversation import Conversation, LmtpConversation
from webordinary.mail.smtp.spool import NO_ROOM, ReadingRoom, Spool, SpoolRoom

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
class Listening:
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

    def __init__(self, listening: Listening, receive: Receive) -> None:
        """Listen once `start` is called."""
        self._listening, self._receive = listening, receive
        self._server: asyncio.Server | None = None
        self._open: set[Conversation] = set()
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
        kind = LmtpConversation if where.lmtp else Conversation
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

    def opened(self, conversation: Conversation) -> str:
        """Take a new conversation up, or say why not."""
        who = self._who(conversation.peer)
        its_own = sum(self._who(other.peer) == who for other in self._open) if who else 0
        if its_own >= self._listening.connections_per_address:
            return "421 4.7.0 Too many connections from your address, close some or try again later"
        if len(self._open) >= CONNECTIONS_MAX and not self._dropped_an_idle_one():
            return "421 4.3.2 Too busy now, try again later"
        self._open.add(conversation)
        return ""

    def closed(self, conversation: Conversation) -> None:
        """Forget a conversation."""
        self._open.discard(conversation)

    def _dropped_an_idle_one(self) -> bool:
        """Make room for a newcomer: whoever has kept others waiting for longest gives way."""
        idlest = max(self._open, key=Conversation.overdue_seconds)
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
        server: Conversation,
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
        self, server: Conversation, session: Session, envelope: SmtpEnvelope, spool: Spool
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
