"""What changed on a site, told in plain words: for replies, not for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

from webordinary.core.work import ChangeKind, FileChange
from webordinary.work.page_words import PageWords, one_line, words_of

LINES_MAX = 20  # told of all files together; the rest is counted
TEXT_CHARACTERS = 70  # of one text that is told
PATH_CHARACTERS = 80
PAGE_BYTES = 400_000  # larger ones are told by their size
COMPARED_MAX = 300  # blocks or lines on each side, after what is the same at both ends is left out
NAMED_MAX = 3  # files that are named in one sentence

PAGE_ENDINGS = (".html", ".htm")
TEXT_ENDINGS = (
    ".css",
    ".js",
    ".json",
    ".md",
    ".txt",
    ".svg",
    ".xml",
    ".toml",
    ".yaml",
    ".yml",
    ".csv",
    ".webmanifest",
)
_ARROW = "\u2192"

Part = TypeVar("Part")


def told(changes: Sequence[FileChange], *, most: int = LINES_MAX) -> list[str]:
    """Tell what changed, one line each; pages first, and no more lines than people read."""
    order = sorted(changes, key=lambda change: not _is_page(change.path))
    lines = [line for change in order for line in _told_of(change)]
    more = len(lines) - most
    return lines if more <= 0 else [*lines[: most - 1], f"and {more + 1} more changes"]


def kept_in_words(files: Sequence[str]) -> str:
    """Say which unfinished work was kept: "changes to index.html and 2 more files"; "" if there is none."""
    if not files:
        return ""
    named = [_path(path) for path in files[:NAMED_MAX]]
    more = len(files) - len(named)
    if more:
        named.append(f"{more} more file{'s' if more > 1 else ''}")
    listed = " and ".join(named) if len(named) < 3 else f"{', '.join(named[:-1])} and {named[-1]}"  # noqa: PLR2004
    return f"changes to {listed}"


def _told_of(change: FileChange) -> list[str]:
    path = _path(change.path)
    content = change.old if change.kind is ChangeKind.REMOVED else change.new
    if change.kind is not ChangeKind.CHANGED:
        return [f"{path}: {change.kind}{_size(content)}"]
    old, new = _text(change.path, change.old), _text(change.path, change.new)
    if old is None or new is None:
        return [f"{path}: changed{_size(content)}"]
    if not _is_page(change.path):
        return [f"{path}: {_lines_changed(old, new)}"]
    lines = [f"{path}: {line}" for line in _page_changes(words_of(old), words_of(new))]
    return lines or [f"{path}: changed in places that are not seen"]


def _is_page(path: str) -> bool:
    return path.lower().endswith(PAGE_ENDINGS)


def _path(path: str) -> str:
    return _shortened(one_line(path), PATH_CHARACTERS)


def _size(content: bytes | None) -> str:
    if content is None:
        return ""
    return f" ({max(1, round(len(content) / 1000))} kB)"


def _text(path: str, content: bytes | None) -> str | None:
    """A file's text if it is one that can be compared. Bytes that are no characters do no harm."""
    if content is None or len(content) > PAGE_BYTES or not path.lower().endswith(PAGE_ENDINGS + TEXT_ENDINGS):
        return None
    return content.decode(errors="replace")


# --- pages ----------------------------------------------------------------------------------------------


def _page_changes(old: PageWords, new: PageWords) -> Iterator[str]:
    if old.title != new.title:
        yield f"title: {_from_to(old.title, new.title)}"
    for before, after in _differences(old.texts, new.texts):
        if before is None:
            yield f"added {_quoted(after or '')}"
        elif after is None:
            yield f"removed {_quoted(before)}"
        else:
            yield _from_to(before, after)
    yield from _picture_changes(old, new)
    yield from _link_changes(old, new)


def _picture_changes(old: PageWords, new: PageWords) -> Iterator[str]:
    for before, after in _differences(old.pictures, new.pictures):
        if before is None and after is not None:
            yield f"picture {_path(after[0])} added"
        elif after is None and before is not None:
            yield f"picture {_path(before[0])} removed"
        elif before is not None and after is not None:
            if before[0] != after[0]:
                yield f"picture {_path(before[0])} {_ARROW} {_path(after[0])}"
            if before[1] != after[1]:
                yield f"description of {_path(after[0])}: {_from_to(before[1], after[1])}"


def _link_changes(old: PageWords, new: PageWords) -> Iterator[str]:
    """Links that lead elsewhere. What links say is told as text."""
    for before, after in _differences(old.links, new.links):
        if after is None:
            continue
        if before is not None and before[1] != after[1]:
            yield f"link {_quoted(after[0])}: {_path(before[1])} {_ARROW} {_path(after[1])}"
        elif before is None:
            yield f"link {_quoted(after[0])} to {_path(after[1])} added"


def _differences(old: Sequence[Part], new: Sequence[Part]) -> list[tuple[Part | None, Part | None]]:
    """Pairs of what was and what is: None where there is nothing to pair. Too many are not compared."""
    head = _same_at_start(old, new)
    old, new = old[head:], new[head:]
    tail = _same_at_start(old[::-1], new[::-1])
    old, new = old[: len(old) - tail], new[: len(new) - tail]
    if max(len(old), len(new)) > COMPARED_MAX:
        old, new = old[:COMPARED_MAX], new[:COMPARED_MAX]
    pairs: list[tuple[Part | None, Part | None]] = []
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        if b - a == d - c:
            pairs += zip(old[a:b], new[c:d], strict=True)
        else:
            pairs += [(part, None) for part in old[a:b]]
            pairs += [(None, part) for part in new[c:d]]
    return pairs


def _same_at_start(one: Sequence[Part], other: Sequence[Part]) -> int:
    shorter = min(len(one), len(other))
    return next((index for index in range(shorter) if one[index] != other[index]), shorter)


# --- other texts ----------------------------------------------------------------------------------------


def _lines_changed(old: str, new: str) -> str:
    before, after = old.splitlines(), new.splitlines()
    count = sum(1 for _ in _differences(before, after))
    if count == 0:
        return "changed in its line ends only"
    if count >= COMPARED_MAX:
        return "many lines changed"
    return f"{count} line{'s' if count > 1 else ''} changed"


# --- words ----------------------------------------------------------------------------------------------


def _from_to(old: str, new: str) -> str:
    """Two texts side by side; of long ones only the part that differs, with a little around it."""
    if max(len(old), len(new)) > TEXT_CHARACTERS:
        old, new = _around_the_difference(old, new)
    return f"{_quoted(old)} {_ARROW} {_quoted(new)}"


def _around_the_difference(old: str, new: str) -> tuple[str, str]:
    head = _same_at_start(old, new)
    tail = _same_at_start(old[head:][::-1], new[head:][::-1])
    start = old.rfind(" ", 0, max(0, head - 20)) + 1
    ends = []
    for text in (old, new):
        end = text.find(" ", min(len(text), len(text) - tail + 20))
        ends.append(len(text) if end < 0 else end)
    return _cut(old, start, ends[0]), _cut(new, start, ends[1])


def _cut(text: str, start: int, end: int) -> str:
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _quoted(text: str) -> str:
    return f"“{_shortened(text, TEXT_CHARACTERS)}”"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
