"""Fixtures for tests of the sandbox."""

from pathlib import Path

import pytest

from tests.needs import needs
from tests.sandbox.rooms import make_room
from webordinary.core.work import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A room that only the real sandbox lets a script into."""
    needs("bwrap", "the sandbox is made of it")
    return make_room(tmp_path / "own")
