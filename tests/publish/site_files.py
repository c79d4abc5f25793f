"""Sites on disk, and claims to publish them with."""

from pathlib import Path

from webordinary.core.claim import Claim, WorkerId
from webordinary.core.lane import Lane
from webordinary.core.release import Release
from webordinary.publish.manifest import Passed, manifest

PROJECT = "amelia"


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
