"""Links inside the site that lead nowhere. A broken link is told, never a reason to refuse a release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from webordinary.core.html import Open, tags, tokens
from webordinary.core.release import BrokenLink, Release, ReleasedFile
from webordinary.publish.files import is_page, read_plain_file

BROKEN_MAX = 50  # told
LOOKED_AT_BYTES_MAX = 10_000_000  # of all pages together
PAGE_BYTES_MAX = 500_000  # a larger page is not looked at
TOKENS_MAX = 100_000  # of one page
_INDEX = "index.html"
_SOMEWHERE = "http://site.invalid"  # where the site would be if it were anywhere
_CANDIDATE = re.compile(r"([^\s,]\S*[^\s,])(?:\s[^,]*)?(?:,|$)")  # of a srcset

_ATTRIBUTES = {"href", "src", "poster", "srcset", "data"}
_ELEMENTS = tags("a area link img script iframe source audio video track embed object input")
_HINTS = {"preconnect", "dns-prefetch", "canonical", "alternate"}  # nobody who visits the page goes there
_UNFILLED = ("{{", "${", "<%")  # a template for a script, not an address


def broken_links(
    folder: Path, release: Release, *, base: str = "/", limit: int = BROKEN_MAX
) -> tuple[BrokenLink, ...]:
    """Find links of the release's pages to files that are not in it. Waits for the disk: call it in a thread.

    `base` is the path the site is served at: links that begin with a slash must begin with it.
    """
    known = {file.path for file in release.files}
    broken: list[BrokenLink] = []
    for page in _looked_at(release):
        # The publisher refuses a file that is gone; nothing to say about its links.
        text = (read_plain_file(folder / page.path, PAGE_BYTES_MAX) or b"").decode(errors="replace")
        for target in _dead_targets(text, page.path, known, base):
            broken.append(BrokenLink(page.path, target))
            if len(broken) >= limit:
                return tuple(broken)
    return tuple(broken)


def _looked_at(release: Release) -> Iterator[ReleasedFile]:
    """The pages, as many as there is time for."""
    left = LOOKED_AT_BYTES_MAX
    for file in release.files:
        if is_page(file.path) and file.size <= PAGE_BYTES_MAX:
            left -= file.size
            if left < 0:
                return
            yield file


def _dead_targets(text: str, page: str, known: set[str], base: str) -> Iterator[str]:
    targets, page_base = _targets(text)
    for target in dict.fromkeys(targets):
        path = _path_in_site(target, page, page_base, base)
        if path is None or _is_there(path, known):
            continue
        yield target[:300]


def _path_in_site(target: str, page: str, page_base: str, base: str) -> str | None:
    """Where in the site a link leads; None if it leaves the site. Outside the base it is kept as it is."""
    try:
        own, document = urlsplit(target), urljoin(f"{_SOMEWHERE}{base}{quote(page)}", page_base)
        full = urlsplit(urljoin(document, target))
    except ValueError:
        return None  # `http://[`: no browser goes there, but it is none of ours
    if own.scheme or own.netloc or not own.path or any(mark in target for mark in _UNFILLED):
        return None
    if f"{full.scheme}://{full.netloc}" != _SOMEWHERE:
        return None
    path = unquote(full.path)
    return path.removeprefix(base) if path.startswith(base) else path


def _is_there(path: str, known: set[str]) -> bool:
    if not path or path.endswith("/"):
        return path + _INDEX in known
    return path in known or f"{path}/{_INDEX}" in known


def _targets(text: str) -> tuple[list[str], str]:
    """Where a page leads, and the base that it names for itself."""
    targets: list[str] = []
    base = ""
    for token in islice(tokens(text), TOKENS_MAX):
        if not isinstance(token, Open):
            continue
        given = {name: value.strip() for name, value in token.attributes.items() if value}
        if token.tag == "base":
            base = base or given.get("href", "")
        if token.tag not in _ELEMENTS or _HINTS.intersection(given.get("rel", "").lower().split()):
            continue
        for name in _ATTRIBUTES.intersection(given):
            targets += _in_srcset(given[name]) if name == "srcset" else [given[name]]
    return targets, base


def _in_srcset(value: str) -> list[str]:
    """The addresses of `a.jpg 1x, b.jpg 2x`; a comma inside an address is a part of it."""
    return _CANDIDATE.findall(value)
