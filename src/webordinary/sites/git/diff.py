"""What differs between commits: as files before and after, and as a patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webordinary.core.errors import WebordinaryError
from webordinary.core.text import storable
from webordinary.core.work import ChangeKind, FileChange
from webordinary.sites.git.conventions import UNFINISHED, seen
from webordinary.sites.git.mirror import Mirror
from webordinary.sites.git.process import GitResult

FILES_MAX = 200
CONTENT_BYTES = 512 * 1024  # of one file; of a larger one only the name is told
CONTENTS_BYTES = 32 * 2**20  # of all together
PATCH_BYTES = 60_000
_KINDS = {"A": ChangeKind.ADDED, "D": ChangeKind.REMOVED}  # all else is a change
_MODULE = "160000"  # another repository's commit: no file of ours


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    kind: ChangeKind
    old: str
    new: str


async def changes(mirror: Mirror, commit: str) -> tuple[FileChange, ...]:
    """Tell the files that a commit changed, at most so many, with contents where these are not too large."""
    entries = (await _changed(mirror, commit))[:FILES_MAX]
    contents = await _contents(mirror, [name for entry in entries for name in (entry.old, entry.new)])
    return tuple(
        FileChange(entry.path, entry.kind, contents.get(entry.old), contents.get(entry.new))
        for entry in entries
    )


async def changed_files(mirror: Mirror, commit: str) -> tuple[str, ...]:
    """Name the files that a commit changed."""
    return tuple(entry.path for entry in await _changed(mirror, commit))


async def _changed(mirror: Mirror, commit: str) -> list[_Entry]:
    """What differs from the commit before. Of a merge, what differs from what merging alone makes, too."""
    (kept,) = await mirror.log(commit, 1)
    if not kept.parents:
        return await _differing(mirror, await mirror.line("mktree"), commit)
    entries = await _differing(mirror, kept.parents[0], commit)
    if len(kept.parents) == 1:
        return entries
    merged = await mirror.merge(*kept.parents[:2])
    own = {entry.path for entry in await _differing(mirror, merged.tree, commit)}
    return [entry for entry in entries if entry.path in own]


async def _differing(mirror: Mirror, old: str, new: str) -> list[_Entry]:
    options = ("-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    return _entries((await mirror.git("diff-tree", *options, old, new)).split(b"\0"))


async def holds(mirror: Mirror, commit: str, contents: Sequence[bytes]) -> tuple[bool, ...]:
    """Say of each content whether a file of the commit has these bytes. Names tell, whatever the size."""
    listed = await mirror.git("ls-tree", "-r", "-z", "--format=%(objectname)", commit)
    there = set(listed.decode().split("\0"))
    return tuple([await mirror.line("hash-object", "--stdin", stdin=one) in there for one in contents])


def _entries(fields: Sequence[bytes]) -> list[_Entry]:
    """Read `:mode mode object object status`, path, and so on."""
    found = []
    for about, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, status = about.decode().lstrip(":").split(" ")
        if _MODULE not in (old_mode, new_mode):
            kind = _KINDS.get(status[0], ChangeKind.CHANGED)
            found.append(_Entry(storable(path.decode(errors="replace")), kind, old, new))
    return found


async def _contents(mirror: Mirror, names: Sequence[str]) -> dict[str, bytes]:
    wanted = [name for name in dict.fromkeys(names) if name.strip("0")]
    asked = "".join(f"{name}\n" for name in wanted).encode()
    sizes = (await mirror.git("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked)).decode()
    small, total = [], 0
    for line in sizes.splitlines():
        name, size = line.split()
        if int(size) <= CONTENT_BYTES and total + int(size) <= CONTENTS_BYTES:
            small.append(name)
            total += int(size)
    asked = "".join(f"{name}\n" for name in small).encode()
    return dict(_blobs(await mirror.git("cat-file", "--batch", stdin=asked)))


def _blobs(out: bytes) -> Iterator[tuple[str, bytes]]:
    """Read `object kind size`, a line end, the bytes, a line end, and so on."""
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].decode().split()
        yield name, out[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)


async def patch(mirror: Mirror, commit: str) -> str:
    """Show what a commit changed; "" if it is nowhere to be found."""
    ran = await _shown(mirror, commit)
    if ran.code and not ran.cut:
        await _fetch_unfinished(mirror)
        ran = await _shown(mirror, commit)
    if ran.code and not ran.cut:
        return ""
    text = storable(ran.out.decode(errors="replace"))
    return f"{text.rpartition(chr(10))[0]}\n(The rest is left out.)\n" if ran.cut else text


async def _shown(mirror: Mirror, commit: str) -> GitResult:
    options = ("--format=", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    return await mirror.run("show", *options, "--diff-merges=first-parent", commit, limit=PATCH_BYTES)


async def _fetch_unfinished(mirror: Mirror) -> None:
    """Work that another worker kept aside is fetched when somebody asks for it, not before."""
    try:
        await mirror.fetch((f"+{UNFINISHED}*:{seen(UNFINISHED)}*",))
    except WebordinaryError:
        return
