"""Requests carried out on pages in memory: found in the page's outline, written into its source.

Only the place that is meant is rewritten. The page is then read again, and must show what it showed before
but for what was asked: else the request is refused.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape
from itertools import pairwise
from typing import NamedTuple, TypeVar

from webordinary.agents.demo.requests import CannotDo, DemoRequest, RequestKind, shown
from webordinary.agents.demo.site import SiteFolder, SitePage, folded, names_of, same
from webordinary.core.failure import DemoObstacle
from webordinary.core.html import Open, tags, written_attributes
from webordinary.core.page_outline import Block, PageOutline, outline
from webordinary.core.text import one_line

TITLE_CHARACTERS, TEXT_CHARACTERS = 300, 2_000
PLACES_MAX = 50
_NO_PLACE_FOR_MORE = tags("ul ol dl figure blockquote table a footer nav aside form dialog")
_PIECE = re.compile(r"&(?:#\w{1,9}|[A-Za-z][A-Za-z0-9]{0,31});?|\s+|.", re.DOTALL)
_PHONE = re.compile(r"(?<![\w.,/-])\+?\(?\d(?:[ ()/.-]{0,2}\d){6,14}(?![\w/-])")
_HREF = re.compile(r"\A(tel:|mailto:|)([^?]*)(.*)", re.DOTALL)
_MAIL_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Edit:
    """One request carried out: pages as they are to be, new files, and what to tell."""

    pages: Mapping[str, SitePage]
    summary: str
    used: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    mailed: str = ""  # the mail's file that was used


# --- a page's source ------------------------------------------------------------------------------------


class Splice(NamedTuple):
    """A piece of the source, and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Shown:
    """What a page shows, to be compared with what it is to show."""

    title: str
    texts: list[str]
    addresses: list[str]
    pictures: list[tuple[str, str]]

    @classmethod
    def by(cls, page: PageOutline) -> Shown:
        texts, links, pictures = page.texts, page.links, page.pictures
        return cls(
            page.title,
            [block.text for block in texts],
            [link.href for link in links],
            [(picture.src, picture.alt) for picture in pictures],
        )


def spliced(page: SitePage, expected: Shown, *splices: Splice) -> SitePage:
    source = page.source
    for splice in sorted(splices, reverse=True):
        source = source[: splice.start] + splice.text + source[splice.end :]
    if source == page.source:
        raise CannotDo(f"{page.path} already says that", DemoObstacle.ALREADY_SO)
    changed = SitePage(page.path, source, outline(source))
    if Shown.by(changed.outline) != expected:
        raise CannotDo(f"the place in {page.path} is written in a way that I can't change safely")
    return changed


class _Letter(NamedTuple):
    """A character as it is read, and where it is written. A run of white space is one."""

    char: str
    start: int
    end: int


def _letters(page: SitePage, block: Block) -> list[_Letter]:
    letters: list[_Letter] = []
    for text in block.texts:
        for piece in _PIECE.finditer(page.source, text.start, text.end):
            for char in one_line(unescape(piece[0])) or " ":
                if char != " " or (letters and letters[-1].char != " "):
                    letters.append(_Letter(char, *piece.span()))
    return letters[:-1] if letters and letters[-1].char == " " else letters


def _reworded(page: SitePage, letters: Sequence[_Letter], new: str) -> Splice:
    """Put other words in the place of letters; where tags are among them, of those that differ."""
    old = "".join(letter.char for letter in letters)
    if not _are_together(letters):
        head = len(posixpath.commonprefix([old, new]))
        tail = len(posixpath.commonprefix([old[head:][::-1], new[head:][::-1]]))
        letters, new = letters[head : len(old) - tail], new[head : len(new) - tail]
    if not letters or not _are_together(letters):
        reason = (
            f"the words {shown(old)} in {page.path} are not formatted alike; name only a part of them that is"
        )
        raise CannotDo(reason)
    return Splice(letters[0].start, letters[-1].end, escape(new, quote=False))


