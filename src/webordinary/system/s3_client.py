"""The client of the object store: the calls we make of it, and what it says in our words."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Protocol

from aiohttp import ClientError as AiohttpError
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from webordinary.core.cloud_errors import NO_CREDENTIALS, meaning
from webordinary.core.errors import BackendUnavailable, NotFound

AT_ONCE = 8  # calls of one publication
_MISSING = {"NoSuchKey", "404"}
# 409: the store was changing the object at that very moment; for us the same as having come too late.
_CONFLICTS = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}


class S3Client(Protocol):
    """What we use of aiobotocore's client. All arguments are by name, as the store's reference has them."""

    async def get_object(self, **wanted: object) -> Mapping[str, Any]: ...
    async def put_object(self, **wanted: object) -> Mapping[str, Any]: ...
    async def copy_object(self, **wanted: object) -> Mapping[str, Any]: ...
    async def delete_objects(self, **wanted: object) -> Mapping[str, Any]: ...
    async def list_objects_v2(self, **wanted: object) -> Mapping[str, Any]: ...


class Conflict(Exception):
    """The object is not as the condition of the call wants it."""


class LaterS3Client:
    """See `S3Client`: one that is opened with the first call, wherever that is made."""

    def __init__(self, opened: Callable[[], Awaitable[Any]]) -> None:
        """Ask this for the client, each time: it knows which event loop runs."""
        self._opened = opened

    async def get_object(self, **wanted: object) -> Mapping[str, Any]:
        return await self._call("get_object", wanted)

    async def put_object(self, **wanted: object) -> Mapping[str, Any]:
        return await self._call("put_object", wanted)

    async def copy_object(self, **wanted: object) -> Mapping[str, Any]:
        return await self._call("copy_object", wanted)

    async def delete_objects(self, **wanted: object) -> Mapping[str, Any]:
        return await self._call("delete_objects", wanted)

    async def list_objects_v2(self, **wanted: object) -> Mapping[str, Any]:
        return await self._call("list_objects_v2", wanted)

    async def _call(self, operation: str, wanted: Mapping[str, object]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await getattr(await self._opened(), operation)(**wanted)
        return answer


async def content_of(answer: Mapping[str, Any], most_bytes: int | None = None) -> bytes:
    """Read an object to its end, or to this many bytes.

    One `read` with a number gives what has arrived by then, so a long object on a slow line would be cut off.
    """
    async with answer["Body"] as body:
        if most_bytes is None:
            return bytes(await body.read())
        content = bytearray()
        while len(content) < most_bytes and (more := await body.read(most_bytes - len(content))):
            content += more
        return bytes(content)


@contextlib.contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what the store says into our own errors."""
    try:
        yield
    except ClientError as error:
        said = error.response.get("Error", {})
        code, message = str(said.get("Code", "")), str(said.get("Message", ""))
        if code in _CONFLICTS:
            raise Conflict(doing) from error
        if code in _MISSING:
            raise NotFound(f"{doing}: it is not there") from error
        why = meaning(code, message) or f"the object store answered {code} {message}".rstrip(". ") + "."
        raise BackendUnavailable(f"{doing}: {why}", why) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise BackendUnavailable(f"{doing}: {NO_CREDENTIALS}", NO_CREDENTIALS) from error
    except (BotoCoreError, AiohttpError, TimeoutError) as error:
        why = f"the object store did not answer ({type(error).__name__}). The call may be repeated."
        raise BackendUnavailable(f"{doing}: {why}", why) from error
