"""A dashboard that answers in a thread of its own, for clients that are not async."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.dashboard.conftest import House, house_on
from tests.dashboard.seed import Story, StoryClock, seed
from tests.waiting import HANG_SECONDS
from webordinary.backends.folder_blobs import FolderBlobs
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.limits import Limits
from webordinary.dashboard.app import serving


class Served:
    """Where it answers, and a way to do something in its loop."""

    def __init__(self) -> None:
        self.up, self.stop = threading.Event(), asyncio.Event()
        self.port = 0
        self.house: House | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def run(self, folder: Path, *, full: bool) -> None:
        clock = StoryClock(3 * 3600 if full else 0)
        backend = open_sqlite(folder / "store", clock, Limits(), synchronous="OFF")
        blobs = FolderBlobs(folder / "blobs")
        try:
            story = await seed(backend, blobs, clock) if full else Story(backend, blobs, clock, {})
            self.house, self.loop = house_on(backend, clock, story), asyncio.get_running_loop()
            async with serving(self.house.app) as self.port:
                self.up.set()
                await self.stop.wait()
        finally:
            self.up.set()
            backend.close()


@contextmanager
def served(folder: Path, *, full: bool = True) -> Iterator[Served]:
    """Serve until the end of the block."""
    one = Served()
    thread = threading.Thread(target=lambda: asyncio.run(one.run(folder, full=full)), name="served dashboard")
    thread.start()
    try:
        assert one.up.wait(HANG_SECONDS)
        assert one.loop is not None
        yield one
    finally:
        if one.loop is not None:
            one.loop.call_soon_threadsafe(one.stop.set)
        thread.join()
