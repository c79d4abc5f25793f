"""The site's folder: pages read and files written, without ever following a link out of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from webordinary.agents.demo.requests import CannotDo, shown
from webordinary.core.failure import DemoObstacle
from webordinary.core.page_outline import PageOutline, outline
from webordinary.core.work import MailedFile, Room
from webordinary.publish.files import read_plain_file

PAGES_MAX = 200
FILES_MAX = 20_000  # looked at in the tree
PAGE_BYTES, PAGES_BYTES = 256_000, 1_500_000
PICTURE_BYTES = 20_000_000
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:-]{1,40})""", re.IGNORECASE)
_PICTURE_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"RIFF", b"\x00\x00\x00")
_HOME = frozenset({"homepage", "home", "front", "start", "main", "index"})
_ALIKE = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2011", "'''" + 5 * '"' + "-")


@dataclass(frozen=True, slots=True)
class SitePage:
    """One page of a site, with what it shows."""

    path: str
    source: str = field(repr=False)
    outline: PageOutline = field(repr=False)

    @classmethod
    def read(cls, path: str, content: bytes) -> SitePage | str:
        """Read a page, or say why not."""
        if len(content) > PAGE_BYTES:
            return f"it is larger than {PAGE_BYTES // 1000} kB"
        declared = _DECLARED.search(content[:4096])
        with contextlib.suppress(UnicodeDecodeError):
            if declared is None or declared[1].lower() in {b"utf-8", b"utf8"}:
                return cls(path, content.decode(), outline(content.decode()))
        return "its characters are not written as UTF-8"


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """What was found in a site's folder."""

    pages: Mapping[str, SitePage]
    unread: Mapping[str, str]  # pages that were not looked into, and why
    mail: Path  # the folder of the mail's files
    mailed: Sequence[MailedFile] = ()

    def pages_meant(self, name: str, *, home: bool) -> list[SitePage]:
        """The page that is named; else the homepage or all pages."""
        if not name and not home:
            return list(self.pages.values())
        words = folded(name).removeprefix("the ").removesuffix("page").strip()
        found = (
            self._home() if not name or words in _HOME or folded(name) in _HOME else self._called(name, words)
        )
        if not found:
            raise CannotDo(f"there is no page called {shown(name or 'homepage')}", DemoObstacle.NO_PAGE, name)
        if len(found) > 1:
            paths = ", ".join(page.path for page in found[:5])
            reason = f"{shown(name)} could be one of these pages: {paths}"
            raise CannotDo(reason, DemoObstacle.SEVERAL_PAGES, name)
        return found

    def _home(self) -> list[SitePage]:
        homes = [page for path, page in self.pages.items() if _stem(path) == "" or len(self.pages) == 1]
        return sorted(homes, key=lambda page: page.path.count("/"))[:1]

    def _called(self, name: str, words: str) -> list[SitePage]:
        """The pages that people call so: by their file, their title or heading, or what links to them say."""
        pages = self.pages.values()
        links = ((page, link) for page in pages for link in page.outline.links if same(link.label, words))
        linked = {posixpath.join(posixpath.dirname(page.path), unquote(link.href)) for page, link in links}
        return (
            [page for page in pages if page.path.lower() == folded(name).lstrip("/")]
            or [page for page in pages if _stem(page.path) == re.sub(r"\W+", "-", words)]
            or [page for page in pages if any(same(words, one) for one in names_of(page))]
            or [page for page in pages if page.path in linked]
        )


def _stem(path: str) -> str:
    """What a page is called by its path: "" for the homepage."""
    return re.sub(r"(?:^|/)index\.html?$|\.html?$", "", path.lower()).rpartition("/")[2]


def names_of(page: SitePage) -> list[str]:
    """A page's heading, its title and the parts of that: people write "Our bread | The bakery"."""
    title = page.outline.title
    return [page.outline.heading, title, *filter(None, re.split(r"\s+[|·•\u2013—:-]+\s+|:\s+", title))]


def folded(text: str) -> str:
    """A text for comparing, as long as it was: kinds of quotes are alike, and so are cases."""
    return "".join(low if len(low := char.lower()) == 1 else char for char in text.translate(_ALIKE))


def same(one: str, other: str) -> bool:
    """Whether two texts read alike."""
    return folded(" ".join(one.split())) == folded(" ".join(other.split()))


def read_site(room: Room) -> SiteFolder:
    """Read all pages of a site, within bounds."""
    pages: dict[str, SitePage] = {}
    unread: dict[str, str] = {}
    total = 0
    for path in _pages_in(room.tree):
        content = read_plain_file(room.tree / path, PAGE_BYTES + 1)
        if content is None:
            continue  # a link, a pipe
        total += len(content)
        is_too_much = len(pages) >= PAGES_MAX or total > PAGES_BYTES
        page = "the site has more pages than I read" if is_too_much else SitePage.read(path, content)
        if isinstance(page, SitePage):
            pages[path] = page
        else:
            unread[path] = page
    if not pages:
        raise CannotDo("I found no HTML page in the site that I can read", DemoObstacle.NOWHERE)
    return SiteFolder(pages, unread, room.mail)


def _pages_in(folder: Path) -> Iterator[str]:
    """Paths of pages, in order. What is hidden or another's code is left out."""
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is gone")
    looked_at = 0
    for below, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        looked_at += len(folders) + len(files)
        if looked_at > FILES_MAX:
            raise CannotDo(f"the site has more than {FILES_MAX} files", DemoObstacle.TOO_MUCH)
        for name in sorted(files):
            if name.lower().endswith((".html", ".htm")) and not name.startswith("."):
                yield posixpath.normpath(posixpath.join(os.path.relpath(below, folder), name))


def read_picture(folder: Path, name: str) -> tuple[str, bytes]:
    """Read a picture of the mail, and name it by its content: no other file of the site is overwritten."""
    if name in {"", ".", ".."} or "/" in name or "\x00" in name:
        raise CannotDo("the attached file has a name that I can't use", DemoObstacle.BAD_FILE)
    content = read_plain_file(folder / name, PICTURE_BYTES + 1)
    if content is None or len(content) > PICTURE_BYTES or not content.startswith(_PICTURE_STARTS):
        reason = f"I can't read the attached file {name} as a picture for a page"
        raise CannotDo(reason, DemoObstacle.BAD_FILE, name)
    stem, _, ending = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.").rpartition(".")
    path = f"images/{stem[:60].strip('-.') or 'picture'}-{hashlib.sha256(content).hexdigest()[:12]}.{ending}"
    return path, content


def write(folder: Path, path: str, content: bytes) -> None:
    """Write a file of the site, with the mode it had; never through a link."""
    place = folder / path
    place.parent.mkdir(exist_ok=True)
    if place.parent.is_symlink():
        raise CannotDo(f"{path} is behind a link, and I don't follow links")
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
