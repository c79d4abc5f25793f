"""A client of an object store, as tests open it."""

import contextlib
from collections.abc import AsyncIterator
from typing import cast

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

from webordinary.system.s3_client import S3Client


@contextlib.asynccontextmanager
async def s3_client(*, region: str, endpoint: str, attempts: int = 4) -> AsyncIterator[S3Client]:
    retries = {"mode": "standard", "total_max_attempts": attempts}
    config = AioConfig(connect_timeout=5, read_timeout=60, retries=retries, s3={"addressing_style": "path"})
    opening = get_session().create_client("s3", region_name=region, endpoint_url=endpoint, config=config)
    async with opening as client:
        yield cast("S3Client", client)
