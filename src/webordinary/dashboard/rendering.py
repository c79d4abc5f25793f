"""How pages are made: templates and their filters, what every page has, and bytes of strangers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.job import JobState
from webordinary.core.lane import Lane
from webordinary.core.text import one_line
from webordinary.core.waiting import MOVING, QUIET, Cause, counted, span
from webordinary.dashboard.guard import CSRF_FIELD, STRANGERS_POLICY, Keeper, SignInNeeded
from webordinary.dashboard.parts import Parts
from webordinary.dashboard.timeline import kind_of

FOLDER = Path(__file__).parent
NOTHING = Markup('<span class="none">none</span>')
PATCH_LINES_MAX = 2_000
PATCH_CHARACTERS = 400  # of one line

FIELD_BYTES_MAX = 256 * 1024
SEE_OTHER = 303
RAW_BYTES_SHOWN = 256 * 1024

# What was done, shown once on the next page. Only these words ever come out of an address.
NOTICES: Mapping[str, str] = {
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


def environment() -> Environment:
    """Make the templates ready."""
    env = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        span=span,
        one_line=one_line,
        moment=moment,
        until=until,
        waited=waited,
        tone=tone,
        happening=kind_of,
        lane_path=lane_path,
        patch_lines=patch_lines,
        slug=lambda text: str(text).replace(" ", "-"),
    )
    env.globals.update(counted=counted)
    return env


@dataclass(frozen=True, slots=True)
class Renderer:
    """The parts, who may change things, the templates."""

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
                "notice": NOTICES.get(request.query_params.get("notice", ""), ""),
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

    def back(self, path: str, notice: str) -> Response:
        """Go to a page that shows what was done."""
        assert notice in NOTICES
        return RedirectResponse(f"{path}?notice={notice}", SEE_OTHER)


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


def moment(at: float | None, now: float) -> Markup:
    """When something was; the page counts on by itself."""
    if at is None:
        return NOTHING
    return Markup('<time data-at="{:.1f}" datetime="{}" title="{}">{} ago</time>').format(
        at, _iso(at), _in_full(at), span(now - at)
    )


def waited(at: float, now: float) -> Markup:
    """How long something has waited; the page counts on by itself."""
    return Markup('<time data-at="{:.1f}" title="{}">{}</time>').format(at, _in_full(at), span(now - at))


def until(at: float | None, now: float) -> Markup:
    """How long something still lasts; the page counts down by itself."""
    if at is None:
        return NOTHING
    return Markup('<time data-until="{:.1f}" datetime="{}" title="{}">{}</time>').format(
        at, _iso(at), _in_full(at), span(at - now)
    )


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _in_full(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def tone(cause: Cause) -> str:
    """Quiet, moving, or worth a look."""
    if cause in QUIET:
        return "quiet"
    return "moving" if cause in MOVING else "waiting"


def lane_path(lane: Lane) -> str:
    """Where a lane's page is."""
    return f"/lanes/{lane.project}/{lane.user}"


def patch_lines(patch: str) -> list[tuple[str, str]]:
    """A patch's lines, each with what it is."""
    lines = patch.splitlines()
    shown = [(_patch_kind(line), line[:PATCH_CHARACTERS]) for line in lines[:PATCH_LINES_MAX]]
    more = len(lines) - PATCH_LINES_MAX
    return [*shown, ("meta", f"… and {counted(more, 'line')} more")] if more > 0 else shown


def _patch_kind(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file")):
        return "meta"
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")
