"""What is different on a site's pages, as data: letters tell it in the sender's language."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PageChangeKind(StrEnum):
    """What a visitor would notice."""

    PAGE_ADDED = "page_added"
    PAGE_LINKED = "page_linked"  # a new page, and `target` is the title of a page that leads there
    PAGE_REMOVED = "page_removed"
    TITLE = "title"
    TITLE_AND_HEADING = "title_and_heading"
    HEADING = "heading"  # the main one
    SUBHEADING = "subheading"
    HEADING_ADDED = "heading_added"
    HEADING_REMOVED = "heading_removed"
    TEXT = "text"
    TEXT_ADDED = "text_added"
    TEXT_REMOVED = "text_removed"
    PICTURE = "picture"
    PICTURE_ADDED = "picture_added"
    PICTURE_REMOVED = "picture_removed"
    PICTURE_DESCRIPTION = "picture_description"
    LINK = "link"
    LINK_ADDED = "link_added"
    UNSEEN = "unseen"
    LOOK = "look"
    PAGES = "pages"  # so many more pages, not looked into
    FILES = "files"
    MORE = "more"  # so many more changes


# Kinds that say that something changed and not what: an agent's own words say more.
VAGUE = frozenset(
    {
        PageChangeKind.UNSEEN,
        PageChangeKind.LOOK,
        PageChangeKind.PAGES,
        PageChangeKind.FILES,
        PageChangeKind.MORE,
    }
)


@dataclass(frozen=True, slots=True)
class PageChange:
    """One difference. `page` is a title, "" for the home page; `pages` counts where the same happened."""

    kind: PageChangeKind
    page: str = ""
    pages: int = 1
    everywhere: bool = False  # on all pages of the site
    old: str = ""
    new: str = ""
    target: str = ""
    mailed: bool = False  # `new` is a file of the mail, as its sender calls it
    count: int = 0
    path: str = ""  # of the page, or of the first of them
