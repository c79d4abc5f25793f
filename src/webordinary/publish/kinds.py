"""What a published file is, by its name: its content type, whether it is a page, how long it may be kept."""

from __future__ import annotations

import mimetypes
import re

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
