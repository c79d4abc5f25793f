"""Handing a mail to our own front door, as any mail program would."""

from __future__ import annotations

import aiosmtplib

from webordinary.core.errors import BackendUnavailable, BadInput

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
