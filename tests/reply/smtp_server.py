"""A real SMTP server on loopback that misbehaves on request: the recipient's name says how."""
# ruff: noqa: ARG002, N802 - names and arguments are aiosmtpd's

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "relay-user", "correct horse"


@dataclass
class Inbox:
    """What the server took in, and how to reach it."""

    port: int = 0
    taken: list[tuple[str, bytes]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)  # of the envelopes of what was taken
    only_sender: str = ""  # the one that a strict relay lets this login send as

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.startswith("unwanted"):
            return "550 5.7.1 not from you"
        if self.only_sender and address != self.only_sender:
            return "553 5.7.1 Sender address rejected: not owned by user"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        match address.partition("@")[0]:
            case "busy":
                return "451 4.3.2 try again in a while"
            case "gone":
                return "550 5.1.1 no such\tmailbox here"
            case "locked":
                return "530 5.7.0 authentication required"
            case _:
                pass
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        (recipient,) = envelope.rcpt_tos
        match recipient.partition("@")[0]:
            case "spam":
                return "554 5.7.1 looks like spam"
            case "full":
                return "452 4.2.2 the mailbox is full"
            case "slow":
                await asyncio.sleep(60)
            case _:
                pass
        assert isinstance(envelope.content, bytes)
        self.taken.append((recipient, envelope.content))
        self.senders.append(envelope.mail_from or "")
        self.encrypted.append(session.ssl is not None)
        return "250 OK"


class Server(SMTP):
    """Hangs up in the middle for those who ask for it."""

    async def smtp_DATA(self, arg: str) -> None:
        assert self.envelope is not None
        if self.envelope.rcpt_tos == ["cut@flowers.example"]:
            await self.push("354 go on")
            await self._reader.readline()
            self._abort()
            return
        await super().smtp_DATA(arg)
        if self.envelope.rcpt_tos == [] and self._inbox.taken[-1][0].startswith("rude"):
            self._abort()

    @property
    def _inbox(self) -> Inbox:
        assert isinstance(self.event_handler, Inbox)
        return self.event_handler

    def _abort(self) -> None:
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.abort()


def knows(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object) -> AuthResult:
    assert isinstance(data, LoginPassword)
    is_right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=is_right, handled=False)


@asynccontextmanager
async def smtp_server(
    tls: ssl.SSLContext | None = None, *, login: bool = False, at_once: ssl.SSLContext | None = None
) -> AsyncIterator[Inbox]:
    """Listen on loopback for as long as the test needs it."""
    inbox = Inbox()
    options: dict[str, Any] = {"hostname": "relay.example", "tls_context": tls}
    if login:
        options |= {"authenticator": knows, "auth_required": True, "auth_require_tls": tls is not None}
    listening = await asyncio.get_running_loop().create_server(
        lambda: Server(inbox, **options), "127.0.0.1", 0, ssl=at_once
    )
    inbox.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield inbox
