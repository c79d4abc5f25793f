from collections.abc import AsyncIterator

import pytest

from tests.authentication.smtp_server import Server, smtp_server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with smtp_server() as opened:
        yield opened
