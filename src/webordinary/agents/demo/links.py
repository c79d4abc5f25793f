"""Links: where they lead, and what they say."""

from __future__ import annotations

import re

from justhtml import Node

from webordinary.agents.demo.bounds import TITLE_CHARACTERS, CannotDo, shown
from webordinary.agents.demo.edits import Edit, fit, one_of
from webordinary.agents.demo.finding import address_of, local_file, page_called, pages_meant
from webordinary.agents.demo.page import Intended, Page, Splice, elements, spliced, with_attribute
from webordinary.agents.demo.requests import SetLink
from webordinary.agents.demo.texts import same, text_of, with_text
from webordinary.agents.demo.tree import Tree
from webordinary.core.failure import DemoObstacle

SCHEMES = ("http://", "https://", "mailto:", "tel:")
LINKS_MAX = 50
_WEB_NAME = re.compile(r"www\.[\w-]+(?:\.[\w-]+)+(?:[/?#]\S*)?", re.IGNORECASE)
_MAIL_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LIKE_AN_ADDRESS = re.compile(r"[^\s\\]*[./#:?][^\s\\]*")
_UNSAFE = re.compile(r"[\s\\<>\"\x00-\x20\x7f]")


def link_set(tree: Tree, request: SetLink) -> Edit:
    """Lead links elsewhere: one, or all of that name if asked so; or change what one says."""
    found = [
        (page, link)
        for page in pages_meant(tree, request.where, home=False)
        for link in elements(page.root, "a")
        if "href" in (link.attrs or {}) and same(text_of(link), request.label)
    ]
    hint = "Say which page you mean, or “everywhere” to change all of them"
    if not request.where.everywhere or not found:
        one_of(found, "link", request.label, hint)
    if len(found) > LINKS_MAX:
        raise CannotDo(
            f"there are {len(found)} links {shown(request.label)}; I change {LINKS_MAX} at most",
            DemoObstacle.TOO_MUCH,
        )
    if not _leads_somewhere(request.target):
        return _renamed(tree, request)
    pages: dict[str, list[int]] = {}
    for page, link in found:
        pages.setdefault(page.path, []).append(id(link))
    changed = tuple(_led(tree, tree.pages[path], set(ids), request.target) for path, ids in pages.items())
    said = "\n".join(
        f"{path}: the link {shown(request.label)} now leads to {request.target}" for path in pages
    )
    if all(new.source == tree.pages[new.path].source for new in changed):
        raise CannotDo(f"the link {shown(request.label)} already leads there", DemoObstacle.ALREADY_SO)
    return Edit(changed, said, tuple(f"{path}: link" for path in pages))


def _leads_somewhere(target: str) -> bool:
    """Whether a person named a target, and not another text for the link."""
    return bool(_LIKE_AN_ADDRESS.fullmatch(target)) or target.lower().endswith(("page", "homepage"))


def _led(tree: Tree, page: Page, links: set[int], target: str) -> Page:
    address = _address(tree, page, target)
    splices: list[Splice] = []
    attributes = {}
    for link in elements(page.root, "a"):
        if id(link) in links:
            splices.append(with_attribute(page, link, "href", address))
            attributes[id(link)] = {**(link.attrs or {}), "href": address}
    return spliced(page, splices, Intended(attributes=attributes))


def _address(tree: Tree, page: Page, target: str) -> str:
    """An address that is safe to lead people to, as this page has to name it."""
    if target.lower().endswith(("page", "homepage")) and not target.lower().startswith(SCHEMES):
        return address_of(page, page_called(tree, target).path)
    if _MAIL_ADDRESS.fullmatch(target):
        return f"mailto:{target}"
    if _WEB_NAME.fullmatch(target):
        return f"https://{target}"
    if _UNSAFE.search(target) or target.startswith("//"):
        raise CannotDo(f"{shown(target)} is no address that I can link to", DemoObstacle.BAD_TARGET, target)
    if target.lower().startswith(SCHEMES):
        return target
    if _SCHEME.match(target):
        raise CannotDo(
            f"I only link to http, https, mailto and tel addresses and to pages of the site, not to {target}",
            DemoObstacle.BAD_TARGET,
            target,
        )
    if not local_file(tree, page, target):
        raise CannotDo(
            f"the site has no page {shown(target)}; for another site write the whole address (https://…)",
            DemoObstacle.NO_PAGE,
            target,
        )
    return target


def _renamed(tree: Tree, request: SetLink) -> Edit:
    new = fit(request.target, TITLE_CHARACTERS, "link text")
    edits: dict[str, Page] = {}
    said = []
    for page in pages_meant(tree, request.where, home=False):
        changed = page
        while link := next(
            (a for a in elements(changed.root, "a") if _is_called(a, request.label, new)), None
        ):
            changed, _ = with_text(changed, link, new)
            edits[page.path] = changed
        if page.path in edits:
            said.append(f"{page.path}: the link {shown(request.label)} now says {shown(new)}")
    if not edits:
        raise CannotDo(f"the link {shown(request.label)} already says that", DemoObstacle.ALREADY_SO)
    return Edit(tuple(edits.values()), "\n".join(said), tuple(f"{path}: link" for path in edits))


def _is_called(link: Node, label: str, new: str) -> bool:
    return "href" in (link.attrs or {}) and same(text_of(link), label) and not same(label, new)
