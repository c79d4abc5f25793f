"""A dashboard on a real store, asked over ASGI or over real HTTP."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from tests.dashboard.seed import Story, StoryClock, seed
from webordinary.adapters.folder_blobs import FolderBlobs
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.limits import Limits
from webordinary.dashboard.app import create_app
from webordinary.dashboard.parts import Parts
from webordinary.ports.backend import Backend

TOKEN = "a-token-of-the-tests-0123456789"
HOST = "http://127.0.0.1:8025"


@dataclass(slots=True)
class Gateway:
    """Takes mails from the try-it box and keeps them."""

    taken: list[tuple[str, bytes]] = field(default_factory=list)

    async def send(self, sender: str, raw: bytes) -> None:
        self.taken.append((sender, raw))


@dataclass(frozen=True, slots=True)
class House:
    """A store and the dashboard on it."""

    app: Starlette
    backend: Backend
    story: Story
    gateway: Gateway
    parts: Parts

    def client(self, **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=HOST, headers=headers)


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[tuple[Backend, StoryClock]]:
    clock = StoryClock(3 * 3600)
    opened = open_sqlite(tmp_path / "store", clock, Limits(), synchronous="OFF")
    yield opened, clock
    opened.close()


def house_on(backend: Backend, clock: StoryClock, story: Story) -> House:
    gateway = Gateway()
    parts = Parts(
        backend, story.blobs, clock, Limits(), send=gateway.send, sent_mail=story.sent_mail, look_seconds=0.05
    )
    return House(create_app(parts, token=TOKEN), backend, story, gateway, parts)


@pytest.fixture
def empty_house(backend: tuple[Backend, StoryClock], tmp_path: Path) -> House:
    store, clock = backend
    clock.behind = 0.0
    return house_on(store, clock, Story(store, FolderBlobs(tmp_path / "blobs"), clock, {}))


@pytest.fixture
async def house(backend: tuple[Backend, StoryClock], tmp_path: Path) -> House:
    store, clock = backend
    return house_on(store, clock, await seed(store, FolderBlobs(tmp_path / "blobs"), clock))


@pytest.fixture
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who only looks."""
    async with house.client() as client:
        yield client


@pytest.fixture
async def operator(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who has signed in with the token, in a browser."""
    async with house.client(origin=HOST) as client:
        answer = await client.get("/", params={"token": TOKEN})
        assert answer.status_code == 303
        yield client
