"""SMTP out: letters by a relay, and mails of our own to our own front door."""

from __future__ import annotations

import base64
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

import aiosmtplib
from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPDataError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPSenderRefused,
)

from webordinary.core.errors import BackendUnavailable, BadInput
from webordinary.core.text import storable
from webordinary.ports.mailer import Rejected, Sent, TryLater

SECONDS = 30.0
FOR_GOOD = 500  # answers from here on are


async def hand_in(host: str, port: int, *, sender: str, recipient: str, mail: bytes) -> None:
    """Send a mail in over SMTP; a refusal is told in the server's words."""
    try:
        await aiosmtplib.send(
            mail,
            sender=sender,
            recipients=[recipient],
            hostname=host,
            port=port,
            timeout=SECONDS,
            start_tls=False,
        )
    except aiosmtplib.SMTPResponseException as error:
        raise _refused(error.code, error.message) from error
    except aiosmtplib.SMTPRecipientsRefused as error:
        first = error.recipients[0]
        raise _refused(first.code, first.message) from error
    except (OSError, aiosmtplib.SMTPException) as error:
        raise BackendUnavailable(f"the mail could not be sent to {host}:{port}: {error}") from error


def _refused(code: int, message: str) -> BackendUnavailable | BadInput:
    """By the first digit: whether the same mail may be taken later."""
    if code < FOR_GOOD:
        return BackendUnavailable(f"the mail was not taken now: {code} {message}. Send it again later")
    return BadInput(f"the mail was refused: {code} {message}")


REASON_CHARACTERS = 300
GOODBYE_SECONDS = 2.0
PERMANENT = 500  # replies from here on say: do not try again
# Replies that are about us and our relay, not about this letter: log in first, wrong password, encrypt first.
ABOUT_LOGGING_IN = frozenset({530, 534, 535, 538})
TOO_LARGE = 552

# Visible characters, but nothing that could end a command.
_ADDRESS = re.compile(r"[\x21-\x3b\x3d\x3f-\x7e]+@[\x21-\x3b\x3d\x3f-\x7e]+", re.ASCII)


class Encryption(StrEnum):
    """How the way to the relay is protected."""

    STARTTLS = "starttls"  # usual on port 587: plain first, then encrypted, or not at all
    TLS = "tls"  # usual on port 465
    NONE = "none"  # a relay on this very machine


@dataclass(frozen=True, slots=True)
class Relay:
    """Where the relay is and how to talk to it."""

    host: str
    port: int
    sender: str  # the envelope's: where bounces go
    encryption: Encryption = Encryption.STARTTLS
    username: str = ""
    password: str = field(default="", repr=False)
    step_seconds: float = 30.0  # for each answer of the relay
    hostname: str | None = None  # what we call ourselves; None: as this machine is called
    tls: ssl.SSLContext | None = None  # None: certificates that this machine trusts

    def __post_init__(self) -> None:
        """Refuse to send a password in the clear to another machine."""
        is_here = self.host in {"localhost", "127.0.0.1", "::1"}
        if self.password and self.encryption is Encryption.NONE and not is_here:
            raise BadInput("a password goes to a relay on another machine only with starttls or tls")


class SmtpRelay:
    """See `Mailer`. At least once: if the connection breaks at the very end, nobody knows if it is out."""

    def __init__(self, relay: Relay) -> None:
        """Connect anew for every letter."""
        self._relay = relay

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater | Rejected:
        """See `Mailer.send`. SMTP knows no key; a repeated send has the same Message-ID."""
        del key
        if not _ADDRESS.fullmatch(recipient):
            return Rejected("the address is none that mail can be sent to")
        client = self._client()
        try:
            await client.connect()
            await self._hand_over(client, message, recipient, return_path)
            await _say_goodbye(client)
        except SMTPRecipientsRefused as error:
            return self._judged(error.recipients[0])
        except SMTPException as error:
            return self._judged(error)
        except (OSError, ValueError) as error:  # a certificate that nobody vouches for is both
            return TryLater(self._words(f"the mail relay can't be used: {error}"))
        finally:
            client.close()
        return Sent()

    async def _hand_over(self, client: SMTP, message: bytes, recipient: str, return_path: str) -> None:
        """Some relays take only the sender that logged in: then reports go there, and the letter goes out."""
        try:
            await client.sendmail(return_path or self._relay.sender, [recipient], message)
        except SMTPSenderRefused as error:
            if error.code < PERMANENT or return_path in {"", self._relay.sender}:
                raise
            await client.sendmail(self._relay.sender, [recipient], message)

    def _client(self) -> SMTP:
        relay = self._relay
        return SMTP(
            hostname=relay.host,
            port=relay.port,
            username=relay.username or None,
            password=relay.password or None,
            local_hostname=relay.hostname,
            timeout=relay.step_seconds,
            use_tls=relay.encryption is Encryption.TLS,
            start_tls=relay.encryption is Encryption.STARTTLS,
            tls_context=relay.tls,
        )

    def _judged(self, error: SMTPException) -> TryLater | Rejected:
        """Give a letter up only for what is about the letter; a relay's own trouble passes or is repaired."""
        if not isinstance(error, SMTPResponseException):
            return TryLater(self._words(f"the mail relay can't be used: {error.message}"))
        words = self._words(f"the mail relay answered {error.code} {error.message}")
        if isinstance(error, SMTPAuthenticationError) or error.code in ABOUT_LOGGING_IN:
            return TryLater(f"the mail relay does not accept our user name and password ({error.code})")
        if error.code < PERMANENT or isinstance(error, SMTPConnectError):
            return TryLater(words)
        match error:
            case SMTPRecipientRefused() | SMTPDataError():
                return Rejected(words)
            case SMTPSenderRefused() if error.code == TOO_LARGE:
                return Rejected(words)
            case _:
                return TryLater(words)

    def _words(self, text: str) -> str:
        """One line for the operator, in which no credential survives."""
        for secret in (self._relay.password, self._relay.username):
            for shape in _shapes(secret):
                text = text.replace(shape, "***")
        return storable(" ".join(text.split()))[:REASON_CHARACTERS]


def _shapes(secret: str) -> tuple[str, ...]:
    """How a server might echo a secret."""
    return (secret, base64.b64encode(secret.encode()).decode()) if secret else ()


async def _say_goodbye(client: SMTP) -> None:
    """End politely. Whatever comes of it, the letter is with the relay."""
    with suppress(SMTPException, OSError):
        await client.quit(timeout=GOODBYE_SECONDS)
