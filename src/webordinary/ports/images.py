"""Pictures that a web page can show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from webordinary.core.mail import FileProblem


@dataclass(frozen=True, slots=True)
class WebImage:
    """A picture made anew: upright, of a sensible size, without anything but the picture in it."""

    content: bytes = field(repr=False)
    kind: str  # MIME type: image/jpeg, image/png, image/gif or image/webp
    extension: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class NoImage:
    """Why there is none."""

    problem: FileProblem


class Images(Protocol):
    """Makes pictures web-ready."""

    async def web_ready(self, content: bytes) -> WebImage | NoImage:
        """Make a picture anew: upright, made smaller if it is large, without data of place and camera."""
        ...
