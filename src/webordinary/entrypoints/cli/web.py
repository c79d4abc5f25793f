"""`webordinary web`: the dashboard and the sites, each on a port of its own."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal

from webordinary.core.errors import BackendUnavailable, BadInput
from webordinary.dashboard.app import create_app
from webordinary.dashboard.server import serving
from webordinary.entrypoints.cli.arguments import add_home, add_json, port
from webordinary.entrypoints.cli.desk import Desk, opened
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.logs import start_logging
from webordinary.entrypoints.cli.stdin import add_until_stdin_closes, when_stdin_closes
from webordinary.sites.server import serve_sites
from webordinary.system.http_server import Served
from webordinary.wiring.folders import sites_folder
from webordinary.wiring.home_secrets import dashboard_token
from webordinary.wiring.running import LOOPBACK
from webordinary.wiring.settings import Settings, home_folder, load
from webordinary.wiring.web import dashboard_parts

log = logging.getLogger("webordinary.web")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Sites are served on a port of their own, so that a site's script can never act on the dashboard. "
        "Whoever has the token in the home's dashboard.token may change things there."
    )
    parser.add_argument(
        "--http-port", type=port, default=8025, metavar="PORT", help="the dashboard's (default: 8025)"
    )
    parser.add_argument(
        "--site-port", type=port, default=8080, metavar="PORT", help="the sites' (default: 8080)"
    )
    parser.add_argument(
        "--smtp-port", type=port, metavar="PORT", help="where its try-it box sends mail (default: 2525)"
    )
    add_until_stdin_closes(parser)
    add_home(parser)
    add_json(parser, "log JSON lines; times are seconds since 1970")


def run(args: argparse.Namespace) -> int:
    """Serve until told to leave."""
    settings = load(home_folder(args.home))
    start_logging("web", as_json=args.json)
    with opened(settings, create=True) as desk:
        asyncio.run(_serve(args, desk))
    log.info("left")
    return Exit.OK


async def _serve(args: argparse.Namespace, desk: Desk) -> None:
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave.set)
    if args.until_stdin_closes:
        when_stdin_closes(leave.set)
    settings = desk.settings
    sites = await _served_sites(settings, args.site_port)
    try:
        parts = dashboard_parts(
            settings,
            desk.backend,
            smtp_port=args.smtp_port or settings.mail.smtp_port,
            site_address=f"http://{LOOPBACK}:{sites.port}",
        )
        app = create_app(parts, token=dashboard_token(settings.home))
        async with serving(app, host=LOOPBACK, port=args.http_port) as chosen:
            log.info(
                "dashboard at http://%s:%d/, sites at http://%s:%d/", LOOPBACK, chosen, LOOPBACK, sites.port
            )
            await leave.wait()
    finally:
        await sites.stop()


async def _served_sites(settings: Settings, port: int) -> Served:
    try:
        return await serve_sites(sites_folder(settings.home), LOOPBACK, port)
    except BackendUnavailable as error:
        raise BadInput(
            f"the sites can't be shown: {error}; choose another port with --site-port, 0 for any free one"
        ) from error
