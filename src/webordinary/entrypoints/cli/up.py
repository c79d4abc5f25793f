"""`webordinary up`: the whole system on this machine, supervised."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from webordinary.core.claim import Presence
from webordinary.core.errors import BackendUnavailable, BadInput, StoreBusy
from webordinary.entrypoints.cli.arguments import add_home, add_json, add_work, chosen_work, count, port
from webordinary.entrypoints.cli.context import Context, open_context
from webordinary.entrypoints.cli.doctor import EXTRAS
from webordinary.entrypoints.cli.logs import start_logging
from webordinary.entrypoints.cli.output import Exit, own_command, print_json
from webordinary.entrypoints.cli.up_greeting import Greeting, as_json, in_words
from webordinary.operations.first_start import onboard_samples
from webordinary.operations.running import (
    LOOPBACK,
    Running,
    WantedPort,
    answers,
    chosen_ports,
    only_one,
)
from webordinary.system.supervisor import Supervisor
from webordinary.wiring.embedded import dashboard_token
from webordinary.wiring.mail_services import open_mail_services, service_names
from webordinary.wiring.platform import platform_of
from webordinary.wiring.settings import MailSettings, Settings, WorkSettings, home_folder, load
from webordinary.wiring.worker import handler_name, short_host

log = logging.getLogger("webordinary.up")

SHOWN_WITHIN_SECONDS = 20.0  # after that people want to know what does not answer
LOOK_SECONDS, LOOK_MOST_SECONDS, LOOK_GROWTH = 0.05, 1.0, 1.1
SITE_ADDRESS_VARIABLE = "WEBORDINARY_WORK_SITE_ADDRESS"


def configure_up(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "The first start on an empty home onboards two sample sites. A process that dies is started again, "
        "and a worker's lanes are free at once. Ctrl-C lets running jobs finish within the grace or hands "
        "them back; a second one ends everything at once."
    )
    parser.add_argument("--workers", type=count, default=2, metavar="N", help="worker processes (default: 2)")
    parser.add_argument(
        "--smtp-port", type=port, metavar="PORT", help="SMTP port; 0 picks a free one (default: 2525)"
    )
    parser.add_argument(
        "--http-port",
        type=port,
        default=8025,
        metavar="PORT",
        help="port of the dashboard; 0 picks a free one (default: 8025)",
    )
    parser.add_argument(
        "--site-port",
        type=port,
        default=8080,
        metavar="PORT",
        help="port of the sites; 0 picks a free one (default: 8080)",
    )
    parser.add_argument("--no-samples", action="store_true", help="do not add the sample sites")
    add_work(parser, handler="site")
    add_home(parser)
    add_json(parser, "print what runs as one line of JSON, and log JSON lines; times are seconds since 1970")


@dataclass(frozen=True, slots=True)
class StartPlan:
    """What is brought up."""

    ports: Running
    commands: Mapping[str, Sequence[str]]
    handler: str


def run_up(args: argparse.Namespace) -> int:
    """Bring up, stay up, come down."""
    settings = chosen_work(args, load(home_folder(args.home)), handler="site")
    if not platform_of(settings).traits.is_local:
        raise BadInput(
            "`up` brings up a system on this machine, and the settings say backend = aws; nothing was "
            "started. Run `webordinary worker` in containers instead: docs/cloud.md"
        )
    start_logging("up", as_json=args.json)
    _refuse_missing_packages()
    with open_context(settings, create=True) as context, only_one(settings.home):
        plan = _plan(args, context.settings)
        return asyncio.run(_up(args, context, plan))


def _refuse_missing_packages() -> None:
    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            raise BadInput(
                f"`up` needs packages that are not installed here ({', '.join(missing)}); nothing was "
                f"started. Install them: pip install 'webordinary[{extra}]'"
            )


def _plan(args: argparse.Namespace, settings: Settings) -> StartPlan:
    """Refuse here, once, what would only make every process fail."""
    handler = handler_name(settings)
    smtp = args.smtp_port if args.smtp_port is not None else settings.mail.smtp_port
    wishes = (
        WantedPort(smtp, "mail", "--smtp-port", settings.mail.smtp_host),
        WantedPort(args.http_port, "the dashboard", "--http-port"),
        WantedPort(args.site_port, "the sites", "--site-port"),
        *_inbound_wish(settings.mail),
    )
    smtp, http, sites, *_ = chosen_ports(wishes)
    ports = Running(os.getpid(), smtp, http, sites)
    return StartPlan(ports, _commands(args, settings, ports), handler)


def _inbound_wish(mail: MailSettings) -> list[WantedPort]:
    if not open_mail_services(mail):
        return []
    return [WantedPort(mail.inbound_port, "mail services", "inbound_port in [mail]", mail.inbound_host)]


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
    is_default = all(getattr(mail, name) == getattr(default, name) for name in names)
    return mail.trust_loopback or (is_default and not service_names(mail))


async def _up(args: argparse.Namespace, context: Context, plan: StartPlan) -> int:
    settings = context.settings
    plan.ports.write(settings.home)
    if not args.no_samples and settings.handler == "site":
        await onboard_samples(settings, context.backend, context.clock)
    return await _stay_up(args, context, plan, dashboard_token(settings.home))


async def _stay_up(args: argparse.Namespace, context: Context, plan: StartPlan, token: str) -> int:
    async def bury(pid: int) -> None:
        await _bury(context, pid)

    environment = _environment(context.settings, plan.ports)
    supervisor = Supervisor(plan.commands, context.clock, log.warning, bury, environment, refusal=Exit.USAGE)
    leaving = _Leaving(supervisor, context.settings.home, plan.ports)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leaving.signalled, number)
    greeting = asyncio.create_task(greet(args, context, supervisor, plan, token))
    greeting.add_done_callback(leaving.if_failed)
    try:
        await supervisor.run()
    finally:
        greeting.cancel()
    if supervisor.refused is not None:
        raise BadInput(
            f"{supervisor.refused} can't run, and said why above. Everything else was stopped again and "
            "nothing was lost: mend that, then start again"
        )
    log.info("everything has stopped")
    with contextlib.suppress(asyncio.CancelledError):
        await greeting  # if it failed, that is why everything has stopped
    return Exit.OK


def _environment(settings: Settings, ports: Running) -> dict[str, str]:
    """The environment of the processes: the settings' own address of the sites goes before ours."""
    chosen = settings.work.site_address != WorkSettings().site_address
    address = settings.work.site_address if chosen else ports.sites
    return {**os.environ, SITE_ADDRESS_VARIABLE: address}


