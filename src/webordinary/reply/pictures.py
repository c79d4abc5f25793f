"""Pictures of the changed page, before and after, that go with a letter."""

from __future__ import annotations

from webordinary.core.errors import NotFound
from webordinary.core.mail import Letter
from webordinary.ports.blobs import Blobs
from webordinary.reply.compose import Picture, When

NONE = "-"


async def pictures(letter: Letter, blobs: Blobs | None) -> tuple[Picture, ...]:
    """Fetch what the fact `pictures` names: a line a page, with the keys of before and after; of one page."""
    line = letter.facts.get("pictures", "").partition("\n")[0]
    found: list[Picture] = []
    for when, key in zip(When, line.split(" ")[:2], strict=False):
        if blobs is not None and key and key != NONE:
            try:
                found.append(Picture(when, await blobs.get(key)))
            except NotFound:
                continue  # a picture that is gone is no reason not to answer
    return tuple(found)
