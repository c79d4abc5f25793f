"""Blobs as objects of a bucket: named by their content, and never changed."""

from __future__ import annotations

import base64
import hashlib
import re

from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.system.s3_client import Conflict, S3Client, content_of, translated

PREFIX = "blobs/"
_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)  # nothing else ever becomes an object's name


class S3Blobs:
    """See `Blobs`."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        """Keep blobs in this bucket, which is there already."""
        self._client, self._bucket = client, bucket

    async def put(self, content: bytes) -> str:
        """See `Blobs.put`. The store itself refuses bytes that were damaged on their way."""
        digest = hashlib.sha256(content)
        key = digest.hexdigest()
        try:
            with translated(f"keeping a blob in {self._bucket}"):
                await self._client.put_object(
                    Bucket=self._bucket,
                    Key=f"{PREFIX}{key}",
                    Body=content,
                    ChecksumSHA256=base64.b64encode(digest.digest()).decode(),
                )
        except Conflict as error:
            raise BackendUnavailable(f"{self._bucket} was just being changed; try again") from error
        return key

    async def get(self, key: str) -> bytes:
        """See `Blobs.get`. A blob that somebody changed is never given out."""
        if not _KEY.fullmatch(key):
            raise NotFound(f"{key!r} is no name of a blob")
        with translated(f"reading the blob {key} of {self._bucket}"):
            answer = await self._client.get_object(Bucket=self._bucket, Key=f"{PREFIX}{key}")
            content = await content_of(answer)
        if hashlib.sha256(content).hexdigest() != key:
            raise BackendUnavailable(
                f"the blob {key} of {self._bucket} is damaged: its content is not what was written"
            )
        return content