def _are_together(letters: Sequence[_Letter]) -> bool:
    return all(one.end >= other.start for one, other in pairwise(letters))


def attribute_set(page: SitePage, tag: Open, name: str, value: str) -> Splice:
    written = written_attributes(page.source, tag).get(name)
    if written is None:
        at = tag.start + 1 + len(tag.tag)
        return Splice(at, at, f' {name}="{escape(value)}"')
    if written.value is None:
        return Splice(written.end, written.end, f'="{escape(value)}"')
    mark = "'" if page.source[written.value[0]] == "'" else '"'
    return Splice(*written.value, f"{mark}{escape(value)}{mark}")


# --- titles and headings --------------------------------------------------------------------------------


def title_set(site: SiteFolder, request: DemoRequest) -> Edit:
    """Change a page's title, and its main heading where that says the same."""
    new = fit(request.new, TITLE_CHARACTERS, "title")
    page = site.pages_meant(request.page, home=True)[0]
    tag, old, heading = page.outline.title_tag, page.outline.title, page.outline.heading
    if tag is None:
        raise CannotDo(f"{page.path} has no title", DemoObstacle.NOWHERE)
    expected = Shown.by(page.outline)
    expected.title = new
    changed = spliced(page, expected, Splice(tag.end, tag.end + len(tag.raw or ""), escape(new, quote=False)))
    summary = f"{page.path}: the title is now {shown(new)} (it was {shown(old)})"
    if heading and any(same(heading, part) for part in names_of(page)[1:]):
        changed = _with_heading(changed, one_of(_headings([changed], ""), "main heading")[1], new)
        return edit(changed, f"{summary}, and so is the main heading", "title", "h1")
    beside = f"; the main heading still says {shown(heading)}" if heading and not same(heading, new) else ""
    return edit(changed, summary + beside, "title")


def heading_set(site: SiteFolder, request: DemoRequest) -> Edit:
    new = fit(request.new, TITLE_CHARACTERS, "heading")
    found = _headings(site.pages_meant(request.page, home=not request.old), request.old)
    page, at = one_of(found, "heading" if request.old else "main heading", request.old)
    old = page.outline.texts[at]
    summary = f"{page.path}: the heading {shown(old.text)} is now {shown(new)}"
    return edit(_with_heading(page, at, new), summary, f"h{old.level}")


def _headings(pages: Sequence[SitePage], words: str) -> list[tuple[SitePage, int]]:
    """The headings that say this, by page and place in its outline; without words the main ones."""
    return [
        (page, at)
        for page in pages
        for at, block in enumerate(page.outline.texts)
        if (block.level and same(block.text, words)) or (block.level == 1 and not words)
    ]


def _with_heading(page: SitePage, at: int, new: str) -> SitePage:
    expected = Shown.by(page.outline)
    expected.texts[at] = new
    return spliced(page, expected, _reworded(page, _letters(page, page.outline.texts[at]), new))


# --- texts ----------------------------------------------------------------------------------------------


def text_replaced(site: SiteFolder, request: DemoRequest) -> Edit:
    """Put words in the place of others: in one place, or everywhere if asked so."""
    old = one_line(request.old)
    new = "" if request.kind is RequestKind.REMOVE else fit(request.new, TEXT_CHARACTERS, "text")
    changed: dict[str, SitePage] = {}
    lines, total = [], 0
    for page in site.pages_meant(request.page, home=False):
        edited, count = _with_words(page, old, new)
        total += count
        if edited is not page:
            changed[page.path] = edited
            what = f"{shown(old)} is now {shown(new)}" if new else f"removed {shown(old)}"
            lines.append(f"{page.path}: {what}{f' ({count} times)' if count > 1 else ''}")
    hint = "Say which page you mean, or “everywhere” to change all of them"
    one_of(range(min(total, 1) if request.everywhere else total), "place that says", old, hint)
    if total > PLACES_MAX:
        raise CannotDo(f"I change {PLACES_MAX} places at most, not {total}", DemoObstacle.TOO_MUCH)
    return Edit(changed, "\n".join(lines), tuple(f"{path}: text" for path in changed))


