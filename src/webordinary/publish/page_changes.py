"""What is different between two releases, in the eyes of a visitor: pages compared as they are served.

It compares what was built, so it works for every way of building a site. The work is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import unquote, urljoin, urlsplit

from webordinary.core.page_changes import PageChange
from webordinary.core.page_changes import PageChangeKind as Kind
from webordinary.core.page_outline import Block, PageOutline, outline
from webordinary.core.release import Release
from webordinary.core.text import one_line
from webordinary.publish.files import is_page

CHANGES_NAMED = 12  # the rest is counted
PAGES_COMPARED = 300
COMPARED_BYTES = 24_000_000  # of all pages together, before and after
PARSED_BYTES = 6_000_000  # of them; pages that changed like one before need not be
PAGE_BYTES = 400_000  # a larger page is counted, not looked into
BLOCKS_COMPARED = 300  # on each side, after what is the same at both ends is left out
TEXT_CHARACTERS, NAME_CHARACTERS = 70, 60
AROUND_CHARACTERS = 20  # of what stays the same, before and after a difference
FILES_NAMED = 3
PAIRED_AT_LEAST = 0.35  # how much alike two texts are, for one to have become the other

_SITE = "http://site.invalid/"
_HOMES = ("index.html", "index.htm", "index.xhtml")
_LOOKS = (".css", ".js", ".mjs", ".woff", ".woff2", ".ttf", ".otf")
_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg")
_FOR_MACHINES = (".xml", ".json", ".txt", ".map", ".webmanifest", ".rss", ".atom")
_RELATIVE = re.compile(rb"""(?:href|src)\s*=\s*["']?(?!/|https?:|#)""", re.IGNORECASE)

Part = TypeVar("Part")
Key = tuple[Kind, str, str, str]


@dataclass(frozen=True, slots=True)
class Version:
    """One of two releases: its files by path, and those pages of it that were read."""

    files: Mapping[str, str]  # path and sha256
    pages: Mapping[str, bytes]
    _words: dict[str, PageOutline] = field(default_factory=dict)

    @classmethod
    def of(cls, release: Release | None, pages: Mapping[str, bytes]) -> Version:
        """Nothing, if there was no release."""
        return cls({file.path: file.sha256 for file in release.files} if release else {}, pages)

    def words(self, path: str) -> PageOutline:
        """What a page shows; nothing if it was not read. Each is looked into once."""
        if path not in self._words:
            self._words[path] = outline(self.pages.get(path, b"").decode(errors="replace"))
        return self._words[path]


def pages_to_read(before: Release | None, after: Release) -> list[str]:
    """Name the pages that a comparison looks into, of both releases; the home page always, and first.

    Every page, when a picture was exchanged under its name: the pages that show it are the same bytes.
    """
    old = {file.path: file for file in before.files} if before else {}
    new = {file.path: file for file in after.files}
    exchanged = any(
        path.lower().endswith(_PICTURES) and path in old and old[path].sha256 != file.sha256
        for path, file in new.items()
    )
    wanted: list[str] = []
    left = COMPARED_BYTES
    for path in sorted(old.keys() | new.keys(), key=_home_first):
        sizes = [files[path].size for files in (old, new) if path in files]
        same = path in old and path in new and old[path].sha256 == new[path].sha256
        if not is_page(path) or max(sizes) > PAGE_BYTES or (same and not exchanged and path not in _HOMES):
            continue
        left -= sum(sizes)
        if left < 0 or len(wanted) >= PAGES_COMPARED:
            break
        wanted.append(path)
    return wanted


def page_changes(before: Version, after: Version, mailed: Mapping[str, str]) -> list[PageChange]:
    """Tell what changed, most visible first. `mailed` are the mail's files by sha256, as they were called."""
    return _Comparison(before, after, mailed).changes()


