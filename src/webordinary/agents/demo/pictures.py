"""Mailed pictures: shown in the place of another, or added."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from webordinary.agents.demo.edits import (
    TEXT_CHARACTERS,
    Edit,
    Shown,
    Splice,
    attribute_set,
    edit,
    one_of,
    place_for_more,
    spliced,
    with_markup,
)
from webordinary.agents.demo.requests import CannotDo, Request, shown
from webordinary.agents.demo.site import Page, Site, folded, read_picture, same
from webordinary.core.failure import DemoObstacle
from webordinary.core.html import written_attributes
from webordinary.core.page_outline import Picture
from webordinary.core.text import one_line
from webordinary.core.work import MailedFile

_SHOWABLE = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"})
_STALE = ("srcset", "sizes", "width", "height")  # all of these are about the picture that was there
_HERO = frozenset({"hero", "banner"})


@dataclass(frozen=True, slots=True)
class Mailed:
    """The mail's files and where they are."""

    folder: Path
    files: Sequence[MailedFile]


def picture_added(site: Site, request: Request, mailed: Mailed) -> Edit:
    page, at = place_for_more(site, request)
    file, path, files = _mailed_picture(request, mailed)
    src, alt = _address(page, path), one_line(request.described, TEXT_CHARACTERS)
    expected, block = Shown.by(page.outline), page.outline.texts[at]
    place = block.tag.start if request.is_before and block.tag else block.end
    expected.pictures.insert(sum(one.tag.start < place for one in page.outline.pictures), (src, alt))
    markup = f'<img src="{escape(src)}" alt="{escape(alt)}">'
    changed, where = with_markup(page, at, markup, expected, is_before=request.is_before)
    return replace(edit(changed, f"{page.path}: added {file} {where}", "picture"), **files)


def picture_replaced(site: Site, request: Request, mailed: Mailed) -> Edit:
    """Show a mailed picture instead of the one that is meant."""
    words = _words(request.old)
    pages = site.pages_meant(request.page, home=not words or bool(words & _HERO))
    pictures = [(page, at) for page in pages for at in range(len(page.outline.pictures))]
    hint = "Name it by its description, its file or the heading above it"
    page, at = one_of(_pictures_meant(pictures, request.old, words), "picture", request.old, hint)
    picture, expected = page.outline.pictures[at], Shown.by(page.outline)
    if "picture" in picture.inside:  # a browser takes one of its other sources
        raise CannotDo(f"the picture in {page.path} is written in a way that I can't change safely")
    file, path, files = _mailed_picture(request, mailed)
    alt = one_line(request.described, TEXT_CHARACTERS) or picture.alt
    expected.pictures[at] = (_address(page, path), alt)
    written = written_attributes(page.source, picture.tag)
    splices = [Splice(written[name].start, written[name].end, "") for name in _STALE if name in written]
    splices.append(attribute_set(page, picture.tag, "src", _address(page, path)))
    summary = f"{page.path}: {file} is shown instead of {_file_name(picture) or 'the picture'}"
    if request.described:
        splices.append(attribute_set(page, picture.tag, "alt", alt))
        summary += f", described as {shown(alt)}"
    elif alt:
        summary += f"; it is still described as {shown(alt)}"
    return replace(edit(spliced(page, expected, *splices), summary, "picture"), **files)


def _mailed_picture(request: Request, mailed: Mailed) -> tuple[str, str, dict[str, Any]]:
    """The mailed picture that is meant: what to call it, its path in the site, and its part of the edit."""
    pictures = [file for file in mailed.files if file.kind.lower() in _SHOWABLE]
    if request.file:
        names = folded(request.file)
        pictures = [file for file in pictures if names in (folded(file.claimed_name), folded(file.name))]
    if len(pictures) > 1:
        names = ", ".join(file.called for file in pictures[:5])
        reason = f"there are {len(pictures)} pictures attached ({names}). Say which one by its name"
        raise CannotDo(reason, DemoObstacle.SEVERAL_PICTURES)
    if not pictures:
        called = f" called {shown(request.file)}" if request.file else ""
        raise CannotDo(f"there is no picture{called} attached to your mail", DemoObstacle.NO_PICTURE)
    file = pictures[0]
    path, content = read_picture(mailed.folder, file.name)
    called = f"{path} (your {file.claimed_name})" if file.claimed_name else path
    return called, path, {"files": {path: content}, "mailed": file.name}


def _pictures_meant(pictures: list[tuple[Page, int]], which: str, words: set[str]) -> list[tuple[Page, int]]:
    """The pictures that fit best: by their name, by words about them, by the heading they stand under."""
    if not words:
        return pictures
    about = [(place, page.outline.pictures[at], page) for place in pictures for page, at in [place]]
    if words & _HERO:
        return [place for place, one, _ in about if _HERO & _about(one)] or pictures[:1]
    exact = [
        place for place, one, _ in about if same(which, one.alt) or folded(which) in _file_name(one).lower()
    ]
    return (
        exact
        or [place for place, one, _ in about if words <= _about(one)]
        or [place for place, one, page in about if words <= _words(_heading_above(page, one))]
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", folded(text)))


def _about(picture: Picture) -> set[str]:
    given = picture.tag.attributes
    return _words(" ".join([picture.alt, _file_name(picture), given.get("class", ""), given.get("id", "")]))


def _file_name(picture: Picture) -> str:
    return posixpath.basename(unquote(picture.src.partition("?")[0]))


def _heading_above(page: Page, picture: Picture) -> str:
    above = [block.text for block in page.outline.texts if block.level and block.end <= picture.tag.start]
    return above[-1] if above else ""


def _address(page: Page, path: str) -> str:
    """How a page names a file of the site."""
    return quote(posixpath.relpath(path, posixpath.dirname(page.path) or "."))
