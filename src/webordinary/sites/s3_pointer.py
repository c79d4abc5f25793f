"""What a bucket should hold, who changes it now, and the fences: one small object, replaced by comparing.

The store replaces an object only if it is still the one that was read (`If-Match`), or is not there
(`If-None-Match`). So of two workers that change the pointer at once one comes too late and looks again.
The site's own visitors have no business with it: let the bucket's policy deny `.webordinary/*` to them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from webordinary.core.claim import Claim
from webordinary.core.errors import BackendUnavailable, ClaimLost, NotFound, StoreBusy
from webordinary.core.release import Release, ReleasedFile
from webordinary.system.s3_client import Conflict, S3Client, content_of, translated

POINTER_KEY = ".webordinary/release.json"
_CHANGE_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a release as the store has it."""

    path: str
    size: int
    sha256: str
    etag: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """The state of one bucket."""

    release: str = ""  # that was completed last; "" is none
    commit: str = ""
    files: tuple[StoredFile, ...] = ()  # of that release
    strays: tuple[str, ...] = ()  # other paths that we put there, or were about to; to be deleted
    underway: str = ""  # the attempt that changes objects now, or died doing so
    fences: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    word: str = ""  # made up anew for each writing, so that its writer knows it again

    def manifest(self) -> Release:
        return Release(tuple(ReleasedFile(file.path, file.size, file.sha256) for file in self.files))

    def entered(self, claim: Claim) -> Pointer:
        """Look at the fence and leave ours there; a higher one means that we lost the lane."""
        user, known = claim.lane.user, self.fences.get(claim.lane.user, 0)
        if claim.fence < known:
            raise ClaimLost(
                f"{claim.lane} has fence {known} by now, this is the owner of fence {claim.fence}"
            )
        return self if claim.fence == known else replace(self, fences={**self.fences, user: claim.fence})

    def begun(self, claim: Claim, attempt: str, release: Release) -> Pointer:
        """Say who changes objects from now on, and which paths may appear by that."""
        had = {file.path for file in self.files}
        new = {file.path for file in release.files} - had
        return replace(self.entered(claim), underway=attempt, strays=tuple(sorted(new.union(self.strays))))

    def still(self, claim: Claim, attempt: str) -> Pointer:
        """Make sure that nobody else changes objects by now."""
        entered = self.entered(claim)
        if entered.underway != attempt:
            raise StoreBusy(
                f"another change of {claim.lane.project} is being published at the same moment; "
                "this one was stopped and has to be published again"
            )
        return entered

    def completed(self, release: Release, commit: str, files: tuple[StoredFile, ...]) -> Pointer:
        """Say that all objects of a release are there; what else is ours is to be deleted."""
        ours = {file.path for file in self.files}.union(self.strays)
        strays = tuple(sorted(ours - {file.path for file in files}))
        return replace(self, release=release.id, commit=commit, files=files, strays=strays)


class PointerStore:
    """The pointer of one bucket."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client, self.bucket = client, bucket

    async def read(self) -> Pointer:
        return (await self._read())[0]

    async def change(self, make: Callable[[Pointer], Pointer]) -> Pointer:
        """Replace the pointer by what is made of it; whatever `make` raises leaves it as it is."""
        for _ in range(_CHANGE_ATTEMPTS):
            pointer, etag = await self._read()
            made = make(pointer)
            if made == pointer:
                return pointer
            made = replace(made, word=secrets.token_hex(8))
            try:
                await self._write(made, etag)
            except (Conflict, NotFound):  # not found: it was deleted since it was read
                # A call that was repeated because its answer got lost fails on its own success.
                if (await self.read()).word != made.word:
                    continue
            return made
        raise StoreBusy(f"the pointer of {self.bucket} is changed by others all the time")

    async def _read(self) -> tuple[Pointer, str]:
        try:
            with translated(f"reading the pointer of {self.bucket}"):
                answer = await self._client.get_object(Bucket=self.bucket, Key=POINTER_KEY)
                content = await content_of(answer)
        except NotFound:
            return Pointer(), ""
        try:
            return _pointer_from(json.loads(content)), str(answer["ETag"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BackendUnavailable(f"{POINTER_KEY} in {self.bucket} is damaged: {error}") from error

    async def _write(self, pointer: Pointer, etag: str) -> None:
        condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}
        written = {
            **{name: getattr(pointer, name) for name in ("release", "commit", "strays", "underway", "word")},
            "fences": dict(pointer.fences),
            "files": [asdict(file) for file in pointer.files],
        }
        with translated(f"writing the pointer of {self.bucket}"):
            await self._client.put_object(
                Bucket=self.bucket,
                Key=POINTER_KEY,
                Body=json.dumps(written).encode(),
                ContentType="application/json",
                CacheControl="no-store",
                **condition,
            )


def _pointer_from(read: Mapping[str, Any]) -> Pointer:
    return Pointer(
        release=str(read["release"]),
        commit=str(read["commit"]),
        files=tuple(StoredFile(**file) for file in read["files"]),
        strays=tuple(read["strays"]),
        underway=str(read["underway"]),
        fences={str(user): int(fence) for user, fence in read["fences"].items()},
        word=str(read["word"]),
    )
