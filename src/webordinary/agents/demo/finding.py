"""Finding the one page that a person means."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urlsplit

from webordinary.agents.demo.bounds import CannotDo, shown
from webordinary.agents.demo.page import Page, attribute, elements
from webordinary.agents.demo.requests import Where
from webordinary.agents.demo.texts import folded, plain, same, text_of
from webordinary.agents.demo.tree import Tree
from webordinary.core.failure import DemoObstacle

_HOME = frozenset({"homepage", "home page", "front page", "start page", "main page", "home", "index"})


def pages_meant(tree: Tree, where: Where, *, home: bool) -> list[Page]:
    """The page that is named; else the homepage or all pages."""
    if where.page:
        return [page_called(tree, where.page)]
    return [home_page(tree)] if home else list(tree.pages.values())


def home_page(tree: Tree) -> Page:
    """The page that is seen first."""
    homes = [
        page
        for path, page in tree.pages.items()
        if posixpath.basename(path).lower() in {"index.html", "index.htm"}
    ]
    pages = homes or (list(tree.pages.values()) if len(tree.pages) == 1 else [])
    if not pages:
        raise CannotDo("I found no homepage (index.html) that I can read", DemoObstacle.NOWHERE)
    return min(pages, key=lambda page: page.path.count("/"))


def page_called(tree: Tree, name: str) -> Page:
    """The one page that people call so: by its file, by its title or heading, or by what links to it say."""
    wanted = plain(folded(name)).removeprefix("the ")
    if wanted in _HOME:
        return home_page(tree)
    if wanted.endswith((".html", ".htm")):
        path = posixpath.normpath(wanted.lstrip("/"))
        return _one([page for page in tree.pages.values() if page.path.lower() == path], name)
    words = wanted.removesuffix(" page").strip()
    for found in (_by_file(tree, words), _by_title(tree, words), _by_links(tree, words)):
        if found:
            return _one(found, name)
    return _one([], name)


def _one(pages: list[Page], name: str) -> Page:
    if not pages:
        raise CannotDo(f"there is no page called {shown(name)}", DemoObstacle.NO_PAGE, name)
    if len(pages) > 1:
        paths = ", ".join(page.path for page in pages[:5])
        raise CannotDo(
            f"{shown(name)} could be one of these pages: {paths}", DemoObstacle.SEVERAL_PAGES, name
        )
    return pages[0]


def _slug(text: str) -> str:
    return re.sub(r"[^\w]+", "-", folded(text)).strip("-")


def _by_file(tree: Tree, words: str) -> list[Page]:
    slug = _slug(words)
    return [
        page
        for path, page in tree.pages.items()
        if _slug(re.sub(r"(?:/index)?\.html?$", "", path.lower()).rpartition("/")[2]) == slug
    ]


def _by_title(tree: Tree, words: str) -> list[Page]:
    return [
        page
        for page in tree.pages.values()
        if any(
            same(words, part)
            for node in elements(page.root, "title", "h1")
            for part in (own_text(node), *title_parts(own_text(node)))
        )
    ]


def _by_links(tree: Tree, words: str) -> list[Page]:
    found = {
        target: tree.pages[target]
        for page in tree.pages.values()
        for link in elements(page.root, "a")
        if same(text_of(link), words)
        and (target := local_file(tree, page, attribute(link, "href"))) in tree.pages
    }
    return list(found.values())


def own_text(node: object) -> str:
    """The text of a title or a heading."""
    children = getattr(node, "children", None) or ()
    return plain("".join(getattr(child, "data", None) or own_text(child) for child in children))


def title_parts(title: str) -> list[str]:
    """A title's parts: people write "Our bread | The bakery"."""
    return [part for part in re.split(r"\s+[|·•\u2013—:-]+\s+|:\s+", title) if part]


def local_file(tree: Tree, page: Page, address: str) -> str:
    """The file of the site that an address on a page leads to; "" if it is none of its files."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return ""
    if parts.scheme or parts.netloc:
        return ""
    path = unquote(parts.path)
    if not path:
        return page.path
    base = "" if path.startswith("/") else posixpath.dirname(page.path)
    full = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
    for candidate in (full, f"{full}/index.html", f"{full}.html") if full != "." else ("index.html",):
        if candidate in tree.files:
            return candidate
    return ""


def address_of(page: Page, path: str) -> str:
    """How a page names a file of the site."""
    return posixpath.relpath(path, posixpath.dirname(page.path) or ".")
