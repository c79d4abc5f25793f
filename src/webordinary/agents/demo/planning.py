"""A whole mail planned before a byte is written: all of it, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from webordinary.agents.demo.bounds import CannotDo
from webordinary.agents.demo.edits import (
    Edit,
    heading_set,
    paragraph_added,
    paragraph_removed,
    text_replaced,
    title_set,
)
from webordinary.agents.demo.links import link_set
from webordinary.agents.demo.pictures import Mailed, picture_described, picture_replaced
from webordinary.agents.demo.requests import (
    AddParagraph,
    DescribePicture,
    RemoveParagraph,
    ReplacePicture,
    ReplaceText,
    Request,
    SetHeading,
    SetLink,
    SetTitle,
)
from webordinary.agents.demo.tree import Interrupted, Tree
from webordinary.core.failure import DemoObstacle


def planned(tree: Tree, requests: list[Request], mailed: Mailed, stopped: Callable[[], bool]) -> list[Edit]:
    """Carry all requests out in memory, each on what the ones before it left."""
    if not tree.pages:
        raise CannotDo("I found no HTML page in the site that I can read", DemoObstacle.NOWHERE)
    edits: list[Edit] = []
    for request in requests:
        if stopped():
            raise Interrupted
        edit = _carried_out(tree, request, mailed)
        tree = after(tree, [edit])
        edits.append(edit)
    return edits


def after(tree: Tree, edits: Sequence[Edit]) -> Tree:
    """The site as edits leave it."""
    for edit in edits:
        pages = tree.pages | {page.path: page for page in edit.pages}
        tree = replace(tree, pages=pages, files=tree.files | edit.files.keys())
    return tree


def _carried_out(tree: Tree, request: Request, mailed: Mailed) -> Edit:
    match request:
        case SetTitle():
            return title_set(tree, request)
        case SetHeading():
            return heading_set(tree, request)
        case ReplaceText():
            return text_replaced(tree, request)
        case SetLink():
            return link_set(tree, request)
        case AddParagraph():
            return paragraph_added(tree, request)
        case RemoveParagraph():
            return paragraph_removed(tree, request)
        case ReplacePicture():
            return picture_replaced(tree, request, mailed)
        case DescribePicture():
            return picture_described(tree, request)
        case _:
            assert_never(request)
