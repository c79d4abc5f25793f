"""Pictures: finding the one that is meant, and showing a mailed one in its place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from justhtml import Node

from webordinary.agents.demo.bounds import TEXT_CHARACTERS, CannotDo, shown
from webordinary.agents.demo.edits import HEADINGS, Edit, fit, one_of
from webordinary.agents.demo.finding import address_of, pages_meant
from webordinary.agents.demo.page import (
    Intended,
    Page,
    Splice,
    ancestors,
    attribute,
    elements,
    end_of,
    spliced,
    start_tag,
    with_attribute,
    without_attribute,
)
from webordinary.agents.demo.requests import DescribePicture, ReplacePicture, Where
from webordinary.agents.demo.texts import folded, same, text_of
from webordinary.agents.demo.tree import Tree, name_for_picture, read_picture
from webordinary.core.failure import DemoObstacle
from webordinary.core.work import MailedFile

SHOWABLE = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"})
STALE = ("srcset", "sizes", "width", "height")  # all of these are about the picture that was there
_HERO = frozenset({"hero", "banner"})
_SMALL_WORDS = frozenset(
    {"a", "an", "and", "at", "in", "of", "on", "the", "with", "our", "my", "big", "large"}
)


@dataclass(frozen=True, slots=True)
class Mailed:
    """The mail's files and where they are."""

    folder: Path
    files: Sequence[MailedFile]


def picture_replaced(tree: Tree, request: ReplacePicture, mailed: Mailed) -> Edit:
    """Copy a mailed picture into the site and show it instead of the one that is meant."""
    file = _mailed_picture(request, mailed)
    found = _pictures_meant(tree, request.which, request.where)
    content = read_picture(mailed.folder, file.name)
    path, there = name_for_picture(tree, file.name, content)
    pages: dict[str, Page] = {}
    for page, picture in found:
        if page.path in pages:
            raise CannotDo(
                f"{page.path} shows that picture more than once; name it more exactly", DemoObstacle.NOWHERE
            )
        pages[page.path] = _shown_instead(page, picture, path, request.description)
    new = f"{path} (your {file.claimed_name})" if file.claimed_name else path
    said = "\n".join(_told(page, picture, new, request.description) for page, picture in found)
    used = tuple(f"{name}: picture" for name in pages)
    return Edit(tuple(pages.values()), said, (path, *used), {} if there else {path: content}, file.name)


def picture_described(tree: Tree, request: DescribePicture) -> Edit:
    """Change a picture's description."""
    text = fit(request.description, TEXT_CHARACTERS, "description")
    found = _pictures_meant(tree, request.which, request.where)
    page, picture = one_of(found, "picture", request.which)
    intended = Intended(attributes={id(picture): {**(picture.attrs or {}), "alt": text}})
    changed = spliced(page, [with_attribute(page, picture, "alt", text)], intended)
    said = f"{page.path}: the picture {_file_name(picture)} is now described as {shown(text)}"
    return Edit((changed,), said, (f"{page.path}: picture",))


def _mailed_picture(request: ReplacePicture, mailed: Mailed) -> MailedFile:
    pictures = [file for file in mailed.files if file.kind.lower() in SHOWABLE]
    if request.file:
        wanted = folded(request.file)
        pictures = [file for file in pictures if wanted in (folded(file.claimed_name), folded(file.name))]
        return one_of(pictures, "attached picture called", request.file)
    if not pictures:
        raise CannotDo("there is no picture attached to your mail", DemoObstacle.NO_PICTURE)
    if len(pictures) > 1:
        names = ", ".join(file.called for file in pictures[:5])
        raise CannotDo(
            f"there are {len(pictures)} pictures attached ({names}). Say which one by its name",
            DemoObstacle.SEVERAL_PICTURES,
        )
    return pictures[0]


# --- which picture --------------------------------------------------------------------------------------


