"""Making buckets; safe to repeat."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from webordinary.adapters.s3.client import translated

_OURS = frozenset({"BucketAlreadyOwnedByYou"})
_HOME_REGION = "us-east-1"  # the one that must not be named


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
            if error.response.get("Error", {}).get("Code") not in _OURS:
                raise
        if site:
            pages = {"IndexDocument": {"Suffix": "index.html"}, "ErrorDocument": {"Key": "404.html"}}
            await client.put_bucket_website(Bucket=bucket, WebsiteConfiguration=pages)
    return True


async def is_there(client: Any, bucket: str) -> bool:  # noqa: ANN401 - the same
    with translated(f"looking for the bucket {bucket}"):
        try:
            await client.head_bucket(Bucket=bucket)
        except ClientError:  # there is none, or it is another's: making it tells which
            return False
    return True
