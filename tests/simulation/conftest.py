"""A world of its own for every test of the kernel."""

from collections.abc import Iterator

import pytest

from webordinary.simulation.kernel import Kernel


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    with Kernel(7) as world:
        yield world
