"""Requests carried out on pages in memory: titles, headings, texts and paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TypeVar

from justhtml import Node

from webordinary.agents.demo.bounds import TEXT_CHARACTERS, TITLE_CHARACTERS, CannotDo, shown
from webordinary.agents.demo.finding import own_text, pages_meant, title_parts
from webordinary.agents.demo.page import (
    Intended,
    Page,
    Splice,
    ancestors,
    elements,
    end_of,
    spliced,
    start_tag,
)
from webordinary.agents.demo.requests import (
    AddParagraph,
    RemoveParagraph,
    ReplaceText,
    SetHeading,
    SetTitle,
    Side,
    Where,
)
from webordinary.agents.demo.texts import (
    Place,
    folded,
    occurrences,
    plain,
    runs_of,
    same,
    text_of,
    with_text,
    with_words,
)
from webordinary.agents.demo.tree import Tree
from webordinary.core.failure import DemoObstacle

Found = TypeVar("Found")

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
PLACES_MAX = 50
_NO_PLACE_FOR_MORE = frozenset(
    {"li", "figure", "blockquote", "table", "a", "footer", "nav", "aside", "form", "dialog"}
)
_EVERYWHERE = "Say which page you mean, or “everywhere” to change all of them"


@dataclass(frozen=True, slots=True)
class Edit:
    """One request carried out: pages as they are to be, new files, and what to tell."""

    pages: tuple[Page, ...]
    said: str
    used: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    mailed: str = ""  # the mail's file that was used


def title_set(tree: Tree, request: SetTitle) -> Edit:
    """Change a page's title, and its heading where that says the same."""
    new = fit(request.new, TITLE_CHARACTERS, "title")
    if request.old and not any(_has_title(page, request.old) for page in tree.pages.values()):
        return heading_set(tree, SetHeading(new, request.where, old=request.old))
    pages = pages_meant(tree, request.where, home=not request.old)
    page = one_of(
        [page for page in pages if not request.old or _has_title(page, request.old)], "page", request.old
    )
    titles = _titles(page)
    if len(titles) != 1:
        raise CannotDo(
            f"{page.path} has {'no title' if not titles else 'more than one title'}", DemoObstacle.NOWHERE
        )
    old = own_text(titles[0])
    changed, _ = with_text(page, titles[0], new)
    said = f"{page.path}: the title is now {shown(new)} (it was {shown(old)})"
    headings = elements(changed.root, "h1")
    if len(headings) != 1:
        return _changed(page, changed, said, ("title",))
    heading = text_of(headings[0])
    if not any(same(heading, part) for part in (old, *title_parts(old))):
        beside = f"; the main heading still says {shown(heading)}" if not same(heading, new) else ""
        return _changed(page, changed, said + beside, ("title",))
    changed, _ = with_text(changed, headings[0], new)
    return _changed(page, changed, f"{said}, and so is the main heading", ("title", "h1"))


def _titles(page: Page) -> list[Node]:
    return [
        node
        for node in elements(page.root, "title")
        if node.parent is not None and node.parent.name == "head"
    ]


def _has_title(page: Page, title: str) -> bool:
    return any(same(own_text(node), title) for node in _titles(page))


def heading_set(tree: Tree, request: SetHeading) -> Edit:
    """Change the text of a heading."""
    new = fit(request.new, TITLE_CHARACTERS, "heading")
    found = [
        (page, node)
        for page in pages_meant(tree, request.where, home=not request.old)
        for node in elements(page.root, *(HEADINGS if request.old else ("h1",)))
        if not request.old or same(text_of(node), request.old)
    ]
    page, node = one_of(found, "heading" if request.old else "main heading", request.old)
    old = text_of(node)
    changed, dropped = with_text(page, node, new)
    formatting = "; the formatting inside it was dropped" if dropped else ""
    said = f"{page.path}: the heading {shown(old)} is now {shown(new)}{formatting}"
    return _changed(page, changed, said, (node.name,))


def text_replaced(tree: Tree, request: ReplaceText) -> Edit:
    """Put words in the place of others: in one place, or everywhere if asked so."""
    old, new = plain(request.old), fit(request.new, TEXT_CHARACTERS, "text")
    found = _places(tree, request.where, old)
    places = [place for _, in_page in found for place in in_page]
    if not request.where.everywhere:
        one_of(places, "place that says", old, _EVERYWHERE)
    if not places:
        one_of(places, "place that says", old)
    if len(places) > PLACES_MAX:
        raise CannotDo(
            f"there are {len(places)} places that say {shown(old)}; I change {PLACES_MAX} at most",
            DemoObstacle.TOO_MUCH,
        )
    changed = tuple(with_words(page, in_page, new) for page, in_page in found)
    said = "\n".join(f"{page.path}: {shown(old)} is now {shown(new)}{_times(len(at))}" for page, at in found)
    return Edit(changed, said, tuple(f"{page.path}: text" for page in changed))


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""


