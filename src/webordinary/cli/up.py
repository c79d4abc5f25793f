"""`webordinary up`: a pool of workers, supervised."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from collections.abc import Mapping, Sequence

from webordinary.adapters.children import Supervisor
from webordinary.cli.arguments import add_home, add_json, add_work, chosen_work, count
from webordinary.cli.desk import Desk, opened
from webordinary.cli.exits import Exit
from webordinary.cli.invocation import own_command, typed
from webordinary.cli.logs import start_logging
from webordinary.cli.words import BOLD, painted, print_json
from webordinary.core.claim import Presence
from webordinary.core.errors import BackendUnavailable
from webordinary.core.waiting import counted
from webordinary.wiring.build import build_handler, short_host, store_path
from webordinary.wiring.settings import Settings, home_folder, load

log = logging.getLogger("webordinary.up")

SHOWN_WITHIN_SECONDS = 20.0
LOOK_SECONDS = 0.05


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "A worker that dies is started again, and its lanes are free at once. Ctrl-C lets running jobs "
        "finish within the grace or hands them back; a second one ends everything at once."
    )
    parser.add_argument("--workers", type=count, default=2, metavar="N", help="worker processes (default: 2)")
    add_work(parser, handler="sleep")
    add_home(parser)
    add_json(parser, "say what runs as one line of JSON, and log JSON lines; times are seconds since 1970")


def run(args: argparse.Namespace) -> int:
    """Bring up, stay up, come down."""
    settings = chosen_work(args, load(home_folder(args.home)), handler="sleep")
    build_handler(settings)  # what no worker could run is refused here, once
    start_logging("up", as_json=args.json)
    commands = {f"worker {number}": _worker_command(args, settings) for number in range(1, args.workers + 1)}
    with opened(settings, create=True) as desk:
        return asyncio.run(_stay_up(args, desk, commands))


def _worker_command(args: argparse.Namespace, settings: Settings) -> list[str]:
    flags = ["--until-stdin-closes", "--home", str(settings.home), "--slots", str(settings.slots)]
    flags += ["--handler", str(settings.handler), *(["--json"] if args.json else [])]
    program = ["--", *settings.command] if settings.handler == "command" else []
    return [*own_command(), "worker", *flags, *program]


async def _stay_up(args: argparse.Namespace, desk: Desk, commands: Mapping[str, Sequence[str]]) -> int:
    async def bury(pid: int) -> None:
        await _bury(desk, pid)

    supervisor = Supervisor(commands, desk.clock, log.warning, bury)
    leaving = _Leaving(supervisor)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leaving.signalled, number)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(supervisor.run())
        greeting = tasks.create_task(_greet(args, desk, supervisor, len(commands)))
        await running
        greeting.cancel()
    log.info("all workers have left")
    return Exit.OK


class _Leaving:
    """Told once: let the workers leave. Told twice: end them."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._told = False

    def signalled(self, number: signal.Signals) -> None:
        if self._told:
            log.warning("%s again: ending all workers at once", number.name)
            self._supervisor.kill()
            return
        self._told = True
        log.info("%s: running jobs may finish or are handed back; once more ends them at once", number.name)
        self._supervisor.drain()


async def _bury(desk: Desk, pid: int) -> None:
    """Free the lanes of a worker that is certainly dead: nobody has to wait for its leases."""
    backend = desk.backend
    try:
        for worker in await backend.ledger.workers():
            if (worker.host, worker.pid) == (short_host(), pid):
                for lane in worker.lanes:
                    await backend.control.evict(lane)
                gone = Presence(worker.worker, worker.slots, worker.since, worker.host, worker.pid, gone=True)
                await backend.broker.keep(gone, [])
    except BackendUnavailable as error:
        log.warning("could not free the lanes of pid %d, their leases will run out: %s", pid, error)


# --- what is told ---------------------------------------------------------------------------------


async def _greet(args: argparse.Namespace, desk: Desk, supervisor: Supervisor, wanted: int) -> None:
    """Once all workers have shown themselves, say what runs where and what to type."""
    deadline = desk.clock.monotonic() + SHOWN_WITHIN_SECONDS
    while desk.clock.monotonic() < deadline:
        pids = {child.pid for child in supervisor.children.values()}
        shown = [worker for worker in await desk.backend.ledger.workers() if worker.pid in pids]
        if len(shown) >= wanted:
            break
        await desk.clock.sleep(LOOK_SECONDS)
    running = {name: child.pid for name, child in supervisor.children.items()}
    home, handler = desk.settings.home, desk.settings.handler
    if args.json:
        print_json(
            {"home": str(home), "store": str(store_path(home)), "handler": handler, "pids": running},
            lines=True,
        )
    else:
        print(_greeting(desk.settings, running), flush=True)


def _greeting(settings: Settings, running: Mapping[str, int]) -> str:
    home, handler, slots = settings.home, settings.handler, counted(settings.slots, "slot")
    sleeps = handler == "sleep"
    instruction = f"{'5 ' if sleeps else ''}change the title to Spring Sale"
    lines = [
        "",
        f"{painted('Webordinary is up', BOLD)} on {store_path(home)}",
        *(f"  {name:<10} pid {pid}, {slots}, handler {handler}" for name, pid in running.items()),
        "",
        "In another terminal" + ("; a job sleeps as many seconds as it begins with:" if sleeps else ":"),
        f"  {typed('submit', 'amelia/scott', instruction, '--wait', '30', home=home)}",
        f"  {typed('status', '--watch', home=home)}",
        f"  {typed('why', 'amelia/scott', home=home)}",
        "",
        "Ctrl-C stops it.",
        "",
    ]
    return "\n".join(lines)
