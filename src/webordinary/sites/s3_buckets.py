"""Making buckets; safe to repeat."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError, ParamValidationError

from webordinary.core.errors import BadInput
from webordinary.system.s3_client import translated

_OURS = frozenset({"BucketAlreadyOwnedByYou"})
_ANOTHERS = frozenset({"BucketAlreadyExists"})
_NO_NAME = frozenset({"InvalidBucketName"})
_HOME_REGION = "us-east-1"  # the one that must not be named


class NameRefused(BadInput):
    """No bucket of ours can be called so."""


async def make_bucket(
    client: Any,  # noqa: ANN401 - botocore makes its classes while it runs
    bucket: str,
    *,
    region: str,
    site: bool = False,
) -> bool:
    """Make a bucket unless we have it; with `site` it is served as one. Says whether it is new."""
    if await is_there(client, bucket):
        return False
    where = {} if region == _HOME_REGION else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    with translated(f"making the bucket {bucket}"):
        try:
            await client.create_bucket(Bucket=bucket, **where)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code")
            if code in _ANOTHERS:
                raise NameRefused(
                    f"the bucket name {bucket} is taken: names of buckets are the same for all the world"
                ) from error
            if code in _NO_NAME:
                raise _no_name(bucket) from error
            if code not in _OURS:
                raise
        except ParamValidationError as error:
            raise _no_name(bucket) from error
        if site:
            pages = {"IndexDocument": {"Suffix": "index.html"}, "ErrorDocument": {"Key": "404.html"}}
            await client.put_bucket_website(Bucket=bucket, WebsiteConfiguration=pages)
    return True


async def is_there(client: Any, bucket: str) -> bool:  # noqa: ANN401 - the same
    with translated(f"looking for the bucket {bucket}"):
        try:
            await client.head_bucket(Bucket=bucket)
        except (
            ClientError,
            ParamValidationError,
        ):  # there is none, or it is another's: making it tells which
            return False
    return True


def _no_name(bucket: str) -> NameRefused:
    return NameRefused(f"a bucket can't be called {bucket!r}: its name has 3 to 63 letters, digits, . and -")