def _places(tree: Tree, where: Where, words: str) -> list[tuple[Page, list[Place]]]:
    """Where words stand in visible text, as they are written; else in any case; else in titles."""
    pages = pages_meant(tree, where, home=False)
    for case in (True, False):
        found = [
            (page, places)
            for page in pages
            if (places := [p for run in runs_of(page.root) for p in occurrences(run, words, case=case)])
        ]
        if found:
            return found
    return [
        (page, places)
        for page in pages
        if (
            places := [
                p
                for node in _titles(page)
                for run in runs_of(node, whole=True)
                for p in occurrences(run, words, case=False)
            ]
        )
    ]


def paragraph_added(tree: Tree, request: AddParagraph) -> Edit:
    """Add a paragraph on a line of its own, indented like what it stands beside."""
    text = fit(request.text, TEXT_CHARACTERS, "paragraph")
    pages = pages_meant(tree, request.where, home=not request.anchor)
    if request.anchor:
        page, node = _anchor(pages, request.anchor)
    else:
        page, node = pages[0], _last_paragraph(pages[0])
    written = f"<p>{escape(text, quote=False)}</p>"
    start = start_tag(page, node).start
    indent = _indent(page, start)
    gap = "" if indent is None else page.line_end + indent
    if request.side is Side.BEFORE:
        splice, intended = Splice(start, start, written + gap), Intended(paragraph_before={id(node): text})
    else:
        end = end_of(page, node)
        splice, intended = Splice(end, end, gap + written), Intended(paragraph_after={id(node): text})
    changed = spliced(page, [splice], intended)
    said = f"{page.path}: added the paragraph {shown(text)} {request.side} {shown(text_of(node))}"
    return _changed(page, changed, said, ("p",))


def _anchor(pages: list[Page], words: str) -> tuple[Page, Node]:
    headings = [
        (page, n) for page in pages for n in elements(page.root, *HEADINGS) if same(text_of(n), words)
    ]
    return one_of(headings or _paragraphs(pages, words), "heading", words)


def _paragraphs(pages: list[Page], start: str) -> list[tuple[Page, Node]]:
    wanted = folded(plain(start))
    return [
        (page, n) for page in pages for n in elements(page.root, "p") if folded(text_of(n)).startswith(wanted)
    ]


def _last_paragraph(page: Page) -> Node:
    """The last one of the page's own text, not of a list, a footer and the like."""
    mains = elements(page.root, "main") or elements(page.root, "body")
    cards = {"article"} if len(elements(page.root, "article")) > 1 else set()
    own = [
        node
        for node in elements(mains[0], "p")
        if not any(above.name in _NO_PLACE_FOR_MORE | cards for above in ancestors(node)) and text_of(node)
    ]
    if not own:
        raise CannotDo(
            f"{page.path} has no paragraph to add another one after; name a heading", DemoObstacle.NOWHERE
        )
    return own[-1]


def _indent(page: Page, start: int) -> str | None:
    """The white space before a tag that is the first on its line; None if it is not."""
    before = page.source[page.source.rfind("\n", 0, start) + 1 : start]
    return before if not before.strip() else None


def paragraph_removed(tree: Tree, request: RemoveParagraph) -> Edit:
    """Take a paragraph out, with its line if it stands on lines of its own."""
    found = _paragraphs(pages_meant(tree, request.where, home=False), request.start)
    page, node = one_of(found, "paragraph that starts with", request.start)
    start, end = start_tag(page, node).start, end_of(page, node)
    indent = _indent(page, start)
    rest = page.source[end:].partition("\n")
    if indent is not None and not rest[0].strip() and rest[1]:
        start, end = start - len(indent), end + len(rest[0]) + 1
    changed = spliced(page, [Splice(start, end, "")], Intended(removed=frozenset({id(node)})))
    return _changed(page, changed, f"{page.path}: removed the paragraph {shown(text_of(node))}", ("p",))


# --- what all of them need ----------------------------------------------------------------------------


def fit(text: str, most: int, what: str) -> str:
    """A new text on one line, within its bounds."""
    line = plain(text)
    if not line:
        raise CannotDo(f"the new {what} is empty", DemoObstacle.EMPTY)
    if len(line) > most:
        raise CannotDo(f"the new {what} is longer than {most} characters", DemoObstacle.EMPTY)
    return line


def one_of(
    found: Sequence[Found], what: str, words: str = "", hint: str = "Say which page you mean"
) -> Found:
    """The one thing that was found; where there is none or more than one, nothing is guessed."""
    named = f"{what} {shown(words)}" if words else what
    if not found:
        raise CannotDo(
            f"I found no {named}", DemoObstacle.NOT_FOUND if words else DemoObstacle.NOWHERE, words
        )
    if len(found) > 1:
        plural = what.replace("place that says", "places that say").replace(
            "paragraph that starts", "paragraphs that start"
        )
        plural = plural if plural != what else f"{what}s"
        raise CannotDo(
            f"there are {len(found)} {plural} {shown(words) if words else ''}".rstrip() + f". {hint}",
            DemoObstacle.SEVERAL_PLACES if words else DemoObstacle.NOWHERE,
            words,
        )
    return found[0]


def _changed(old: Page, new: Page, said: str, used: tuple[str, ...]) -> Edit:
    if new.source == old.source:
        raise CannotDo(f"{old.path} already says that", DemoObstacle.ALREADY_SO)
    return Edit((new,), said, tuple(f"{new.path}: {name}" for name in used))
