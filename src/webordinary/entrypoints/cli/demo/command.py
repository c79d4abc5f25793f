"""`webordinary demo`: the three scenarios with real processes, and a verdict on each."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from webordinary.core.errors import BadInput
from webordinary.core.text import one_line
from webordinary.entrypoints.cli.arguments import add_json
from webordinary.entrypoints.cli.context import Context, open_context
from webordinary.entrypoints.cli.demo.scenes import SCENES, Scene, SceneCheck
from webordinary.entrypoints.cli.demo.screen import Screen, screen
from webordinary.entrypoints.cli.demo.stage import Moment, NotUp, Stage, Watcher
from webordinary.entrypoints.cli.output import BOLD, FAINT, GREEN, RED, Exit, painted, print_json
from webordinary.operations.first_start import onboard_samples
from webordinary.wiring.embedded import store_path
from webordinary.wiring.settings import Settings

LOG_LINES = 15
FIRST_RELEASE_SECONDS = 20.0


def configure_demo(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Mail comes in over SMTP, and the demo agent edits two sample sites. Every verdict is read from "
        "what is there: ownership rows, job states and times, published pages, replies. The exit code is 0 "
        "only if all was seen."
    )
    parser.add_argument(
        "--home",
        metavar="DIR",
        help="play in this folder and keep it (default: a temporary one, removed afterwards)",
    )
    add_json(parser, "print the verdicts and the timeline as JSON at the end")


@dataclass(slots=True)
class Play:
    """What was seen so far."""

    screen: Screen
    timeline: list[Moment] = field(default_factory=list)
    verdicts: list[tuple[Scene, list[SceneCheck]]] = field(default_factory=list)

    def tell(self, moment: Moment) -> None:
        """Add a line to the timeline."""
        self.timeline.append(moment)
        at, where = painted(f"{moment.at:7.2f} s", FAINT), f"{moment.where:<12}"
        self.screen.line(f"  {at}  {where}  {one_line(moment.what, 90)}")

    def judge(self, scene: Scene, checks: list[SceneCheck]) -> None:
        """Give the verdict on a scene."""
        self.verdicts.append((scene, checks))
        for check in checks:
            self.screen.line(f"  {_mark(seen=check.seen)} {check.text}")
        self.screen.line()

    @property
    def all_seen(self) -> bool:
        """Whether everything was seen."""
        return all(check.seen for _, checks in self.verdicts for check in checks)


def run_demo(args: argparse.Namespace) -> int:
    """Play."""
    with _home(args.home) as home, open_context(Settings(home), create=True) as context:
        began = context.clock.monotonic()
        with screen(quiet=args.json) as shown:
            play = Play(shown)
            asyncio.run(_play(play, context))
        _conclude(play, home, as_json=args.json, seconds=context.clock.monotonic() - began)
    return Exit.OK if play.all_seen else Exit.NO


@contextlib.contextmanager
def _home(named: str | None) -> Iterator[Path]:
    if named is not None:
        home = Path(named).expanduser().absolute()
        if store_path(home).exists():
            raise BadInput(f"{home} has a store already; the demo plays only in a fresh folder")
        home.mkdir(parents=True, exist_ok=True)
        yield home
        return
    home = Path(tempfile.mkdtemp(prefix="webordinary-demo-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _play(play: Play, context: Context) -> None:
    watcher = Watcher(context, play.tell, play.screen.lanes)
    stage = Stage(context, watcher)
    await onboard_samples(context.settings, context.backend, context.clock)
    try:
        await _first_release(play, stage)
        async with stage.mail_comes_in():
            for number, scene in enumerate(SCENES, 1):
                await _scene(play, stage, number, scene)
    except NotUp as error:
        play.judge(Scene("Everything comes up", SCENES[0].play), [SceneCheck(seen=False, text=str(error))])


async def _first_release(play: Play, stage: Stage) -> None:
    """Both sample sites are shown for the first time, by jobs like any other."""
    head = "Two sample sites: amelia (scott@example.com) and bakery (john@example.com)"
    play.screen.line(painted(head, BOLD))
    async with stage.watcher.watching(), stage.pool("worker 0"):
        for job in await stage.context.backend.ledger.jobs(limit=10):
            await stage.ended(job.id, FIRST_RELEASE_SECONDS)
    play.screen.line()


async def _scene(play: Play, stage: Stage, number: int, scene: Scene) -> None:
    play.screen.line(painted(f"{number}. {scene.title}", BOLD))
    try:
        async with stage.watcher.watching():
            checks = await scene.play(stage)
    except NotUp as error:
        checks = [SceneCheck(seen=False, text=str(error))]
    play.judge(scene, checks)


def _conclude(play: Play, home: Path, *, as_json: bool, seconds: float) -> None:
    if as_json:
        scenes = [
            {"title": scene.title, "seen": all(check.seen for check in checks), "checks": checks}
            for scene, checks in play.verdicts
        ]
        print_json({"seen": play.all_seen, "seconds": seconds, "scenes": scenes, "timeline": play.timeline})
        return
    for number, (scene, checks) in enumerate(play.verdicts, 1):
        print(f"{_mark(seen=all(check.seen for check in checks))} {number}. {scene.title}")
    print(painted(f"{seconds:.1f} s in all", FAINT))
    if not play.all_seen:
        print(f"\n{_last_log_lines(home)}")


def _mark(*, seen: bool) -> str:
    return painted("seen    ", GREEN) if seen else painted("NOT SEEN", RED, BOLD)


def _last_log_lines(home: Path) -> str:
    """What the workers said last, for whoever has to find out."""
    parts = []
    for log in sorted(home.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        parts.append("\n".join([f"{log.stem}:", *(f"  {line}" for line in lines)]))
    return "\n".join(parts)
