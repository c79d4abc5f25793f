"""A file that is no store, or no longer one, is refused in our words, and nothing of it stays open."""

from __future__ import annotations

from pathlib import Path

import pytest

from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.wakeups import LocalWakeups
from webordinary.core.errors import BackendUnavailable
from webordinary.system.clock import SystemClock

NO_DATABASE = (b"SQLite format 3\0", b"Dear Sir, hello\0")
BROKEN_SCHEMA = (b"CREATE TABLE lanes (", b"CREATE TABLE lanes )")
NO_TEXT = (b"tablelanes", b"tablel\xa5nes")  # the driver's own message can't be read then


@pytest.mark.parametrize("damages", [[NO_DATABASE], [BROKEN_SCHEMA], [BROKEN_SCHEMA, NO_TEXT]])
def test_a_damaged_store_is_refused_in_our_own_words(
    damages: list[tuple[bytes, bytes]], tmp_path: Path
) -> None:
    """Callers know what to do with our errors; one of the driver's would end them instead."""
    path = tmp_path / "store.db"
    Engine(path, SystemClock(), LocalWakeups()).close()
    for old, new in damages:
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new))
    before = _open_files()
    with pytest.raises(BackendUnavailable):
        Engine(path, SystemClock(), LocalWakeups())
    assert _open_files() == before


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
