"""`webordinary worker`: one generic worker, until it is told to leave."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal

from webordinary.claim.worker import Shape, Worker
from webordinary.core.lane import Lane
from webordinary.core.waiting import counted
from webordinary.entrypoints.cli.arguments import add_home, add_json, add_work, chosen_work, seconds
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.logs import start_logging
from webordinary.entrypoints.cli.stdin import add_until_stdin_closes, when_stdin_closes
from webordinary.operations.readiness import ready
from webordinary.ports.backend import Backend
from webordinary.wiring.build import Hands, build_hands, build_worker
from webordinary.wiring.folders import store_name
from webordinary.wiring.replies import replies
from webordinary.wiring.settings import Settings, home_folder, load
from webordinary.wiring.stores import open_backend

log = logging.getLogger("webordinary.worker")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "SIGTERM or Ctrl-C: it claims nothing more, lets running jobs finish within the grace or hands them "
        "back, and leaves; a second one ends it at once. It logs one line an event to standard error."
    )
    add_work(parser, handler="site")
    parser.add_argument(
        "--only", type=Lane.parse, metavar="PROJECT/USER", help="serve this lane and no other"
    )
    parser.add_argument(
        "--exit-when-idle",
        type=seconds,
        metavar="SECONDS",
        help="leave when there was nothing to do for so long",
    )
    add_until_stdin_closes(parser)
    add_home(parser)
    add_json(parser, "log JSON lines; times are seconds since 1970")


def run(args: argparse.Namespace) -> int:
    """Work."""
    settings = chosen_work(args, load(home_folder(args.home)), handler="site")
    shape = Shape(only=args.only, exit_when_idle_seconds=args.exit_when_idle)
    backend = open_backend(settings)
    try:
        hands = build_hands(settings, backend)
        presence, worker = build_worker(settings, backend, hands, shape)
        start_logging(presence.worker, as_json=args.json)
        asyncio.run(_work(settings, backend, worker, hands, until_stdin_closes=args.until_stdin_closes))
        log.info("left")
    finally:
        backend.close()
    return Exit.OK


async def _work(
    settings: Settings, backend: Backend, worker: Worker, hands: Hands, *, until_stdin_closes: bool
) -> None:
    leaving = _Leaving(worker)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leaving.signalled, number)
    if until_stdin_closes:
        when_stdin_closes(leaving.abandoned)
    try:
        if not await ready(settings, leaving.wanted):
            return
        slots = counted(settings.slots, "slot")
        log.info("up with %s, %s, store %s", slots, hands.name, store_name(settings))
        async with replies(settings, backend):
            await worker.run()
    finally:
        await hands.close()


class _Leaving:
    """Told once: drain. Told twice: end at once; jobs' programs die with this process."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._told = False
        self.wanted = asyncio.Event()

    def signalled(self, number: signal.Signals) -> None:
        if self._told:
            log.warning("%s again: ending at once; leases run out by themselves", number.name)
            os._exit(128 + number)
        self._told = True
        log.info("%s: claiming nothing more; running jobs may finish", number.name)
        self._drain()

    def abandoned(self) -> None:
        if not self._told:
            log.info("whoever started this worker is gone: claiming nothing more")
            self._drain()

    def _drain(self) -> None:
        self.wanted.set()
        self._worker.drain()
