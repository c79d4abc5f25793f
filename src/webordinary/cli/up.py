"""`webordinary up`: the whole system on this machine, supervised."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webordinary.adapters.children import Supervisor
from webordinary.cli.arguments import add_home, add_json, add_work, chosen_work, count, port
from webordinary.cli.desk import Desk, opened
from webordinary.cli.exits import Exit
from webordinary.cli.invocation import own_command
from webordinary.cli.logs import start_logging
from webordinary.cli.up_greeting import Greeting, as_json, in_words
from webordinary.cli.words import print_json
from webordinary.core.claim import Presence
from webordinary.core.errors import BackendUnavailable, BadInput, NotAllowed
from webordinary.wiring.build import name_of_hands, short_host
from webordinary.wiring.first_start import onboard_samples
from webordinary.wiring.mail_settings import MailSettings
from webordinary.wiring.running import Running, answers, dashboard_token, forget, free_port, running
from webordinary.wiring.settings import Settings, home_folder, load
from webordinary.wiring.work_settings import WorkSettings

log = logging.getLogger("webordinary.up")

SHOWN_WITHIN_SECONDS = 20.0
LOOK_SECONDS = 0.05
SITE_ADDRESS_VARIABLE = "WEBORDINARY_WORK_SITE_ADDRESS"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "The first start on an empty home onboards two sample sites. A process that dies is started again, "
        "and a worker's lanes are free at once. Ctrl-C lets running jobs finish within the grace or hands "
        "them back; a second one ends everything at once."
    )
    parser.add_argument("--workers", type=count, default=2, metavar="N", help="worker processes (default: 2)")
    parser.add_argument(
        "--smtp-port", type=port, metavar="PORT", help="where mail comes in; 0 is a free port (default: 2525)"
    )
    parser.add_argument(
        "--http-port",
        type=port,
        default=8025,
        metavar="PORT",
        help="the dashboard's; 0 is a free port (default: 8025)",
    )
    parser.add_argument(
        "--site-port",
        type=port,
        default=8080,
        metavar="PORT",
        help="where sites are seen; 0 is a free port (default: 8080)",
    )
    parser.add_argument("--no-samples", action="store_true", help="onboard no sample sites")
    add_work(parser, handler="site")
    add_home(parser)
    add_json(parser, "say what runs as one line of JSON, and log JSON lines; times are seconds since 1970")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is brought up."""

    ports: Running
    commands: Mapping[str, Sequence[str]]
    workers: int
    hands: str


def run(args: argparse.Namespace) -> int:
    """Bring up, stay up, come down."""
    settings = chosen_work(args, load(home_folder(args.home)), handler="site")
    if settings.in_cloud:
        raise BadInput(
            "`up` brings up a system on this machine, and the settings say backend = aws; nothing was "
            "started. Run `webordinary worker` in containers instead: docs/cloud.md"
        )
    start_logging("up", as_json=args.json)
    with opened(settings, create=True) as desk:
        plan = _plan(args, desk)
        return asyncio.run(_up(args, desk, plan))


def _plan(args: argparse.Namespace, desk: Desk) -> _Plan:
    """Refuse here, once, what would only make every process fail."""
    settings = desk.settings
    other = running(settings.home)
    if other is not None:
        raise NotAllowed(
            f"{settings.home} is up already (pid {other.pid}, dashboard {other.dashboard}): "
            "use that one, or another --home"
        )
    hands = name_of_hands(settings)
    smtp = args.smtp_port if args.smtp_port is not None else settings.mail.smtp_port
    ports = Running(
        pid=os.getpid(),
        smtp_port=free_port(smtp, "mail", "--smtp-port"),
        http_port=free_port(args.http_port, "the dashboard", "--http-port"),
        site_port=free_port(args.site_port, "the sites", "--site-port"),
    )
    return _Plan(ports, _commands(args, settings, ports), args.workers, hands)


