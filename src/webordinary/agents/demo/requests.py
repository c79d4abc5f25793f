"""What the demo agent can be asked for, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Where:
    """Which page is meant. Without a name it depends on the request."""

    page: str = ""
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class SetTitle:
    """Give a page another title; `old` is there where a person named the one that is meant."""

    new: str
    where: Where
    old: str = ""


@dataclass(frozen=True, slots=True)
class SetHeading:
    """Give a heading another text; without `old` the main one of the page."""

    new: str
    where: Where
    old: str = ""


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Put words in the place of others."""

    old: str
    new: str
    where: Where


@dataclass(frozen=True, slots=True)
class SetLink:
    """Lead a link elsewhere, or give it another text if the target is none."""

    label: str
    target: str
    where: Where


class Side(StrEnum):
    """On which side of something a paragraph goes."""

    AFTER = "after"
    BEFORE = "before"


@dataclass(frozen=True, slots=True)
class AddParagraph:
    """Add a paragraph beside a heading or a paragraph; without `anchor` after the page's last one."""

    text: str
    where: Where
    anchor: str = ""
    side: Side = Side.AFTER


@dataclass(frozen=True, slots=True)
class RemoveParagraph:
    """Take the paragraph out that starts with these words."""

    start: str
    where: Where


@dataclass(frozen=True, slots=True)
class ReplacePicture:
    """Show a mailed picture instead of one of the site."""

    which: str  # words about the picture that is replaced; "" means the only one
    where: Where
    file: str = ""  # its name, where a person gave it
    description: str = ""


@dataclass(frozen=True, slots=True)
class DescribePicture:
    """Change the words that stand in for a picture where it can't be seen."""

    which: str
    description: str
    where: Where


Request = (
    SetTitle
    | SetHeading
    | ReplaceText
    | SetLink
    | AddParagraph
    | RemoveParagraph
    | ReplacePicture
    | DescribePicture
)