def _with_words(page: SitePage, old: str, new: str) -> tuple[SitePage, int]:
    """Put words in the place of others wherever a page says them, and say how often it does."""
    wanted, count = folded(old), 0
    expected, splices = Shown.by(page.outline), []
    for at, block in enumerate(page.outline.texts):
        if wanted not in folded(block.text):
            continue
        letters = _letters(page, block)
        text = "".join(letter.char for letter in letters)
        for start in reversed(_starts(folded(text), wanted)):
            count, end = count + 1, start + len(wanted)
            start -= not new and text[start - 1 : start] == " "  # noqa: PLW2901 - the space before goes as well
            splices.append(_reworded(page, letters[start:end], new))
            text = text[:start] + new + text[end:]
            expected.texts[at] = one_line(text)
    for at, link in enumerate(page.outline.links):  # a number or an address is also where its link leads
        scheme, led, query = _HREF.findall(link.href)[0]
        if scheme and led and _digits_or_address(led) == _digits_or_address(old):
            expected.addresses[at] = f"{scheme}{_digits_or_address(new)}{query}"
            splices.append(attribute_set(page, link.tag, "href", expected.addresses[at]))
    return (spliced(page, expected, *splices) if splices else page), count


def _starts(text: str, words: str) -> list[int]:
    """Where words stand in a text, as whole words."""
    if not words:
        return []
    before, after = (r"(?<!\w)" if words[0].isalnum() else ""), (r"(?!\w)" if words[-1].isalnum() else "")
    return [found.start() for found in re.finditer(f"{before}{re.escape(words)}{after}", text)]


def _digits_or_address(text: str) -> str:
    return text.strip() if "@" in text else re.sub(r"[^\d+]", "", text)


def contact_changed(site: SiteFolder, request: DemoRequest) -> Edit:
    """Change the one phone number or e-mail address of the site, wherever it stands."""
    form = _PHONE if "phone" in request.what else _MAIL_ADDRESS
    if not form.fullmatch(request.new):
        raise CannotDo(f"{shown(request.new)} is no {request.what}", DemoObstacle.NOT_UNDERSTOOD, request.new)
    pages = site.pages_meant(request.page, home=False)
    written = {
        found[0] for page in pages for block in page.outline.texts for found in form.finditer(block.text)
    }
    if len({_digits_or_address(one) for one in written}) != len(written):
        raise CannotDo(f"the {request.what} is written in more than one way", DemoObstacle.NOWHERE)
    old = one_of(sorted(written), request.what)
    return text_replaced(site, replace(request, old=old, everywhere=True))


def text_added(site: SiteFolder, request: DemoRequest) -> Edit:
    text = fit(request.new, TEXT_CHARACTERS, request.what or "paragraph")
    tag, what = ("h2", "heading") if "head" in request.what else ("p", "paragraph")
    page, at = place_for_more(site, request)
    expected = Shown.by(page.outline)
    expected.texts.insert(at + (not request.is_before), text)
    markup = f"<{tag}>{escape(text, quote=False)}</{tag}>"
    changed, where = with_markup(page, at, markup, expected, is_before=request.is_before)
    return edit(changed, f"{page.path}: added the {what} {shown(text)} {where}", tag)


def place_for_more(site: SiteFolder, request: DemoRequest) -> tuple[SitePage, int]:
    """Beside what is named, else after the last paragraph of the page's own text."""
    pages = site.pages_meant(request.page, home=not request.beside)
    if request.beside:
        found = _headings(pages, request.beside) or _blocks(pages, request.beside, "paragraph")
        return one_of(found, "heading", request.beside)
    page, blocks = pages[0], pages[0].outline.texts
    cards = {"article"} if page.source.lower().count("<article") > 1 else set()
    has_main = any("main" in block.inside for block in blocks)
    own = [
        at
        for at, block in enumerate(blocks)
        if block.tag and block.tag.tag == "p" and block.is_last
        if not block.inside & (_NO_PLACE_FOR_MORE | cards) and ("main" in block.inside or not has_main)
    ]
    if not own:
        reason = f"{page.path} has no paragraph to add something after; name a heading"
        raise CannotDo(reason, DemoObstacle.NOWHERE)
    return page, own[-1]


