"""How values look on a page: templates, and the words and classes they use. Everything is escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from webordinary.core.lane import Lane
from webordinary.core.text import one_line
from webordinary.core.waiting import MOVING, QUIET, Cause, counted, span
from webordinary.dashboard.timeline import kind_of

FOLDER = Path(__file__).parent
NOTHING = Markup('<span class="none">none</span>')
PATCH_LINES_MAX = 2_000
PATCH_CHARACTERS = 400  # of one line


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
    told = [(_patch_kind(line), line[:PATCH_CHARACTERS]) for line in lines[:PATCH_LINES_MAX]]
    more = len(lines) - PATCH_LINES_MAX
    return [*told, ("meta", f"… and {counted(more, 'line')} more")] if more > 0 else told


def _patch_kind(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file")):
        return "meta"
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")