def _pictures_meant(tree: Tree, which: str, where: Where) -> list[tuple[Page, Node]]:
    words = _words(which) - _SMALL_WORDS
    hero = bool(words & _HERO)
    pages = pages_meant(tree, where, home=(hero or not words) and not where.everywhere)
    pictures = [(page, node) for page in pages for node in elements(page.root, "img")]
    found = _heroes(pictures) if hero else _by_words(pictures, which, words) if words else pictures
    if where.everywhere and found:
        return found
    return [one_of(found, "picture", which, "Name it by its description, its file or the heading above it")]


def _heroes(pictures: list[tuple[Page, Node]]) -> list[tuple[Page, Node]]:
    """Pictures that are called so in the page; else the first one."""
    called = [(page, node) for page, node in pictures if _HERO & _names(node, *ancestors(node))]
    return called or pictures[:1]


def _by_words(pictures: list[tuple[Page, Node]], which: str, words: set[str]) -> list[tuple[Page, Node]]:
    """The pictures that fit best: by their name, by words about them, by the heading they stand under."""
    exact = [
        (page, node)
        for page, node in pictures
        if same(which, attribute(node, "alt")) or folded(which) in _file_names(node)
    ]
    about = [(page, node) for page, node in pictures if words <= _about(node)]
    under = [(page, node) for page, node in pictures if words <= _words(_heading_of(page, node))]
    return exact or about or under


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", folded(text)))


def _names(*nodes: Node) -> set[str]:
    named = (f"{attribute(n, 'id')} {attribute(n, 'class')}" for n in nodes if n.name not in {"html", "body"})
    return _words(" ".join(named)) | _words(_file_name(nodes[0]))


def _about(node: Node) -> set[str]:
    caption = _caption(ancestors(node))
    close = [above for above in ancestors(node) if above.name in {"figure", "a", "picture"}]
    return _words(attribute(node, "alt")) | _words(caption) | _names(node, *close)


def _caption(above: Iterable[Node]) -> str:
    figures = [node for node in above if node.name == "figure"]
    return " ".join(text_of(caption) for caption in elements(figures[0], "figcaption")) if figures else ""


def _file_name(node: Node) -> str:
    try:
        return posixpath.basename(unquote(urlsplit(attribute(node, "src")).path))
    except ValueError:
        return ""


def _file_names(node: Node) -> set[str]:
    name = folded(_file_name(node))
    return {name, name.rpartition(".")[0], folded(attribute(node, "src"))} - {""}


def _heading_of(page: Page, picture: Node) -> str:
    """The heading that a picture stands under: the last one before it; else the first one beside it."""
    last = ""
    for node in elements(page.root, "img", *HEADINGS):
        if node is picture:
            break
        if node.name in HEADINGS:
            last = text_of(node)
    return last


# --- showing another one ----------------------------------------------------------------------------------


def _shown_instead(page: Page, picture: Node, path: str, description: str) -> Page:
    attributes = dict(picture.attrs or {})
    attributes["src"] = quote(address_of(page, path))
    splices = [with_attribute(page, picture, "src", attributes["src"] or "")]
    if description:
        attributes["alt"] = fit(description, TEXT_CHARACTERS, "description")
        splices.append(with_attribute(page, picture, "alt", attributes["alt"] or ""))
    for name in STALE:
        attributes.pop(name, None)
        gone = without_attribute(page, picture, name)
        splices += [gone] if gone else []
    sources = _sources(picture)
    for source in sources:
        splices.append(Splice(start_tag(page, source).start, end_of(page, source), ""))
    removed = frozenset(id(source) for source in sources)
    return spliced(page, splices, Intended(attributes={id(picture): attributes}, removed=removed))


def _sources(picture: Node) -> list[Node]:
    """Other sizes of the old picture, which a browser would take before the new one."""
    above = picture.parent
    return elements(above, "source") if above is not None and above.name == "picture" else []


def _told(page: Page, picture: Node, new: str, description: str) -> str:
    said = f"{page.path}: {new} is shown instead of {_file_name(picture) or 'the picture'}"
    old = attribute(picture, "alt")
    if description:
        return f"{said}, described as {shown(description)}"
    if old:
        return f"{said}; it is still described as {shown(old)}"
    return said
