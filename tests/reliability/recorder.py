"""Every write, truncation, sync and deletion that SQLite asks the system for, in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw

from tests.reliability.disk import Created, Deleted, Operation, Synced, Truncated, Written


class Recorder(apsw.VFS):
    """The system's own file access, with a log. Shared memory is not in it: the next start makes its own."""

    def __init__(self, name: str) -> None:
        """Stand between SQLite and the system's files."""
        super().__init__(name, "")
        self.name = name
        self.log: list[Operation] = []

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None:
            return apsw.VFSFile("", name, flags)  # a temporary file: nothing of it is missed
        if not Path(path).exists():
            self.log.append(Created(Path(path).name))
        return _RecordedFile(self.log, Path(path).name, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.log.append(Deleted(Path(filename).name, durable=syncdir))


class _RecordedFile(apsw.VFSFile):
    def __init__(
        self, log: list[Operation], short: str, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("", name, flags)
        self._log, self._name = log, short

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._log.append(Written(self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._log.append(Truncated(self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._log.append(Synced(self._name))


@contextlib.contextmanager
def recorder_of(folder: Path) -> Iterator[Recorder]:
    """Record what happens to the databases of a folder that are opened with this VFS's name."""
    recorder = Recorder(f"recorder of {folder}")
    try:
        yield recorder
    finally:
        recorder.unregister()
