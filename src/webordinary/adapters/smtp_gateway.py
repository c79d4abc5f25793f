"""SMTP in: a conversation that answers 250 only when the mail and what became of it are durable."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Session
from aiosmtpd.smtp import Envelope as SmtpEnvelope

from webordinary.core.errors import BackendUnavailable, BadInput, CannotTellNow
from webordinary.core.mail import Envelope, MailRecord

log = logging.getLogger("webordinary.gateway")

MAIL_BYTES = 25 * 1024 * 1024
RECIPIENTS_MAX = 20
CONNECTIONS_MAX = 200
RECEIVING_AT_ONCE = 16
COMMAND_SECONDS = 300.0
CLOSING_SECONDS = 10.0

Receive = Callable[[bytes, Envelope], Awaitable[MailRecord]]


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 2525
    hostname: str = "localhost"
    address: str = "edit@localhost"  # the one mailbox; its plus-addresses are ours too
    tls: ssl.SSLContext | None = None
    lmtp: bool = False


class SmtpGateway:
    """Listens for mail and hands each to the receive flow."""

    def __init__(self, listening: Listening, receive: Receive) -> None:
        """Listen once `start` is called."""
        self._listening, self._receive = listening, receive
        self._room = asyncio.Semaphore(RECEIVING_AT_ONCE)
        self._local, _, self._domain = listening.address.rpartition("@")
        self._server: asyncio.Server | None = None
        self._open: set[SMTP] = set()
        self._in_hand = 0
        self._nothing_in_hand = asyncio.Event()
        self._nothing_in_hand.set()

    async def start(self) -> int:
        """Listen; say at which port."""
        where = self._listening
        loop = asyncio.get_running_loop()
        try:
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

    def _conversation(self) -> SMTP:
        where = self._listening
        kind = _Lmtp if where.lmtp else _Smtp
        conversation = kind(
            self,
            data_size_limit=MAIL_BYTES,
            enable_SMTPUTF8=True,
            hostname=where.hostname,
            ident="Webordinary",
            tls_context=where.tls,
            timeout=COMMAND_SECONDS,
            loop=asyncio.get_running_loop(),
        )
        conversation.follow(self._open)
        return conversation

    # --- what aiosmtpd asks ---------------------------------------------------------------------------

    async def handle_MAIL(  # noqa: N802 - named by aiosmtpd
        self, _server: SMTP, _session: Session, envelope: SmtpEnvelope, address: str, options: list[str]
    ) -> str:
        """Accept a sender, unless there is no room for more."""
        if len(self._open) > CONNECTIONS_MAX:
            return "421 4.3.2 Too busy now, try again later"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, _session: Session, envelope: SmtpEnvelope, address: str, options: list[str]
    ) -> str:
        """Refuse at once whoever does not live here."""
        if not self._lives_here(address):
            return "550 5.1.1 There is no such mailbox here"
        if len(envelope.rcpt_tos) >= (1 if isinstance(server, LMTP) else RECIPIENTS_MAX):
            return "452 4.5.3 Too many recipients, send the rest separately"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_DATA(self, _server: SMTP, session: Session, envelope: SmtpEnvelope) -> str:  # noqa: N802
        """Receive the mail. 4xx only where another try can help."""
        came = Envelope(
            peer=str(session.peer[0]) if session.peer else "",
            helo=session.host_name or "",
            mail_from=envelope.mail_from or "",
            recipients=tuple(envelope.rcpt_tos),
        )
        self._in_hand += 1
        self._nothing_in_hand.clear()
        try:
            async with self._room:
                record = await self._receive(bytes(envelope.original_content or b""), came)
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

    def _lives_here(self, address: str) -> bool:
        local, at, domain = address.rpartition("@")
        mailbox = local.partition("+")[0]
        return bool(at) and mailbox.lower() == self._local.lower() and domain.lower() == self._domain.lower()


class _Followed(SMTP):
    """A conversation that is known to the gateway while it is open."""

    _known: set[SMTP] | None = None

    def follow(self, known: set[SMTP]) -> None:
        """Be known here from connection to end."""
        self._known = known

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._known is not None:
            self._known.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._known is not None:
            self._known.discard(self)
        super().connection_lost(error)


class _Smtp(_Followed):
    """SMTP."""


class _Lmtp(_Followed, LMTP):
    """LMTP, for a mail server on the same machine."""
