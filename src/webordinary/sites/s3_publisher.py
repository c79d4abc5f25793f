"""Publishing into buckets that are web sites: a visitor is given objects, and nothing of ours is asked.

So a switch can't be one moment here. What is kept instead:

1. The pointer (`pointer.py`) is changed by comparing: it takes our fence and says who changes objects now.
   A worker that lost its lane fails here, before it has written anything.
2. What pages load comes first, pages come next: a new page never misses its new picture or style.
3. The pointer says that the release is complete. Only then what is not in it is deleted.
4. Between batches the pointer is looked at again: a worker that is overtaken stops within one batch.

What remains: while objects are being sent, a visitor may see new pages beside old ones; and a worker that
loses its lane in the middle of a batch may still send the rest of that batch (at most `BATCH_FILES`) while
its successor already works. The successor compares each object with what it should be after its own last
batch, and sends again what differs; a call that was on its way for longer than all of that could still win.
A site that must not have this gap wants a server that reads the pointer, such as `sites/server.py`.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from webordinary.core.claim import Claim
from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.release import Place, Release, ReleasedFile
from webordinary.publish.files import cache_control, changed_since, content_type, is_page, open_plain_file
from webordinary.sites.s3_pointer import PointerStore, StoredFile
from webordinary.system.s3_client import AT_ONCE, Conflict, S3Client, content_of, translated

BATCH_FILES, BATCH_BYTES = 64, 64_000_000
DELETED_AT_ONCE = LISTED_AT_ONCE = 1000  # the store takes and gives no more in one call
_LOOKS = 3  # at whether everything is as it should be

Send = Callable[[ReleasedFile], Awaitable[str]]  # puts a file into the bucket and gives its entity tag


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a bucket shall hold."""

    release: Release
    commit: str
    send: Send


class S3Publisher:
    """See `Publisher`. The buckets exist already and are set up as web sites."""

    def __init__(
        self,
        client: S3Client,
        *,
        address: Callable[[str, Place], str],
        preview_bucket: Callable[[str], str] = "edit.{}".format,
        live_bucket: Callable[[str], str] = "{}".format,
    ) -> None:
        """Publish into the buckets that these functions name, given a project."""
        self._client, self._address = client, address
        self._bucket_names = {Place.PREVIEW: preview_bucket, Place.LIVE: live_bucket}

    async def enter(self, claim: Claim) -> None:
        """See `Publisher.enter`. Both buckets learn the fence: each is guarded by its own pointer only."""
        for place in Place:
            await self._pointers(claim.lane.project, place).change(lambda pointer: pointer.entered(claim))

    async def publish(self, claim: Claim, release: Release, folder: Path, commit: str) -> None:
        """See `Publisher.publish`, and above for what "at once" means here."""
        pointers = self._pointers(claim.lane.project, Place.PREVIEW)
        known = {file.path: file.sha256 for file in (await pointers.read()).files}
        new = [file for file in release.files if known.get(file.path) != file.sha256]
        # All of them before the first is sent: a refusal must not leave half of a site.
        await asyncio.to_thread(_check_all, folder, new)
        send = functools.partial(self._upload, pointers.bucket, folder)
        await self._fill(pointers, claim, _Wanted(release, commit, send))

    async def promote(self, claim: Claim) -> str | None:
        """See `Publisher.promote`. The store itself copies, and only what is still the previewed object."""
        source = self._pointers(claim.lane.project, Place.PREVIEW)
        previewed = await source.read()
        previewed.entered(claim)
        if not previewed.release:
            return None
        pointers = self._pointers(claim.lane.project, Place.LIVE)
        etags = {file.path: file.etag for file in previewed.files}
        send = functools.partial(self._copy, source.bucket, pointers.bucket, etags)
        await self._fill(pointers, claim, _Wanted(previewed.manifest(), previewed.commit, send))
        return previewed.commit

    async def current(self, project: str, place: Place) -> tuple[Release, str] | None:
        """See `Publisher.current`: what was completed last."""
        pointer = await self._pointers(project, place).read()
        return (pointer.manifest(), pointer.commit) if pointer.release else None

    async def read(self, project: str, place: Place, paths: Sequence[str]) -> dict[str, bytes]:
        """See `Publisher.read`."""
        bucket, limit = self._bucket_names[place](project), asyncio.Semaphore(AT_ONCE)

        async def content(path: str) -> bytes | None:
            async with limit:
                try:
                    with translated(f"reading {path} from {bucket}"):
                        return await content_of(await self._client.get_object(Bucket=bucket, Key=path))
                except NotFound:
                    return None

        contents = await asyncio.gather(*map(content, paths))
        return {path: found for path, found in zip(paths, contents, strict=True) if found is not None}

    def address(self, project: str, place: Place) -> str:
        """See `Publisher.address`."""
        return self._address(project, place)

    def _pointers(self, project: str, place: Place) -> PointerStore:
        return PointerStore(self._client, self._bucket_names[place](project))

    async def _fill(self, pointers: PointerStore, claim: Claim, wanted: _Wanted) -> None:
        """Have a bucket hold exactly what is wanted, in the order of the four steps above."""
        attempt = f"{claim.lane.user} {claim.fence} {secrets.token_hex(8)}"
        former = await pointers.change(lambda pointer: pointer.begun(claim, attempt, wanted.release))
        files = {file.path: file for file in former.files}
        for _ in range(_LOOKS):
            missing = _missing(wanted.release, files, await self._etags(pointers.bucket))
            if not missing:
                break
            for batch in _batches(missing):
                (await pointers.read()).still(claim, attempt)
                files |= await _sent(batch, wanted.send)
        else:
            raise BackendUnavailable(f"somebody else changes the objects in {pointers.bucket}")
        stored = tuple(files[file.path] for file in wanted.release.files)
        completed = await pointers.change(
            lambda pointer: pointer.still(claim, attempt).completed(wanted.release, wanted.commit, stored)
        )
        for start in range(0, len(completed.strays), DELETED_AT_ONCE):
            (await pointers.read()).still(claim, attempt)
            await self._delete(pointers.bucket, completed.strays[start : start + DELETED_AT_ONCE])
        await pointers.change(lambda pointer: replace(pointer.still(claim, attempt), strays=(), underway=""))

    async def _etags(self, bucket: str) -> dict[str, str]:
        """What is in the bucket now."""
        etags: dict[str, str] = {}
        page: dict[str, str] = {}
        while True:
            with translated(f"listing {bucket}"):
                answer = await self._client.list_objects_v2(Bucket=bucket, MaxKeys=LISTED_AT_ONCE, **page)
            etags |= {str(one["Key"]): str(one["ETag"]) for one in answer.get("Contents", ())}
            if not answer.get("IsTruncated"):
                return etags
            page = {"ContinuationToken": str(answer["NextContinuationToken"])}

    async def _upload(self, bucket: str, folder: Path, file: ReleasedFile) -> str:
        content = await asyncio.to_thread(_read_checked, folder, file)
        digest = bytes.fromhex(file.sha256)
        with translated(f"sending {file.path} to {bucket}"):
            answer = await self._client.put_object(
                Bucket=bucket,
                Key=file.path,
                Body=content,
                ContentType=content_type(file.path),
                CacheControl=cache_control(file.path),
                ChecksumSHA256=base64.b64encode(digest).decode(),  # the store refuses other bytes
                Metadata={"sha256": file.sha256},
            )
        return str(answer["ETag"])

    async def _copy(self, source: str, target: str, etags: dict[str, str], file: ReleasedFile) -> str:
        try:
            with translated(f"copying {file.path} to {target}"):
                answer = await self._client.copy_object(
                    Bucket=target,
                    Key=file.path,
                    CopySource={"Bucket": source, "Key": file.path},
                    CopySourceIfMatch=etags[file.path],
                )
        except (Conflict, NotFound) as error:
            raise BackendUnavailable(
                f"the preview was changed while it was being published ({file.path}); try again"
            ) from error
        return str(answer["CopyObjectResult"]["ETag"])

    async def _delete(self, bucket: str, paths: Iterable[str]) -> None:
        wanted = {"Objects": [{"Key": path} for path in paths], "Quiet": True}
        with translated(f"deleting from {bucket}"):
            answer = await self._client.delete_objects(Bucket=bucket, Delete=wanted)
        if refused := answer.get("Errors"):
            raise BackendUnavailable(f"{len(refused)} old files could not be deleted from {bucket}")


