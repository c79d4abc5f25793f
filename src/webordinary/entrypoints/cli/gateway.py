"""`webordinary gateway`: mail in by SMTP, out of a mailbox and from mail services; replies out."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from functools import partial
from typing import TYPE_CHECKING

from webordinary.entrypoints.cli.arguments import add_home, add_json, port
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.logs import start_logging
from webordinary.entrypoints.cli.stdin import add_until_stdin_closes, when_stdin_closes
from webordinary.mail.smtp.gateway import SmtpGateway, SmtpListener
from webordinary.wiring.mail import MailRoom, open_mail_room
from webordinary.wiring.mail_services import open_inbound_door
from webordinary.wiring.settings import home_folder, load
from webordinary.wiring.stores import open_backend

if TYPE_CHECKING:
    from webordinary.mail.services.endpoint import InboundDoor

log = logging.getLogger("webordinary.gateway")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "SIGTERM or Ctrl-C: it takes no further mail, finishes what it is receiving, and leaves."
    parser.add_argument(
        "--smtp-port", type=port, metavar="PORT", help="where to listen; 0 is a free port (default: 2525)"
    )
    parser.add_argument(
        "--inbound-port",
        type=port,
        metavar="PORT",
        help="where to listen for mail services, if one is set up; 0 is a free port (default: 2580)",
    )
    parser.add_argument(
        "--trust-loopback",
        action="store_true",
        default=None,
        help="for a local try-out: believe mail from this machine, whoever it says it is from",
    )
    add_until_stdin_closes(parser)
    add_home(parser)
    add_json(parser, "log JSON lines; times are seconds since 1970")


def run(args: argparse.Namespace) -> int:
    """Take mail in and send replies until told to leave."""
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
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave.set)
    if until_stdin_closes:
        when_stdin_closes(leave.set)
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