def with_markup(
    page: SitePage, at: int, markup: str, expected: Shown, *, is_before: bool
) -> tuple[SitePage, str]:
    """Write an element on a line of its own beside a block, indented like it."""
    block = page.outline.texts[at]
    if block.tag is None or not block.is_last:
        raise CannotDo(f"{page.path} is written in a way that I can't add to safely")
    start, end = block.tag.start, len(page.source[: block.end].rstrip())
    indent = _indent(page, start)
    gap = "" if indent is None else ("\r\n" if "\r\n" in page.source else "\n") + indent
    splice = Splice(start, start, markup + gap) if is_before else Splice(end, end, gap + markup)
    return spliced(page, expected, splice), f"{'before' if is_before else 'after'} {shown(block.text)}"


def _indent(page: SitePage, start: int) -> str | None:
    """The white space before a tag that is the first on its line; None if it is not."""
    before = page.source[page.source.rfind("\n", 0, start) + 1 : start]
    return None if before.strip() else before


def _blocks(pages: Sequence[SitePage], words: str, what: str) -> list[tuple[SitePage, int]]:
    """Elements that say this: paragraphs that start with it, headings, or any that say it alone."""
    return [
        (page, at)
        for page in pages
        for at, block in enumerate(page.outline.texts)
        if block.tag and block.is_whole and (block.level or block.tag.tag in {"p", "li"})
        if same(block.text[: len(words)] if what == "paragraph" else block.text, words)
        if not what or (what == "paragraph") == (block.tag.tag == "p")
    ]


def text_removed(site: SiteFolder, request: DemoRequest) -> Edit:
    """Take an element out, with its line if it has one of its own; or some words out of their text."""
    words = request.old.removesuffix("…").removesuffix("...").strip()
    found = _blocks(site.pages_meant(request.page, home=False), one_line(words), request.what)
    if not found and not request.what:
        return text_replaced(site, request)
    page, at = one_of(found, f"{request.what} that starts with" if request.what else "place that says", words)
    block, expected = page.outline.texts[at], Shown.by(page.outline)
    start, end = block.tag.start if block.tag else 0, len(page.source[: block.end].rstrip())
    expected.texts.pop(at)
    expected.addresses = [link.href for link in page.outline.links if not start <= link.tag.start < end]
    line_end = re.compile(r"[ \t]*\r?\n").match(page.source, end)
    if (indent := _indent(page, start)) is not None and line_end:
        start, end = start - len(indent), line_end.end()
    changed = spliced(page, expected, Splice(start, end, ""))
    what = request.what or "text"
    return edit(
        changed, f"{page.path}: removed the {what} {shown(block.text)}", block.tag.tag if block.tag else ""
    )


# --- what all of them need ------------------------------------------------------------------------------


def fit(text: str, most: int, what: str) -> str:
    """A new text on one line, within its bounds."""
    line = one_line(text)
    if not line or len(line) > most:
        problem = f"is longer than {most} characters" if line else "is empty"
        raise CannotDo(f"the new {what} {problem}", DemoObstacle.EMPTY)
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
        obstacle = DemoObstacle.SEVERAL_PLACES if words else DemoObstacle.NOWHERE
        raise CannotDo(f"there is more than one {named}: {len(found)}. {hint}", obstacle, words)
    return found[0]


def edit(page: SitePage, summary: str, *used: str) -> Edit:
    return Edit({page.path: page}, summary, tuple(f"{page.path}: {name}" for name in used))
