"""How the demo is shown: line after line; and on a terminal with a live board below them."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from webordinary.core.claim import WorkerId
from webordinary.core.views import LaneView
from webordinary.entrypoints.cli.output import has_colours

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

FRAMES_PER_SECOND = 12
Names = Callable[[WorkerId | None], str]


class Screen(Protocol):
    """Where the play is shown."""

    def line(self, text: str = "") -> None:
        """Add a line to what stays."""
        ...

    def lanes(self, lanes: Sequence[LaneView], now: float, names: Names) -> None:
        """Show how the lanes stand at this moment."""
        ...


class SilentScreen:
    """A `Screen` for scripts, which read the end."""

    def line(self, text: str = "") -> None:
        """See `Screen.line`."""

    def lanes(self, lanes: Sequence[LaneView], now: float, names: Names) -> None:
        """See `Screen.lanes`."""


class LineScreen(SilentScreen):
    """A `Screen` for pipes and logs."""

    def line(self, text: str = "") -> None:
        """See `Screen.line`."""
        print(text, flush=True)


class Board:
    """A `Screen` for a terminal: who holds which lane stands below the lines, and changes as it happens."""

    def __init__(self, live: Live) -> None:
        """Show it here."""
        self._live = live

    def line(self, text: str = "") -> None:
        """See `Screen.line`."""
        from rich.text import Text

        self._live.console.print(Text.from_ansi(text), soft_wrap=True)

    def lanes(self, lanes: Sequence[LaneView], now: float, names: Names) -> None:
        """See `Screen.lanes`."""
        self._live.update(_board(lanes, now, names))


@contextlib.contextmanager
def screen(*, quiet: bool) -> Iterator[Screen]:
    """Choose by who looks."""
    if quiet:
        yield SilentScreen()
    elif not has_colours(sys.stdout) or importlib.util.find_spec("rich") is None:
        yield LineScreen()
    else:
        from rich.console import Console
        from rich.live import Live

        with Live(
            console=Console(highlight=False), refresh_per_second=FRAMES_PER_SECOND, transient=True
        ) as live:
            yield Board(live)


def _board(lanes: Sequence[LaneView], now: float, names: Names) -> Table:
    from rich import box
    from rich.table import Table

    board = Table(box=box.ROUNDED, border_style="dim", header_style="dim", expand=False)
    for title in ("lane", "held by", "fence", "lease left", "jobs", "now"):
        board.add_column(title, no_wrap=True, min_width=len(title))
    for lane in sorted(lanes, key=lambda one: str(one.lane)):
        board.add_row(*_row(lane, now, names))
    return board


def _row(lane: LaneView, now: float, names: Names) -> list[str]:
    owned = lane.owned_at(now)
    left = f"{(lane.lease_until or now) - now:.0f} s" if owned else "-"
    if owned and lane.running:
        doing = "[bold cyan]at work[/]"
    elif owned:
        doing = "[green]held, idle[/]"
    else:
        doing = "[yellow]waits for a worker[/]" if lane.depth else "[dim]free[/]"
    return [
        str(lane.lane),
        names(lane.worker if owned else None),
        str(lane.fence),
        left,
        str(lane.depth),
        doing,
    ]