@dataclass(slots=True)
class _Comparison:
    before: Version
    after: Version
    mailed: Mapping[str, str]
    found: dict[Key, list[PageChange]] = field(default_factory=dict)  # the same, of several pages
    known: dict[tuple[str, bytes, bytes], list[PageChange]] = field(default_factory=dict)  # by what differs
    parsed: int = 0

    def changes(self) -> list[PageChange]:
        old, new = self.before.files, self.after.files
        pages = [path for path in sorted(new, key=_home_first) if is_page(path)]
        both = [path for path in pages if path in old]
        added = {path for path in pages if path not in old}
        silent, unread = [], []
        for path in both:
            changes = self._compared(path, added)
            if changes is None and old[path] != new[path]:
                unread.append(path)
            elif not changes and old[path] != new[path]:
                silent.append(path)
            for change in changes or ():
                key = (change.kind, change.old, change.new, change.target)
                self.found.setdefault(key, []).append(change)
        changes = [self._of_all(group, len(pages)) for group in self.found.values()]
        changes += [self._added(path) for path in sorted(added)]
        changes += [
            PageChange(Kind.PAGE_REMOVED, self._name(path, self.before))
            for path in sorted(old)
            if is_page(path) and path not in new
        ]
        if unread:
            changes.append(PageChange(Kind.PAGES, count=len(unread)))
        return _bounded(changes or self._hardly_seen(silent), self._look())

    # --- one page -----------------------------------------------------------------------------------

    def _compared(self, path: str, added: set[str]) -> list[PageChange] | None:
        """What is different on a page; None if it was not read, or there is too much to look into."""
        old, new = self.before.pages.get(path), self.after.pages.get(path)
        if old is None or new is None:
            return None
        differs = _what_differs(old, new)
        key = (path.rpartition("/")[0] if _RELATIVE.search(differs[1]) else "", *differs)
        if old != new and key in self.known:  # the footer of 200 pages
            return [replace(change, path=path) for change in self.known[key]]
        self.parsed += len(old) + len(new)
        if self.parsed > PARSED_BYTES:
            return None
        was, now = self.before.words(path), self.after.words(path)
        new_links = self._new_links(path, was, now)
        to_new_pages = [label for label, target in new_links if target in added]
        changes = [
            *_headings_and_title(was, now),
            *_texts(was, now, [label for label, _ in new_links], to_new_pages),
            *self._pictures(path, was, now),
            *self._links(path, was, now),
        ]
        name = self._name(path, self.after)
        self.known[key] = [replace(change, page=name, path=path) for change in changes]
        return self.known[key]

    def _new_links(self, path: str, was: PageOutline, now: PageOutline) -> list[tuple[str, str]]:
        known = {link.label for link in was.links}
        new = (link for link in now.links if link.label not in known)
        return [(link.label, _file_of(path, link.href, self.after)) for link in new]

    def _pictures(self, path: str, was: PageOutline, now: PageOutline) -> Iterator[PageChange]:
        def shown(words: PageOutline, side: Version) -> list[tuple[str, str, str]]:
            files = [(_file_of(path, one.src, side), one) for one in words.pictures]
            return [(side.files.get(file, one.src), one.src, one.alt) for file, one in files]

        for old, new in _differences(shown(was, self.before), shown(now, self.after)):
            if new is None and old is not None:
                called = one_line(old[2], NAME_CHARACTERS) or _file_name(old[1])
                yield PageChange(Kind.PICTURE_REMOVED, old=called)
            elif new is not None and (old is None or old[0] != new[0]):
                kind = Kind.PICTURE if old is not None else Kind.PICTURE_ADDED
                theirs = self.mailed.get(new[0], "")
                called = theirs or one_line(new[2], NAME_CHARACTERS) or _file_name(new[1])
                yield PageChange(kind, new=called, mailed=bool(theirs))
            elif new is not None and old is not None and old[2] != new[2] and new[2]:
                yield PageChange(Kind.PICTURE_DESCRIPTION, new=one_line(new[2], TEXT_CHARACTERS))

    def _links(self, path: str, was: PageOutline, now: PageOutline) -> Iterator[PageChange]:
        """Links of the same words that lead elsewhere. What links say is told as text."""
        for old, new in _differences(was.links, now.links):
            if old is None or new is None or old.label != new.label or not new.label:
                continue
            file = _file_of(path, new.href, self.after)
            if file in self.after.files and file == _file_of(path, old.href, self.before):
                continue  # the same page, addressed in another way
            known = is_page(file) and file in self.after.pages
            target = self._name(file, self.after) if known else new.href
            yield PageChange(
                Kind.LINK,
                new=one_line(new.label, TEXT_CHARACTERS),
                target=one_line(target, NAME_CHARACTERS * 2),
            )

    # --- the site -----------------------------------------------------------------------------------

    def _of_all(self, group: Sequence[PageChange], pages: int) -> PageChange:
        return replace(group[0], pages=len(group), everywhere=len(group) == pages > 1)

    def _added(self, path: str) -> PageChange:
        """A new page, and which page leads there."""
        title = self._name(path, self.after)
        for page in sorted(self.after.pages, key=_home_first):
            if page != path and page in self.after.files:
                links = self.after.words(page).links
                if any(_file_of(page, link.href, self.after) == path for link in links):
                    return PageChange(Kind.PAGE_LINKED, title, target=self._name(page, self.after), path=path)
        return PageChange(Kind.PAGE_ADDED, title, path=path)

    def _name(self, path: str, side: Version) -> str:
        return page_name(path, side.words(path))

    def _look(self) -> list[PageChange]:
        def styles(files: Mapping[str, str]) -> set[str]:
            return {sha for path, sha in files.items() if path.lower().endswith(_LOOKS)}

        changed = self.before.files and styles(self.before.files) != styles(self.after.files)
        return [PageChange(Kind.LOOK)] if changed else []

    def _hardly_seen(self, silent: Sequence[str]) -> list[PageChange]:
        """Nothing that a page says: a page's unseen parts, or other files, which are named last of all."""
        if self._look():
            return []
        if silent:
            return [PageChange(Kind.UNSEEN, self._name(silent[0], self.after), path=silent[0])]
        old, new = self.before.files, self.after.files
        moved = set(old.values()) & set(new.values())
        names = [
            _file_name(path)
            for path in sorted(old.keys() | new.keys())
            if old.get(path) != new.get(path)
            and not moved.intersection((old.get(path), new.get(path)))
            and not path.lower().endswith((".html", ".htm", *_FOR_MACHINES))
        ]
        return [PageChange(Kind.FILES, new=", ".join(names[:FILES_NAMED]))] if names else []


