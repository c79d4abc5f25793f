"""The overview, with the try-it box: as it is at first, or as somebody filled it in."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from webordinary.dashboard.front import Front
from webordinary.dashboard.queries import lanes_page, sites, summary

LATEST_SHOWN = 12
ROWS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Draft:
    """What stands in the box."""

    sender: str = ""
    subject: str = "A small change"
    text: str = 'Change the title to "Spring Sale"'
    problem: str = ""  # why it was not sent
    field: str = ""  # which field the problem is about; "": none in particular


EXAMPLE = Draft()


async def overview(front: Front, request: Request, draft: Draft = EXAMPLE, *, status: int = 200) -> Response:
    """Make the page."""
    parts, ledger = front.parts, front.parts.backend.ledger
    return await front.page(
        request,
        "first.html",
        status=status,
        draft=draft,
        summary=await summary(parts),
        lanes=await lanes_page(parts, limit=ROWS_SHOWN, after=None, busy=True),
        sites=await sites(parts),
        latest=(await ledger.history(None, limit=LATEST_SHOWN))[::-1],
        jobs=await ledger.jobs(limit=ROWS_SHOWN),
        can_try=parts.send is not None,
        mail_address=parts.mail_address,
    )
