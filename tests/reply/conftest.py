"""A post office on each backend, with a clock that tests advance."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.world import LIMITS, ManualClock
from tests.reply.post import Post
from webordinary.backends.memory.open import open_memory
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.ports.backend import Backend

OPENERS: dict[str, Callable[[Path, ManualClock], Backend]] = {
    "memory": lambda _, clock: open_memory(clock, LIMITS),
    "sqlite": lambda folder, clock: open_sqlite(folder / "home", clock, LIMITS),
}


@pytest.fixture(params=OPENERS)
def post(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Post]:
    """An empty store, and everything that is needed to be owed letters and to send them."""
    clock = ManualClock()
    backend = OPENERS[request.param](tmp_path, clock)
    yield Post(backend, clock, tmp_path / "outbox")
    backend.close()
