"""Sites on disk, claims to publish them with, and what is served then."""

import os
import time
from pathlib import Path

from webordinary.core.claim import Claim, WorkerId
from webordinary.core.lane import Lane
from webordinary.core.release import Place, Release
from webordinary.publish.manifest import Passed, manifest
from webordinary.sites.folder_places import ProjectFolder
from webordinary.sites.folder_publisher import READER_SECONDS

PROJECT = "amelia"
LONG_AGO = READER_SECONDS + 60


def put(folder: Path, files: dict[str, bytes | str]) -> Path:
    """Write these files into the folder."""
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def site(folder: Path, word: str, **more: str) -> tuple[Release, Path]:
    """A small site whose every file says the same word, and its release."""
    put(
        folder,
        {"index.html": f"<p>{word}</p>", "about/index.html": word, "css/site.css": word, "logo.svg": "same"},
    )
    put(folder, dict(more))
    return released(folder), folder


def released(folder: Path) -> Release:
    passed = manifest(folder)
    assert isinstance(passed, Passed), passed
    return passed.release


def claim(fence: int, user: str = "scott") -> Claim:
    return Claim(Lane(PROJECT, user), WorkerId("w1"), fence)


def served(root: Path, place: Place = Place.PREVIEW) -> dict[str, bytes]:
    """What a visitor finds: the pointer is read once, then the files are."""
    project = ProjectFolder(root, PROJECT)
    standing = project.places().standing.get(place)
    if standing is None:
        return {}
    folder = project.site(standing.release)
    return {file.path: (folder / file.path).read_bytes() for file in project.manifest(standing.release).files}


def releases(root: Path) -> set[str]:
    return {path.name for path in (root / PROJECT / "releases").iterdir()}


def grow_old(root: Path, seconds: float = LONG_AGO) -> None:
    """Let it be long ago that anything was in use."""
    for path in (
        *(root / PROJECT / "releases").glob("*/manifest.json"),
        *(root / PROJECT / "unfinished").iterdir(),
    ):
        os.utime(path, (time.time() - seconds,) * 2)
