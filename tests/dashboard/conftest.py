"""A dashboard on a real store, asked over ASGI or over real HTTP."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from tests.dashboard.seed import Story, StoryClock, seed
from webordinary.backends.folder_blobs import FolderBlobs
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


@dataclass(frozen=True, slots=True)
class Told:
    """A story that was told once, to be copied: a store, its blobs, its letters, and when it ended."""

    store: Path
    blobs: Path
    letters: dict[tuple[str, str], bytes]
    ended_at: float


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("story")
    clock = StoryClock(3 * 3600)
    backend = open_sqlite(folder / "store", clock, Limits(), synchronous="OFF")
    story = asyncio.run(seed(backend, FolderBlobs(folder / "blobs"), clock))
    backend.close()
    return Told(folder / "store", folder / "blobs", story.letters, clock.now())


def house_on(backend: Backend, clock: StoryClock, story: Story) -> House:
    gateway = Gateway()
    parts = Parts(
        backend, story.blobs, clock, Limits(), send=gateway.send, sent_mail=story.sent_mail, look_seconds=0.05
    )
    return House(create_app(parts, token=TOKEN), backend, story, gateway, parts)


@pytest.fixture
def empty_house(tmp_path: Path) -> Iterator[House]:
    """Nothing has happened yet."""
    clock = StoryClock(0)
    backend = open_sqlite(tmp_path / "store", clock, Limits(), synchronous="OFF")
    yield house_on(backend, clock, Story(backend, FolderBlobs(tmp_path / "blobs"), clock, {}))
    backend.close()


@pytest.fixture
def house(told: Told, tmp_path: Path) -> Iterator[House]:
    """A copy of the story, at the very moment that it ended: leases that lived then live."""
    shutil.copytree(told.store, tmp_path / "store")
    clock = StoryClock(time.time() - told.ended_at)
    backend = open_sqlite(tmp_path / "store", clock, Limits(), synchronous="OFF")
    yield house_on(backend, clock, Story(backend, FolderBlobs(told.blobs), clock, dict(told.letters)))
    backend.close()


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