def _missing(release: Release, files: dict[str, StoredFile], etags: dict[str, str]) -> list[ReleasedFile]:
    """What has to be sent: not known to be there with these bytes, or not there as we left it."""

    def is_there(file: ReleasedFile) -> bool:
        known = files.get(file.path)
        return known is not None and known.sha256 == file.sha256 and etags.get(file.path) == known.etag

    # What pages load first; False sorts before True.
    return sorted((file for file in release.files if not is_there(file)), key=lambda file: is_page(file.path))


def _batches(files: list[ReleasedFile]) -> Iterator[list[ReleasedFile]]:
    """Few enough for memory and for looking at the pointer often; pages are never beside what they load."""
    batch: list[ReleasedFile] = []
    for file in files:
        full = len(batch) >= BATCH_FILES or sum(one.size for one in batch) + file.size > BATCH_BYTES
        if batch and (full or is_page(file.path) != is_page(batch[-1].path)):
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


async def _sent(batch: list[ReleasedFile], send: Send) -> dict[str, StoredFile]:
    """Send a few at once. When one fails, none is left on its way."""
    free = asyncio.Semaphore(AT_ONCE)
    stored: dict[str, StoredFile] = {}

    async def send_one(file: ReleasedFile) -> None:
        async with free:
            stored[file.path] = StoredFile(file.path, file.size, file.sha256, await send(file))

    try:
        async with asyncio.TaskGroup() as group:
            for file in batch:
                group.create_task(send_one(file))
    except ExceptionGroup as several:
        raise several.exceptions[0] from several
    return stored


def _check_all(folder: Path, files: list[ReleasedFile]) -> None:
    for file in files:
        _read_checked(folder, file)


def _read_checked(folder: Path, file: ReleasedFile) -> bytes:
    """Read exactly the bytes of the manifest."""
    try:
        with os.fdopen(open_plain_file(folder / file.path), "rb") as opened:
            content = opened.read(file.size + 1)
    except OSError as error:
        raise changed_since(file.path) from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise changed_since(file.path)
    return content