class _Leaving:
    """First signal: let everything leave. Second: end it."""

    def __init__(self, supervisor: Supervisor, home: Path, ports: Running) -> None:
        self._supervisor, self._home, self._ports = supervisor, home, ports
        self._leaving = False

    def signalled(self, number: signal.Signals) -> None:
        if self._leaving:
            log.warning("%s again: ending everything at once", number.name)
            self._supervisor.kill()
            return
        log.info("%s: running jobs may finish or are handed back; once more ends them at once", number.name)
        self._leave()

    def if_failed(self, greeting: asyncio.Task[None]) -> None:
        if not greeting.cancelled() and greeting.exception() is not None:
            self._leave()

    def _leave(self) -> None:
        self._leaving = True
        with contextlib.suppress(BackendUnavailable):  # it is only for people to see
            replace(self._ports, leaving=True).write(self._home)
        self._supervisor.drain()


async def _bury(context: Context, pid: int) -> None:
    """Free the lanes of a worker that is certainly dead: nobody has to wait for its leases."""
    backend = context.backend
    try:
        for worker in await backend.ledger.workers():
            if (worker.host, worker.pid) == (short_host(), pid):
                for lane in worker.lanes:
                    await backend.control.bury(lane, worker.worker)
                gone = Presence(worker.worker, worker.slots, worker.since, worker.host, worker.pid, gone=True)
                await backend.broker.keep(gone, [])
    except BackendUnavailable as error:
        log.warning("could not free the lanes of pid %d, their leases will run out: %s", pid, error)


async def greet(
    args: argparse.Namespace, context: Context, supervisor: Supervisor, plan: StartPlan, token: str
) -> None:
    """Once everything answers, say what runs where and what to type."""
    clock, pause = context.clock, LOOK_SECONDS
    tell_at = clock.monotonic() + SHOWN_WITHIN_SECONDS
    while missing := await silent(context, supervisor, plan):
        if clock.monotonic() > tell_at:
            log.warning("not everything is up yet, no answer from: %s", ", ".join(missing))
            tell_at += SHOWN_WITHIN_SECONDS
        await clock.sleep(pause)
        pause = min(pause * LOOK_GROWTH, LOOK_MOST_SECONDS)
    pids = {name: child.pid for name, child in supervisor.children.items()}
    members = await context.members()
    greeting = Greeting(context.settings, plan.ports, plan.handler, pids, token, members)
    if args.json:
        print_json(as_json(greeting), lines=True)
    else:
        print(in_words(greeting), flush=True)


async def silent(context: Context, supervisor: Supervisor, plan: StartPlan) -> list[str]:
    """Name what does not answer yet."""
    ports, mail_host = plan.ports, context.settings.mail.smtp_host
    try:
        shown = {worker.pid for worker in await context.backend.ledger.workers()}
    except StoreBusy:  # somebody writes for long; it will come
        return ["the store"]
    there = {name for name, child in supervisor.children.items() if child.pid in shown}
    workers = [name for name in plan.commands if name.startswith("worker") and name not in there]
    listeners = (
        (f"mail at port {ports.smtp_port}", ports.smtp_port, mail_host),
        (f"the dashboard at {ports.dashboard}", ports.http_port, LOOPBACK),
        (f"the sites at {ports.sites}", ports.site_port, LOOPBACK),
    )
    return workers + [what for what, port, host in listeners if not await answers(port, host)]