# --- texts ----------------------------------------------------------------------------------------------


def _headings_and_title(was: PageOutline, now: PageOutline) -> Iterator[PageChange]:
    old, new = was.heading, now.heading
    headed = bool(old and new and old != new)
    if headed:
        kind = Kind.TITLE_AND_HEADING if now.title == new and was.title != now.title else Kind.HEADING
        yield PageChange(kind, old=one_line(old, TEXT_CHARACTERS), new=one_line(new, TEXT_CHARACTERS))
    is_said = headed and (new in now.title or now.title == was.title)
    if was.title != now.title and now.title and not is_said:
        yield PageChange(
            Kind.TITLE, old=one_line(was.title, TEXT_CHARACTERS), new=one_line(now.title, TEXT_CHARACTERS)
        )


def _texts(
    was: PageOutline, now: PageOutline, links: Sequence[str], to_new_pages: Sequence[str]
) -> Iterator[PageChange]:
    first = [next((one for one in words.texts if one.level == 1), None) for words in (was, now)]
    for old, new in _differences(was.texts, now.texts, _alike):
        if [old, new] == first and old and new:
            continue  # the main heading: told already
        if new is None and old is not None:
            kind = Kind.HEADING_REMOVED if old.level else Kind.TEXT_REMOVED
            yield PageChange(kind, old=one_line(old.text, TEXT_CHARACTERS))
        elif old is None and new is not None:
            if new.text in to_new_pages:
                continue  # an item of the menu: the new page is told
            kind = Kind.HEADING_ADDED if new.level else Kind.TEXT_ADDED
            yield PageChange(
                Kind.LINK_ADDED if new.text in links else kind, new=one_line(new.text, TEXT_CHARACTERS)
            )
        elif old is not None and new is not None and old.text != new.text:
            if _without(new.text, to_new_pages) == old.text:
                continue  # a menu in one line
            before, after = _around_the_difference(old.text, new.text)
            yield PageChange(Kind.SUBHEADING if new.level else Kind.TEXT, old=before, new=after)


def _alike(old: Block, new: Block) -> bool:
    """Whether one can have become the other; texts that have nothing in common came and went."""
    if bool(old.level) != bool(new.level):
        return False
    if len(old.text) <= TEXT_CHARACTERS and len(new.text) <= TEXT_CHARACTERS:
        return True
    matcher = SequenceMatcher(None, old.text[:400], new.text[:400], autojunk=False)
    return matcher.quick_ratio() >= PAIRED_AT_LEAST


