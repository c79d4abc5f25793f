"""`webordinary web`: the dashboard and the sites, each on a port of its own."""

from __future__ import annotations

import argparse
import asyncio
import logging

from webordinary.core.errors import BackendUnavailable, BadInput
from webordinary.dashboard.app import create_app, serving
from webordinary.entrypoints.cli.arguments import add_home, add_json, port
from webordinary.entrypoints.cli.context import Context, open_context
from webordinary.entrypoints.cli.logs import start_logging
from webordinary.entrypoints.cli.output import Exit
from webordinary.entrypoints.cli.signals import add_until_stdin_closes, leave_event
from webordinary.operations.running import LOOPBACK
from webordinary.sites.server import serve_sites
from webordinary.system.http_server import Served
from webordinary.wiring.embedded import dashboard_token, sites_folder
from webordinary.wiring.settings import Settings, home_folder, load
from webordinary.wiring.web import dashboard_parts

log = logging.getLogger("webordinary.web")


def configure_web(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Sites are served on a port of their own, so that a site's script can never act on the dashboard. "
        "Whoever has the token in the home's dashboard.token may change things there."
    )
    parser.add_argument(
        "--http-port", type=port, default=8025, metavar="PORT", help="port of the dashboard (default: 8025)"
    )
    parser.add_argument(
        "--site-port", type=port, default=8080, metavar="PORT", help="port of the sites (default: 8080)"
    )
    parser.add_argument(
        "--smtp-port",
        type=port,
        metavar="PORT",
        help="SMTP port that the try-it box sends to (default: 2525)",
    )
    add_until_stdin_closes(parser)
    add_home(parser)
    add_json(parser, "log JSON lines; times are seconds since 1970")


def run_web(args: argparse.Namespace) -> int:
    """Serve until a signal."""
    settings = load(home_folder(args.home))
    start_logging("web", as_json=args.json)
    with open_context(settings, create=True) as context:
        asyncio.run(_serve(args, context))
    log.info("left")
    return Exit.OK


async def _serve(args: argparse.Namespace, context: Context) -> None:
    leave = leave_event(until_stdin_closes=args.until_stdin_closes)
    settings = context.settings
    sites = await _served_sites(settings, args.site_port)
    try:
        parts = dashboard_parts(
            settings,
            context.backend,
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
