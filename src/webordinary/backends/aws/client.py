"""The clients of the cloud: opened with the first call of an event loop, closed with the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession, get_session

from webordinary.backends.aws.errors import not_as_set_up, translated
from webordinary.backends.aws.settings import AwsSettings

# Whatever is repeated after a lost answer is safe to repeat: a write has a condition, a message is a hint.
_CONFIG = AioConfig(
    max_pool_connections=50,
    connect_timeout=3,
    read_timeout=30,
    tcp_keepalive=True,
    retries={"mode": "standard", "total_max_attempts": 4},
)

_session: AioSession | None = None


def _shared_session() -> AioSession:
    """One for all: it reads the descriptions of the services, which takes a while, once."""
    global _session  # noqa: PLW0603 - a cache
    if _session is None:
        _session = get_session()
    return _session


class Cloud:
    """Calls to the cloud's services, with errors in our words."""

    def __init__(self, settings: AwsSettings, config: AioConfig = _CONFIG) -> None:
        """Open nothing yet."""
        self._settings, self._config = settings, config
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lifetime: AsyncGenerator[None] | None = None
        self._clients: dict[str, asyncio.Future[Any]] = {}
        self._closing: asyncio.Task[None] | None = None

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        """Make one call."""
        client = await self.client(service)
        with translated(service, operation, parameters):
            answer: dict[str, Any] = await getattr(client, operation)(**parameters)
        return answer

    async def client(self, service: str) -> Any:  # noqa: ANN401 - botocore makes its classes while it runs
        """Give the client of a service, for those who read its errors themselves."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # another loop than before, which took its clients along when it ended
            self._loop, self._clients = loop, {}
            self._lifetime = _open_until_the_loop_ends(self._clients)
            await anext(self._lifetime)
        if service not in self._clients:
            self._clients[service] = loop.create_future()
            await self._open(service, self._clients[service])
        return await asyncio.shield(self._clients[service])

    async def _open(self, service: str, opened: asyncio.Future[Any]) -> None:
        context = _shared_session().create_client(
            service,
            region_name=self._settings.region,
            endpoint_url=self._settings.endpoint,
            config=self._config,
        )
        try:
            with translated(service):
                opened.set_result(await context.__aenter__())
        except BaseException as error:
            self._clients.pop(service, None)
            opened.cancel()
            if isinstance(error, ValueError):  # an endpoint of one service that can be none
                raise not_as_set_up(error) from error
            raise

    async def aclose(self) -> None:
        """Let go of all connections."""
        self._loop = None
        if self._lifetime is not None:
            await self._lifetime.aclose()

    def close(self) -> None:
        """Let go of all connections: at once where nothing runs, else as the loop goes on or ends."""
        if self._loop is None or self._loop.is_closed():
            return
        if self._loop.is_running():
            self._closing = self._loop.create_task(self.aclose())
        else:
            self._loop.run_until_complete(self.aclose())


async def _open_until_the_loop_ends(clients: dict[str, asyncio.Future[Any]]) -> AsyncGenerator[None]:
    """A loop that ends closes its generators, and so these clients, before it is gone."""
    try:
        yield
    finally:
        hurried: asyncio.CancelledError | None = None
        for opened in clients.values():
            try:
                if opened.done() and not opened.cancelled():
                    await opened.result().__aexit__(None, None, None)
            except (
                asyncio.CancelledError
            ) as error:  # the loop ends: that one is closed, the others still have to
                hurried = error
        clients.clear()
        if hurried is not None:
            raise hurried
