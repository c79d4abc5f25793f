"""Mailed pictures: shown in the place of another, or added."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
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
from webordinary.agents.demo.requests import CannotDo, DemoRequest, shown
from webordinary.agents.demo.site import SiteFolder, SitePage, folded, read_picture
from webordinary.core.failure import DemoObstacle
from webordinary.core.html import written_attributes
from webordinary.core.page_outline import Picture
from webordinary.core.text import one_line

_SHOWABLE = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"})
_STALE = ("srcset", "sizes", "width", "height")  # all of these are about the picture that was there
_HERO = frozenset({"hero", "banner"})


def picture_added(site: SiteFolder, request: DemoRequest) -> Edit:
    page, at = place_for_more(site, request)
    file, path, files = _mailed_picture(site, request)
    src, alt = _address(page, path), one_line(request.described, TEXT_CHARACTERS)
    expected, block = Shown.by(page.outline), page.outline.texts[at]
    place = block.tag.start if request.is_before and block.tag else block.end
    expected.pictures.insert(sum(one.tag.start < place for one in page.outline.pictures), (src, alt))
    markup = f'<img src="{escape(src)}" alt="{escape(alt)}">'
    changed, where = with_markup(page, at, markup, expected, is_before=request.is_before)
    return replace(edit(changed, f"{page.path}: added {file} {where}", "picture"), **files)


def picture_replaced(site: SiteFolder, request: DemoRequest) -> Edit:
    """Show a mailed picture instead of the one that is meant."""
    words = _words(request.old)
    pages = site.pages_meant(request.page, home=not words or bool(words & _HERO))
    hint = "Name it by its description, its file or the heading above it"
    page, at = one_of(_pictures_meant(pages, words), "picture", request.old, hint)
    picture, expected = page.outline.pictures[at], Shown.by(page.outline)
    if "picture" in picture.inside:  # a browser takes one of its other sources
        raise CannotDo(f"the picture in {page.path} is written in a way that I can't change safely")
    file, path, files = _mailed_picture(site, request)
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


def _mailed_picture(site: SiteFolder, request: DemoRequest) -> tuple[str, str, dict[str, Any]]:
    """The mailed picture that is meant: what to call it, its path in the site, and its part of the edit."""
    pictures = [file for file in site.mailed if file.kind.lower() in _SHOWABLE]
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
    path, content = read_picture(site.mail, file.name)
    called = f"{path} (your {file.claimed_name})" if file.claimed_name else path
    return called, path, {"files": {path: content}, "mailed": file.name}


def _pictures_meant(pages: Sequence[SitePage], words: set[str]) -> list[tuple[SitePage, int]]:
    """The pictures that all words fit: their description, their names, the heading that they stand under."""
    every = [(page, at) for page in pages for at in range(len(page.outline.pictures))]
    about = {(page.path, at): _about(page, page.outline.pictures[at]) for page, at in every}
    if words & _HERO:
        return [(page, at) for page, at in every if _HERO & about[page.path, at]] or every[:1]
    return [(page, at) for page, at in every if words <= about[page.path, at]]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", folded(text)))


def _about(page: SitePage, picture: Picture) -> set[str]:
    given = picture.tag.attributes
    above = [block.text for block in page.outline.texts if block.level and block.end <= picture.tag.start]
    names = [picture.alt, _file_name(picture), given.get("class", ""), given.get("id", "")]
    return _words(" ".join([*names, *above[-1:]]))


def _file_name(picture: Picture) -> str:
    return posixpath.basename(unquote(picture.src.partition("?")[0]))


def _address(page: SitePage, path: str) -> str:
    """How a page names a file of the site."""
    return quote(posixpath.relpath(path, posixpath.dirname(page.path) or "."))
