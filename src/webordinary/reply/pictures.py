"""Pictures of changed pages, before and after, that go with a letter."""

from __future__ import annotations

from webordinary.core.errors import NotFound
from webordinary.core.mail import Letter
from webordinary.ports.blobs import Blobs
from webordinary.reply.compose import Picture

PICTURES_MAX = 4
NONE = "-"


async def pictures(letter: Letter, blobs: Blobs | None) -> tuple[Picture, ...]:
    """Fetch what the fact `pictures` names: a line a page, with the keys of before and after."""
    found: list[Picture] = []
    for line in letter.facts.get("pictures", "").split("\n"):
        before, _, rest = line.partition(" ")
        after, _, page = rest.partition(" ")
        name = page.removesuffix(".html").replace("/", "-")
        for when, key in (("before", before), ("after", after)):
            if blobs is not None and key and key != NONE and len(found) < PICTURES_MAX:
                content = await _fetched(blobs, key)
                found += [Picture(f"{name} {when}.png", content)] if content else []
    return tuple(found)


async def _fetched(blobs: Blobs, key: str) -> bytes | None:
    """A picture that is gone is no reason not to answer."""
    try:
        return await blobs.get(key)
    except NotFound:
        return None
