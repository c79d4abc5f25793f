"""The site's folder: read and written without ever following a link out of it."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webordinary.agents.demo.bounds import FILES_MAX, PAGES_BYTES, PAGES_MAX, PICTURE_BYTES, CannotDo
from webordinary.agents.demo.page import Page, parsed
from webordinary.core.failure import DemoObstacle

PAGE_ENDINGS = (".html", ".htm")
LEFT_OUT = frozenset({"node_modules"})
_PICTURE_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"RIFF", b"\x00\x00\x00")
_NEW_FILE_MODE = 0o644


class Interrupted(Exception):
    """The run was asked to stop while it was still reading."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What was found in a site's folder."""

    folder: Path
    pages: dict[str, Page]
    files: frozenset[str]
    unread: dict[str, str]  # pages that were not looked into, and why


def read_tree(folder: Path, stopped: Callable[[], bool]) -> Tree:
    """Read all pages of a site, within bounds."""
    pages: dict[str, Page] = {}
    unread: dict[str, str] = {}
    files: set[str] = set()
    total = 0
    for path, size in _regular_files(folder):
        files.add(path)
        if not path.lower().endswith(PAGE_ENDINGS):
            continue
        if stopped():
            raise Interrupted
        total += size
        if len(pages) >= PAGES_MAX or total > PAGES_BYTES:
            unread[path] = "the site has more pages than I read"
            continue
        page = parsed(path, read_regular(folder / path, PAGES_BYTES))
        if isinstance(page, str):
            unread[path] = page
        else:
            pages[path] = page
    return Tree(folder, pages, frozenset(files), unread)


def _regular_files(folder: Path) -> Iterator[tuple[str, int]]:
    """Regular files with their sizes, in the order of their paths; hidden ones are left out."""
    waiting, looked_at = [""], 0
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        deeper = []
        for entry in entries:
            looked_at += 1
            if looked_at > FILES_MAX:
                raise CannotDo(f"the site has more than {FILES_MAX} files", DemoObstacle.TOO_MUCH)
            path = f"{below}{entry.name}"
            if entry.name.startswith(".") or entry.name in LEFT_OUT:
                continue
            if entry.is_dir(follow_symlinks=False):
                deeper.append(f"{path}/")
            elif entry.is_file(follow_symlinks=False):
                yield path, entry.stat(follow_symlinks=False).st_size
        waiting.extend(reversed(deeper))


def read_regular(path: Path, most: int) -> bytes:
    """Read a regular file of bounded size; nothing else that could stand there under its name."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise CannotDo(f"{path.name} is no file", DemoObstacle.BAD_FILE, path.name)
        content = file.read(most + 1)
    if len(content) > most:
        raise CannotDo(f"{path.name} is larger than {most // 1_000_000} MB", DemoObstacle.BAD_FILE, path.name)
    return content


def read_picture(folder: Path, name: str) -> bytes:
    """Read a picture of the mail."""
    if name in {"", ".", ".."} or "/" in name or "\x00" in name:
        raise CannotDo("the attached file has a name that I can't use", DemoObstacle.BAD_FILE)
    try:
        content = read_regular(folder / name, PICTURE_BYTES)
    except OSError as error:
        raise CannotDo(f"I can't read the attached file {name}", DemoObstacle.BAD_FILE, name) from error
    if not content.startswith(_PICTURE_STARTS):
        raise CannotDo(
            f"the attached file {name} is no picture that can be shown on a page", DemoObstacle.BAD_FILE, name
        )
    return content


def name_for_picture(tree: Tree, name: str, content: bytes) -> tuple[str, bool]:
    """Where a mailed picture goes, and whether it is there already. No other file is overwritten."""
    images = tree.folder / "images"
    if images.is_symlink() or (images.exists() and not images.is_dir()):
        raise CannotDo("the site's images folder is no folder that I can write to")
    base, dot, ending = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.").rpartition(".")
    base, ending = (base, ending) if dot else (ending, "jpg")
    base = base[:60].strip("-.") or "picture"
    for number in range(1, 100):
        path = f"images/{base}{'' if number == 1 else f'-{number}'}.{ending}"
        place = tree.folder / path
        if not os.path.lexists(place):
            return path, False
        if path in tree.files and place.stat().st_size == len(content) and place.read_bytes() == content:
            return path, True
    raise CannotDo(f"there are too many pictures called {name}", DemoObstacle.BAD_FILE, name)


def write(folder: Path, path: str, content: bytes) -> None:
    """Write a file of the site whole or not at all, with the mode it had. No folder on the way is a link."""
    place = folder / path
    below = folder
    for part in Path(path).parts[:-1]:
        below /= part
        with contextlib.suppress(FileExistsError):
            below.mkdir()
        if below.is_symlink():
            raise CannotDo(f"{path} is behind a link, and I don't follow links")
    mode = stat.S_IMODE(place.lstat().st_mode) if place.exists() else _NEW_FILE_MODE
    handle, unfinished = tempfile.mkstemp(dir=place.parent, prefix=".unfinished-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, mode)
        Path(unfinished).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(unfinished).unlink()
        raise
