"""Pictures of the changed page, before and after, that go with a letter."""

from __future__ import annotations

from webordinary.core.errors import NotFound
from webordinary.core.mail import Letter
from webordinary.ports.blobs import Blobs
from webordinary.reply.compose import Picture, When
from webordinary.reply.facts import ending_of


async def pictures(letter: Letter, blobs: Blobs | None) -> tuple[Picture, ...]:
    """Fetch the pictures of the first page that has any."""
    preview = ending_of(letter).facts.preview
    pages = preview.pictures[:1] if preview else ()
    keys = [(When.BEFORE, pages[0].before), (When.AFTER, pages[0].after)] if pages else []
    found: list[Picture] = []
    for when, key in keys:
        if blobs is not None and key:
            try:
                found.append(Picture(when, await blobs.get(key)))
            except NotFound:
                continue  # a picture that is gone is no reason not to answer
    return tuple(found)
