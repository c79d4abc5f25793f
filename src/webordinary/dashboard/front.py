"""What every page has: the parts, who is at the door, and how a page is made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from jinja2 import Environment
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.job import JobState
from webordinary.dashboard.guard import CSRF_FIELD, STRANGERS_POLICY, Keeper, SignInNeeded
from webordinary.dashboard.parts import Parts
from webordinary.dashboard.template_filters import environment

FIELD_BYTES_MAX = 256 * 1024
SEE_OTHER = 303
RAW_BYTES_SHOWN = 256 * 1024

# What was done, told once on the next page. Only these words ever come out of an address.
TOLD: Mapping[str, str] = {
    "redriven": "The job is queued again, behind everything that waits in its lane.",
    "dropped": "The job is put aside for good.",
    "interrupted": "The running job is asked to stop. What it has done so far is kept.",
    "idle": "Nothing runs in this lane, so there was nothing to stop.",
    "released": "The lane was taken from its owner; what is left asks for a new one.",
    "free": "Nobody held this lane.",
    "asked": "The job is in the lane.",
    "signed-in": "You can change things now. This browser remembers it.",
    "signed-out": "This browser can only look now.",
}


@dataclass(frozen=True, slots=True)
class Front:
    """The parts, the door, the templates."""

    parts: Parts
    keeper: Keeper
    templates: Environment = field(default_factory=environment)

    async def page(
        self, request: Request, template: str, *, status: int = 200, **context: object
    ) -> HTMLResponse:
        """Fill a template."""
        html = self.templates.get_template(template).render(
            context
            | {
                "now": self.parts.clock.now(),
                "path": request.url.path,
                "signed_in": self.keeper.signed_in(request),
                "csrf": self.keeper.csrf if self.keeper.signed_in(request) else "",
                "told": TOLD.get(request.query_params.get("told", ""), ""),
                "dead_count": await self._dead_count(),
            }
        )
        return HTMLResponse(html, status)

    async def _dead_count(self) -> int:
        try:
            return (await self.parts.backend.ledger.counts())[JobState.DEAD]
        except BackendUnavailable:  # the page is about to say so itself
            return 0

    @asynccontextmanager
    async def form(self, request: Request) -> AsyncIterator[FormData]:
        """Read a form that may change something: only with the token, and only from our own page."""
        async with request.form(max_files=1, max_fields=20, max_part_size=FIELD_BYTES_MAX) as form:
            self.keeper.admit(request, text(form, CSRF_FIELD))
            yield form

    def signed_in(self, token: str) -> Response:
        """Have the browser of whoever shows the token remember it."""
        if not self.keeper.is_token(token):
            raise SignInNeeded("This is not the token that `webordinary up` printed.")
        return self.keeper.sign_in(self.back("/", "signed-in"))

    def back(self, path: str, told: str) -> Response:
        """Go to a page that tells what was done."""
        assert told in TOLD
        return RedirectResponse(f"{path}?told={told}", SEE_OTHER)


def text(form: FormData, name: str) -> str:
    """A field of a form; "" if it is not there."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def as_text(content: bytes) -> Response:
    """Show bytes of strangers as they are: nothing in them is ever run here."""
    return Response(content, media_type="text/plain", headers={"content-security-policy": STRANGERS_POLICY})


def as_file(content: bytes, name: str, kind: str = "application/octet-stream") -> Response:
    """Let bytes of strangers be saved. The name is of our making."""
    safe = "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "-" for char in name)
    return Response(
        content,
        headers={
            "content-security-policy": STRANGERS_POLICY,
            "content-disposition": f'attachment; filename="{safe or "file"}"',
            "content-type": kind,
        },
    )


def as_picture(content: bytes) -> Response:
    """Show a picture, if its first bytes say that it is one."""
    kinds = {b"\x89PNG\r\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
    kind = next((kind for start, kind in kinds.items() if content.startswith(start)), "")
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "image/webp"
    if not kind:
        raise NotFound("this is no picture that can be shown here")
    return Response(content, media_type=kind, headers={"content-security-policy": STRANGERS_POLICY})


def readable(content: bytes) -> str:
    """The beginning of raw bytes as text, for a page."""
    cut = content[:RAW_BYTES_SHOWN]
    words = cut.decode("utf-8", "replace").replace("\r\n", "\n")
    return (
        words if len(content) <= RAW_BYTES_SHOWN else f"{words}\n… and {len(content) - len(cut):,} bytes more"
    )
