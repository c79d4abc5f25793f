"""A release: exactly these files with exactly these bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Place(StrEnum):
    """Where a site can be seen."""

    PREVIEW = "preview"
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class ReleasedFile:
    """One file of a release."""

    path: str  # relative, with slashes
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Release:
    """A manifest: the files in the order of their paths. The same bytes are the same release."""

    files: tuple[ReleasedFile, ...]

    @property
    def id(self) -> str:
        """Name the release by its content."""
        lines = "".join(f"{file.sha256} {file.size} {file.path}\n" for file in self.files)
        return hashlib.sha256(lines.encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that must not be published, and why, in plain words."""

    path: str
    reason: str
    secret: bool = False  # whether there is a secret in it, or so it looks


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link inside the site that leads nowhere."""

    page: str
    target: str  # as the page writes it
    title: str = ""  # of the page; "" for the home page
