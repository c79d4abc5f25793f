"""`webordinary gateway`: mail in by SMTP, out of a mailbox and from mail services; replies out."""

from __future__ import annotations

import argparse
import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from webordinary.entrypoints.cli.arguments import add_home, add_json, port
from webordinary.entrypoints.cli.logs import start_logging
from webordinary.entrypoints.cli.output import Exit
from webordinary.entrypoints.cli.signals import add_until_stdin_closes, leave_event
from webordinary.mail.smtp.gateway import SmtpGateway, SmtpListener
from webordinary.wiring.mail import MailRoom, open_mail_room
from webordinary.wiring.mail_services import open_inbound_door
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import home_folder, load

if TYPE_CHECKING:
    from webordinary.mail.services.endpoint import InboundDoor

log = logging.getLogger("webordinary.gateway")


def configure_gateway(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "SIGTERM or Ctrl-C: it takes no further mail, finishes what it is receiving, and leaves."
    parser.add_argument(
        "--smtp-port",
        type=port,
        metavar="PORT",
        help="SMTP port to listen on; 0 picks a free one (default: 2525)",
    )
    parser.add_argument(
        "--inbound-port",
        type=port,
        metavar="PORT",
        help="port for webhooks of mail services, if one is set up; 0 picks a free one (default: 2580)",
    )
    parser.add_argument(
        "--trust-loopback",
        action="store_true",
        default=None,
        help="for a local trial: trust the From header of mail from this machine",
    )
    add_until_stdin_closes(parser)
    add_home(parser)
    add_json(parser, "log JSON lines; times are seconds since 1970")


def run_gateway(args: argparse.Namespace) -> int:
    """Receive mail and send replies until a signal."""
    settings = load(home_folder(args.home))
    start_logging("gateway", as_json=args.json)
    backend = open_backend(settings)
    try:
        room = open_mail_room(settings, backend, port=args.smtp_port, trust_loopback=args.trust_loopback)
        door = open_inbound_door(
            settings.mail, room.reception, args.inbound_port, room.listening.spool_folder
        )
        asyncio.run(_serve(room, door, until_stdin_closes=args.until_stdin_closes))
    finally:
        backend.close()
    log.info("left")
    return Exit.OK


async def _serve(room: MailRoom, door: InboundDoor | None, *, until_stdin_closes: bool) -> None:
    leave = leave_event(until_stdin_closes=until_stdin_closes)
    gateway = SmtpGateway(room.listening, partial(room.reception.receive, may_come_again=True))
    try:
        port = await gateway.start()
        _say_hello(room.listening, port, room)
        if door is not None:
            log.info("listening for mail services at %s", await door.start(gateway.reading_room))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(room.sender.run())
            reading = tasks.create_task(room.imap.run()) if room.imap else None
            await leave.wait()
            if reading:
                reading.cancel()
            await gateway.stop()
            if door is not None:
                await door.stop()
            room.sender.stop()
    finally:
        await room.close()


def _say_hello(listening: SmtpListener, port: int, room: MailRoom) -> None:
    log.info("listening for mail to %s at %s:%d", listening.address, listening.host, port)
    log.info("replies go to %s", room.replies_to)
    if room.reception.trust.loopback:
        log.warning("mail from this machine is believed without proof (trust_loopback): for a try-out only")
