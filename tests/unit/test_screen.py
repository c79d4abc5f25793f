"""The demo's screen: a live board for who sits before a terminal, lines for pipes, nothing for scripts."""

import contextlib
import io

import pytest

from webordinary.core.claim import WorkerId
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import HeadView, LaneView
from webordinary.entrypoints.cli.demo.screen import Board, LineScreen, SilentScreen, screen


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lane(project: str, worker: str | None, *, state: JobState | None = None) -> LaneView:
    head = HeadView(JobId("j"), state, 1, 7, None, 90.0, 90.0) if state else None
    return LaneView(
        lane=Lane(project, "scott"),
        worker=WorkerId(worker) if worker else None,
        fence=7,
        claimed_at=80.0,
        last_activity=90.0,
        lease_until=142.0 if worker else None,
        waiting_since=None,
        failures=0,
        parked_until=None,
        depth=1 if state else 0,
        dead=0,
        head=head,
    )


LANES = [
    lane("amelia", "w1", state=JobState.RUNNING),
    lane("bakery", "w2"),
    lane("cellar", None, state=JobState.QUEUED),
    lane("dairy", None),
]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def test_a_terminal_gets_a_board_that_says_who_holds_what(terminal: Terminal) -> None:
    with contextlib.redirect_stdout(terminal), screen(quiet=False) as shown:
        assert isinstance(shown, Board)
        shown.lanes(LANES, 100.0, lambda worker: f"worker {worker}" if worker else "nobody")
        shown.line("a line of the timeline")
    rows = [line for line in terminal.getvalue().splitlines() if "scott" in line]
    for project, *words in [
        ("amelia", "worker w1", "42 s", "at work"),
        ("bakery", "worker w2", "42 s", "held, idle"),
        ("cellar", "nobody", "waits for a worker"),
        ("dairy", "nobody", "free"),
    ]:
        assert any(project in row and all(word in row for word in words) for row in rows), project
    assert "a line of the timeline" in terminal.getvalue()


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_can_or_may_not_gets_lines(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with contextlib.redirect_stdout(terminal), screen(quiet=False) as shown:
        assert isinstance(shown, LineScreen)
        shown.lanes(LANES, 100.0, str)
        shown.line("a line")
    assert terminal.getvalue() == "a line\n"


def test_a_script_gets_nothing_before_the_end(terminal: Terminal) -> None:
    with contextlib.redirect_stdout(terminal), screen(quiet=True) as shown:
        assert type(shown) is SilentScreen
        shown.line("a line")
    assert not terminal.getvalue()