def _what_differs(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """The stretch in which two pages differ, from the tag before it to the tag after it."""
    head = _common_bytes(old, new)
    tail = min(_common_bytes(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    start = max(old.rfind(b"<", 0, head), 0)
    ends = [text.find(b"<", len(text) - tail) for text in (old, new)]
    return old[start : ends[0] if ends[0] >= 0 else None], new[start : ends[1] if ends[1] >= 0 else None]


def _common_bytes(one: bytes, other: bytes) -> int:
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[:middle] == other[:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _without(text: str, words: Sequence[str]) -> str:
    for word in words:
        text = text.replace(word, "", 1)
    return " ".join(text.split()).rstrip(" |·•-/")


def _differences(
    old: Sequence[Part], new: Sequence[Part], alike: Callable[[Part, Part], bool] = lambda _old, _new: True
) -> list[tuple[Part | None, Part | None]]:
    """Pairs of what was and what is: None where there is nothing to pair. Too many are not compared."""
    head = _same_at_start(old, new)
    old, new = old[head:], new[head:]
    tail = _same_at_start(old[::-1], new[::-1])
    old, new = old[: len(old) - tail][:BLOCKS_COMPARED], new[: len(new) - tail][:BLOCKS_COMPARED]
    pairs: list[tuple[Part | None, Part | None]] = []
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        gone, came = old[a:b], new[c:d]
        for index in range(max(len(gone), len(came))):
            one = gone[index] if index < len(gone) else None
            other = came[index] if index < len(came) else None
            together = one is None or other is None or (len(gone) == len(came) and alike(one, other))
            pairs += [(one, other)] if together else [(one, None), (None, other)]
    return pairs


def _same_at_start(one: Sequence[Part], other: Sequence[Part]) -> int:
    shorter = min(len(one), len(other))
    return next((index for index in range(shorter) if one[index] != other[index]), shorter)


def _around_the_difference(old: str, new: str) -> tuple[str, str]:
    """Two texts; of long ones the part that differs, with a little around it."""
    if max(len(old), len(new)) <= TEXT_CHARACTERS:
        return old, new
    head = _same_at_start(old, new)
    tail = _same_at_start(old[head:][::-1], new[head:][::-1])
    start = old.rfind(" ", 0, max(0, head - AROUND_CHARACTERS)) + 1

    def part(text: str) -> str:
        end = text.find(" ", min(len(text), len(text) - tail + AROUND_CHARACTERS))
        cut = text[start : len(text) if end < 0 else end].strip()
        return one_line(("…" if start else "") + cut + ("…" if end >= 0 else ""), 2 * TEXT_CHARACTERS)

    return part(old), part(new)


# --- names ----------------------------------------------------------------------------------------------


def page_name(path: str, words: PageOutline) -> str:
    """What people call a page: its heading, else its title, else its file; "" for the home page."""
    if path in _HOMES:
        return ""
    place = PurePosixPath(path)
    stem = place.parent.name if place.stem == "index" and place.parent.name else place.stem
    return one_line(words.heading or words.title or stem, NAME_CHARACTERS)


def _home_first(path: str) -> tuple[bool, str]:
    return (path not in _HOMES, path)


def _file_of(page: str, href: str, side: Version) -> str:
    """The file of the site that an address on a page means; the address itself if it leaves the site."""
    try:
        full = urlsplit(urljoin(f"{_SITE}{page}", href))
    except ValueError:
        return href
    if f"{full.scheme}://{full.netloc}/" != _SITE:
        return href
    path = unquote(full.path).lstrip("/")
    tried = (path, f"{path.rstrip('/')}/index.html".lstrip("/"), f"{path}.html")
    return next((one for one in tried if one in side.files), path)


def _file_name(src: str) -> str:
    if src.startswith("data:"):
        return "…"
    return one_line(unquote(src.partition("?")[0]).rpartition("/")[2], NAME_CHARACTERS)


def _bounded(changes: list[PageChange], last: list[PageChange]) -> list[PageChange]:
    more = len(changes) - CHANGES_NAMED
    if more > 1:
        changes = [*changes[:CHANGES_NAMED], PageChange(Kind.MORE, count=more)]
    return [*changes, *last]
