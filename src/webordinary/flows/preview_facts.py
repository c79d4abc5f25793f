"""Facts about a preview, for people: what is different on its pages, broken links, pictures, files used."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from webordinary.core.facts import Facts, PagePictures, PreviewFacts
from webordinary.core.mail import KeptFile
from webordinary.core.page_changes import PageChange
from webordinary.core.page_outline import PageOutline, outline
from webordinary.core.release import BrokenLink, Place, Release, ReleasedFile
from webordinary.core.work import ChangeKind, FileChange
from webordinary.flows.tools import Task, Tools
from webordinary.publish.files import read_plain_file
from webordinary.publish.page_changes import Version, page_changes, page_name, pages_to_read

log = logging.getLogger("webordinary.work")

LINKS_NAMED = 5
PAGES_PICTURED = 1


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """A release that passed the gate, and the folder that holds it."""

    release: Release
    folder: Path


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is previewed until now, compared with what is about to be."""

    former: Release | None
    mailed: Mapping[KeptFile, bytes]  # the files of the mail
    changes: tuple[PageChange, ...]
    pages: tuple[str, ...]  # those that pictures are taken of
    pictures: tuple[str, ...]  # of them, as they are until now


async def compared(tools: Tools, task: Task, own: str, built: BuiltSite) -> Comparison:
    """Compare before anything is published. `own` is the job's own commit, "" if it has none."""
    current = await tools.publisher.current(task.project.name, Place.PREVIEW)
    former = current[0] if current else None
    files = task.mail.files if task.mail else ()
    mailed = {file: await tools.blobs.get(file.blob) for file in files}
    try:
        changes = await _changes(tools, task, own, former, built, mailed) if own else []
    except Exception as error:  # noqa: BLE001 - a change that can't be described is shown all the same
        log.warning("%s: what changed can't be described: %r", task.delivery.claim.lane, error)
        changes = []
    pages = tuple(dict.fromkeys(change.path for change in changes if change.path))[:PAGES_PICTURED]
    return Comparison(former, mailed, tuple(changes), pages, await _pictures(tools, task, pages))


async def preview_facts(
    tools: Tools,
    task: Task,
    commits: tuple[str, str],
    built: BuiltSite,
    comparison: Comparison,
    broken: Sequence[BrokenLink],
) -> Facts:
    """Put together what is known once it is published. `commits`: what is previewed, and the job's own."""
    previewed, own = commits
    former, mailed = comparison.former, comparison.mailed
    after = await _pictures(tools, task, comparison.pages)
    pictures = zip(comparison.pages, comparison.pictures, after, strict=False)
    patch = await tools.history.patch(task.workspace, own) if own else ""
    preview = PreviewFacts(
        commit=previewed,
        release=built.release.id,
        former_release=former.id if former and former.id != built.release.id else "",
        address=tools.publisher.address(task.project.name, Place.PREVIEW),
        changes=comparison.changes,
        broken_links=await asyncio.to_thread(_titled, built, broken[:LINKS_NAMED]),
        more_broken_links=max(len(broken) - LINKS_NAMED, 0),
        patch=await tools.blobs.put(patch.encode(errors="replace")) if patch else "",
        pictures=tuple(PagePictures(*one) for one in pictures if one[2]),
    )
    # Those of the mail's files came into the site whose very bytes are in it now.
    there = await tools.history.holds(task.workspace, previewed, list(mailed.values())) if mailed else ()
    used = {file.name: is_there for file, is_there in zip(mailed, there, strict=True)}
    return Facts(
        preview=preview,
        used_files=tuple(name for name, is_there in used.items() if is_there),
        unused_files=tuple(name for name, is_there in used.items() if not is_there),
    )


async def _changes(
    tools: Tools,
    task: Task,
    own: str,
    former: Release | None,
    built: BuiltSite,
    mailed: Mapping[KeptFile, bytes],
) -> list[PageChange]:
    """Compare the pages as they are previewed with those that are about to be."""
    names = {hashlib.sha256(bytes_).hexdigest(): file.claimed_name for file, bytes_ in mailed.items()}
    project, after = task.project, built.release
    old: dict[str, bytes] = {}
    if not project.build:  # what the change did itself, whatever others did meanwhile
        sources = await tools.history.changes(task.workspace, own)
        former, old = _before(sources, project.output, after)
    if former is None:
        return []  # nothing was shown yet, and what the sources were built to is not known
    paths = pages_to_read(former, after)
    new = await asyncio.to_thread(_read_pages, built.folder, after, paths)
    if project.build:
        pages = await tools.publisher.read(project.name, Place.PREVIEW, paths)
    else:
        pages = {**new, **old}
    return await asyncio.to_thread(page_changes, Version.of(former, pages), Version.of(after, new), names)


def _before(sources: Sequence[FileChange], output: str, after: Release) -> tuple[Release, dict[str, bytes]]:
    """The release before a change of a site that is not built, and the changed files as they were."""
    files = {file.path: file for file in after.files}
    old: dict[str, bytes] = {}
    for one in sources:
        path = one.path.removeprefix(f"{output.strip('/')}/") if output else one.path
        files.pop(path, None)
        if one.kind is not ChangeKind.ADDED:
            content = one.old or b""
            old[path] = content
            files[path] = ReleasedFile(path, len(content), hashlib.sha256(content).hexdigest())
    return Release(tuple(files[path] for path in sorted(files))), old


def _read_pages(folder: Path, release: Release, paths: Sequence[str]) -> dict[str, bytes]:
    return {
        file.path: content
        for file in release.files
        if file.path in set(paths) and (content := read_plain_file(folder / file.path)) is not None
    }


def _titled(built: BuiltSite, broken: Sequence[BrokenLink]) -> tuple[BrokenLink, ...]:
    """Links that lead nowhere, with the titles of their pages; the site is published all the same."""
    pages = _read_pages(built.folder, built.release, [one.page for one in broken])
    words = {path: outline(content.decode(errors="replace")) for path, content in pages.items()}
    return tuple(
        replace(one, title=page_name(one.page, words.get(one.page, PageOutline()))) for one in broken
    )


async def _pictures(tools: Tools, task: Task, pages: Sequence[str]) -> tuple[str, ...]:
    """Take a picture of each page as it is served now; give the keys under which they are kept."""
    base = tools.publisher.address(task.project.name, Place.PREVIEW)
    if tools.camera is None or not base or not pages:
        return ()
    taken = await tools.camera.pictures([f"{base}{page}" for page in pages])
    return tuple([await tools.blobs.put(picture) if picture else "" for picture in taken])
