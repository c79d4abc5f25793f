"""Published files: opened without following a link, and what each is by its name."""

from __future__ import annotations

import mimetypes
import os
import re
import stat
from pathlib import Path

from webordinary.core.errors import BadInput

# O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_folder(name: str | Path, within: int | None = None) -> int:
    """Open a folder, which must not be a link. The caller closes what is given."""
    return os.open(name, _READ | os.O_DIRECTORY, dir_fd=within)


def open_folder_beneath(top: Path, folder: Path) -> int:
    """Open a folder somewhere in another one; no step of the way down may be a link."""
    handle = open_folder(top)
    for step in folder.relative_to(top).parts:
        outer, handle = handle, -1
        try:
            if step == os.pardir:
                raise OSError(f"{folder} leads out of {top}")
            handle = open_folder(step, outer)
        finally:
            os.close(outer)
    return handle


def open_plain_file(name: str | Path, within: int | None = None) -> int:
    """Open a regular file; raises OSError for anything else. The caller closes what is given."""
    handle = os.open(name, _READ, dir_fd=within)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{name} is not a plain file")
    return handle


def read_plain_file(path: Path, most: int = -1) -> bytes | None:
    """Read a regular file, or so many bytes of it; None if there is none any more."""
    try:
        with os.fdopen(open_plain_file(path), "rb") as file:
            return file.read(most)
    except OSError:
        return None


def changed_since(path: str) -> BadInput:
    """What to say of a file whose bytes are not those that passed the gate."""
    return BadInput(
        f"{path} was changed after it was checked, so nothing was published; "
        "what was there before is still there. Sending the request again builds the site anew"
    )


# The tables of this Python, not of the machine it runs on: everywhere the same answer.
_TYPES = mimetypes.MimeTypes()
for _ending, _type in {
    ".avif": "image/avif",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "text/javascript",
    ".map": "application/json",
    ".md": "text/markdown",
    ".mjs": "text/javascript",
    ".otf": "font/otf",
    ".ttf": "font/ttf",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}.items():
    _TYPES.add_type(_type, _ending)

_AS_TEXT = {"application/json", "application/manifest+json", "application/xml", "image/svg+xml"}
_UNKNOWN = "application/octet-stream"
# `app.3f2a9c1b.css`, `app-3f2a9c1b.css`: builders name a file by its content, so it never changes.
# With a digit and a letter: `photo-20240131.jpg` is named by its day.
_NAMED_BY_CONTENT = re.compile(r"[.-](?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,64}\.[a-z0-9.]+$")


def content_type(path: str) -> str:
    """The Content-Type of a file; text is UTF-8."""
    kind, packed = _TYPES.guess_type(path.rpartition("/")[2])
    if packed or kind is None:
        return "application/gzip" if packed == "gzip" else _UNKNOWN
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind in _AS_TEXT else kind


def is_page(path: str) -> bool:
    """Whether people go there; everything else is loaded by a page."""
    return path.lower().endswith((".html", ".htm", ".xhtml"))


def cache_control(path: str) -> str:
    """How long a browser may keep it without asking."""
    if is_page(path):
        return "no-cache"  # ask every time; unchanged costs one short answer
    if _NAMED_BY_CONTENT.search(path):
        return "public, max-age=31536000, immutable"
    return "public, max-age=60"
