"""Mail out through the cloud's mail service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiobotocore.config import AioConfig
from aiohttp import ClientError as AiohttpError
from botocore.exceptions import BotoCoreError, ClientError

from webordinary.core.text import storable
from webordinary.ports.mailer import Rejected, Sent, TryLater

REASON_CHARACTERS = 300
MESSAGE_BYTES_MAX = 40_000_000  # the service's own limit
# The service knows no key by which a second send would be the same mail. So nothing below us repeats one.
ONE_ATTEMPT = AioConfig(connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 1})

# What is about this letter. Everything else is about the account, its quota or the line, and can be repaired.
_ABOUT_THE_LETTER = frozenset({"MessageRejected", "BadRequestException"})
_NOT_VERIFIED = "not verified"  # a rejection that ends when the operator verifies the address


class SesMailer:
    """See `Mailer`. At least once: if the line breaks at the very end, nobody knows if it is out."""

    def __init__(self, client: Callable[[], Awaitable[Any]], sender: str) -> None:
        """Send as this address, which the account has verified; the client is opened when it is needed."""
        self._client, self._sender = client, sender

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater | Rejected:
        """See `Mailer.send`. A repeated send has the same Message-ID header.

        The service has a return path of its own, and reports to whom the account names.
        """
        del key, return_path
        if len(message) > MESSAGE_BYTES_MAX:
            return Rejected(f"the message has more than {MESSAGE_BYTES_MAX // 1_000_000} MB")
        try:
            client = await self._client()
            await client.send_email(
                FromEmailAddress=self._sender,
                Destination={"ToAddresses": [recipient]},
                Content={"Raw": {"Data": message}},
            )
        except ClientError as error:
            return _judged(error)
        except (BotoCoreError, AiohttpError, TimeoutError, OSError) as error:
            return TryLater(f"the mail service did not answer: {type(error).__name__}")
        return Sent()


def _judged(error: ClientError) -> TryLater | Rejected:
    details = error.response.get("Error", {})
    code, text = str(details.get("Code", "")), str(details.get("Message", ""))
    words = storable(" ".join(f"the mail service answered {code} {text}".split()))[:REASON_CHARACTERS]
    if code in _ABOUT_THE_LETTER and _NOT_VERIFIED not in text:
        return Rejected(words)
    return TryLater(words)
