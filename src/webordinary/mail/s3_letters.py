"""Copies of letters as objects of a bucket."""

from __future__ import annotations

from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.ports.mailer import Sent, TryLater
from webordinary.system.s3_client import Conflict, S3Client, content_of, translated

PREFIX = "letters/"


class S3Letters:
    """See `Letters`."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        """Keep letters in this bucket, which is there already."""
        self._client, self._bucket = client, bucket

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater:
        """See `Mailer.send`. The letter of a key is the same each time, so it may be written again."""
        del recipient, return_path  # the message says it; a bucket returns nothing
        try:
            with translated(f"keeping a letter in {self._bucket}"):
                await self._client.put_object(
                    Bucket=self._bucket, Key=_name(key), Body=message, ContentType="message/rfc822"
                )
        except (BackendUnavailable, NotFound) as error:
            return TryLater(str(error))
        except Conflict:
            pass  # somebody writes the same letter at this very moment
        return Sent()

    async def copy(self, key: str) -> bytes | None:
        """See `Letters.copy`."""
        try:
            with translated(f"reading a letter of {self._bucket}"):
                return await content_of(await self._client.get_object(Bucket=self._bucket, Key=_name(key)))
        except NotFound:
            return None


def _name(key: str) -> str:
    return f"{PREFIX}{key}.eml"