def _commands(args: argparse.Namespace, settings: Settings, ports: Running) -> dict[str, list[str]]:
    common = ["--until-stdin-closes", "--home", str(settings.home), *(["--json"] if args.json else [])]
    worker = ["--slots", str(settings.slots), "--handler", str(settings.handler)]
    program = ["--", *settings.command] if settings.handler == "command" else []
    trust = ["--trust-loopback"] if is_a_try_out(settings.mail) else []
    mail_in = ["--smtp-port", str(ports.smtp_port), *trust]
    web = ["--http-port", str(ports.http_port), "--site-port", str(ports.site_port)]
    return {
        "mail": [*own_command(), "gateway", *common, *mail_in],
        **{
            f"worker {number}": [*own_command(), "worker", *common, *worker, *program]
            for number in range(1, args.workers + 1)
        },
        "web": [*own_command(), "web", *common, *web, "--smtp-port", str(ports.smtp_port)],
    }


def is_a_try_out(mail: MailSettings) -> bool:
    """Whether mail can come from this machine only, with nothing set up that could prove who wrote it."""
    default = MailSettings()
    names = ("smtp_host", "upstream", "upstream_peers", "zone_file", "imap", "relay", "address")
    return mail.trust_loopback or all(getattr(mail, name) == getattr(default, name) for name in names)


async def _up(args: argparse.Namespace, desk: Desk, plan: _Plan) -> int:
    home, settings = desk.settings.home, desk.settings
    if not args.no_samples and settings.handler == "site":
        await onboard_samples(settings, desk.backend, desk.clock)
    token = dashboard_token(home)
    plan.ports.write(home)
    try:
        return await _stay_up(args, desk, plan, token)
    finally:
        forget(home)


async def _stay_up(args: argparse.Namespace, desk: Desk, plan: _Plan, token: str) -> int:
    async def bury(pid: int) -> None:
        await _bury(desk, pid)

    supervisor = Supervisor(
        plan.commands, desk.clock, log.warning, bury, environment=_environment(desk.settings, plan.ports)
    )
    leaving = _Leaving(supervisor)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leaving.signalled, number)
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(supervisor.run())
        greeting = tasks.create_task(_greet(args, desk, supervisor, plan, token))
        await keeping
        greeting.cancel()
    log.info("everything has stopped")
    return Exit.OK


def _environment(settings: Settings, ports: Running) -> dict[str, str]:
    """What the processes are told: the settings' own address of the sites goes before ours."""
    chosen = settings.work.site_address != WorkSettings().site_address
    address = settings.work.site_address if chosen else ports.sites
    return {**os.environ, SITE_ADDRESS_VARIABLE: address}


class _Leaving:
    """Told once: let everything leave. Told twice: end it."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._told = False

    def signalled(self, number: signal.Signals) -> None:
        if self._told:
            log.warning("%s again: ending everything at once", number.name)
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


async def _greet(
    args: argparse.Namespace, desk: Desk, supervisor: Supervisor, plan: _Plan, token: str
) -> None:
    """Once everything answers, say what runs where and what to type."""
    deadline = desk.clock.monotonic() + SHOWN_WITHIN_SECONDS
    while desk.clock.monotonic() < deadline and not await _all_up(desk, supervisor, plan):
        await desk.clock.sleep(LOOK_SECONDS)
    pids = {name: child.pid for name, child in supervisor.children.items()}
    members = await desk.members()
    greeting = Greeting(desk.settings, plan.ports, plan.hands, pids, token, members)
    if args.json:
        print_json(as_json(greeting), lines=True)
    else:
        print(in_words(greeting), flush=True)


async def _all_up(desk: Desk, supervisor: Supervisor, plan: _Plan) -> bool:
    pids = {child.pid for child in supervisor.children.values()}
    shown = [worker for worker in await desk.backend.ledger.workers() if worker.pid in pids]
    ports = (plan.ports.smtp_port, plan.ports.http_port, plan.ports.site_port)
    return len(shown) >= plan.workers and all([await answers(port) for port in ports])
