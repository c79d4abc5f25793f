"""`webordinary worker`: one generic worker, until it is to leave."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from contextlib import suppress

from webordinary.claim.worker import Shape, Worker
from webordinary.core.errors import BackendUnavailable, SchemaMismatch
from webordinary.core.lane import Lane
from webordinary.core.log_throttle import LogThrottle
from webordinary.core.waiting import counted
from webordinary.entrypoints.cli.arguments import add_home, add_json, add_work, chosen_work, seconds
from webordinary.entrypoints.cli.logs import start_logging
from webordinary.entrypoints.cli.output import Exit
from webordinary.entrypoints.cli.signals import add_until_stdin_closes, when_stdin_closes
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock
from webordinary.wiring.platform import open_backend, platform_of
from webordinary.wiring.settings import Settings, home_folder, load
from webordinary.wiring.worker import OpenHandler, build_worker, open_handler, replies

log = logging.getLogger("webordinary.worker")

FIRST_SECONDS, MOST_SECONDS = 1.0, 30.0  # between two looks


def configure_worker(parser: argparse.ArgumentParser) -> None:
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
        help="exit after SECONDS without work",
    )
    add_until_stdin_closes(parser)
    add_home(parser)
    add_json(parser, "log JSON lines; times are seconds since 1970")


def run_worker(args: argparse.Namespace) -> int:
    """Work."""
    settings = chosen_work(args, load(home_folder(args.home)), handler="site")
    shape = Shape(only=args.only, exit_when_idle_seconds=args.exit_when_idle)
    backend = open_backend(settings)
    try:
        handler = open_handler(settings, backend)
        presence, worker = build_worker(settings, backend, handler, shape)
        start_logging(presence.worker, as_json=args.json)
        asyncio.run(_work(settings, backend, worker, handler, until_stdin_closes=args.until_stdin_closes))
        log.info("left")
    finally:
        backend.close()
    return Exit.OK


async def _work(
    settings: Settings, backend: Backend, worker: Worker, handler: OpenHandler, *, until_stdin_closes: bool
) -> None:
    leaving = _Leaving(worker)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leaving.signalled, number)
    if until_stdin_closes:
        when_stdin_closes(leaving.abandoned)
    try:
        if not await _ready(settings, leaving.wanted):
            return
        slots = counted(settings.slots, "slot")
        log.info("up with %s, %s, store %s", slots, handler.name, platform_of(settings).traits.store_name)
        async with replies(settings, backend):
            await worker.run()
    finally:
        await handler.close()


async def _ready(settings: Settings, leaving: asyncio.Event) -> bool:
    """Come back when a worker may begin; False if it is to leave before that.

    What is missing is an error; what only does not answer is waited for.
    """
    platform = platform_of(settings)
    throttle, seconds = LogThrottle(log, SystemClock().monotonic), FIRST_SECONDS
    while not leaving.is_set():
        try:
            await platform.check()
        except SchemaMismatch:
            raise
        except BackendUnavailable as error:
            throttle.met("not up yet, and trying again", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await leaving.wait()
            seconds = min(2 * seconds, MOST_SECONDS)
        else:
            throttle.over("not up yet, and trying again")
            return True
    return False


class _Leaving:
    """First signal: drain. Second: end at once; jobs' programs die with this process."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._leaving = False
        self.wanted = asyncio.Event()

    def signalled(self, number: signal.Signals) -> None:
        if self._leaving:
            log.warning("%s again: ending at once; leases run out by themselves", number.name)
            os._exit(128 + number)
        self._leaving = True
        log.info("%s: claiming nothing more; running jobs may finish", number.name)
        self._drain()

    def abandoned(self) -> None:
        if not self._leaving:
            log.info("whoever started this worker is gone: claiming nothing more")
            self._drain()

    def _drain(self) -> None:
        self.wanted.set()
        self._worker.drain()
