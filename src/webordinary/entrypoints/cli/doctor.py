"""`webordinary doctor`: everything that a first run needs, checked; and how to fix what is missing."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from webordinary.core.errors import BadInput, WebordinaryError
from webordinary.entrypoints.cli.arguments import add_common
from webordinary.entrypoints.cli.context import open_context
from webordinary.entrypoints.cli.output import GREEN, RED, YELLOW, Exit, painted, show
from webordinary.operations.running import free_port, running
from webordinary.sandbox import SandboxUnavailable, choose_sandbox, probe
from webordinary.sites.camera import why_no_camera
from webordinary.wiring.embedded import store_path
from webordinary.wiring.mail_services import open_mail_services, service_names
from webordinary.wiring.platform import platform_of
from webordinary.wiring.settings import AWS, SANDBOX_OFF, MailSettings, Settings, home_folder, load
from webordinary.wiring.worker import chosen_agent

EXTRAS = {
    "mail": ("aiosmtpd", "aiosmtplib", "dkim", "dns", "jinja2", "PIL", "spf"),
    "web": ("jinja2", "starlette", "uvicorn"),
}
AWS_EXTRA = {"aws": ("aiobotocore",)}
PORTS = (
    ("the dashboard", "--http-port", 8025),
    ("the sites", "--site-port", 8080),
)
FREE_BYTES_LOW = 1 << 30
GIT_OLDEST = (2, 38)


class Mark(StrEnum):
    """How a check came out."""

    GOOD = "good"
    MISSING = "missing"  # something works less well
    BAD = "bad"  # it can't run


COLOURS = {Mark.GOOD: GREEN, Mark.MISSING: YELLOW, Mark.BAD: RED}


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, how it stands, and what to do."""

    what: str
    mark: Mark
    text: str


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "The exit code is 0 if everything that is needed is there."
    add_common(parser)


def run_doctor(args: argparse.Namespace) -> int:
    """Check."""
    findings = [_python(), _git()]
    settings = _settings(args, findings)
    findings += _extras(EXTRAS | AWS_EXTRA if settings and settings.backend == AWS else EXTRAS)
    if settings is not None:
        findings += [check(settings) for check in (_home, _agent, _sandbox, _pictures, _mail_in, _mail_out)]
        findings += _mailbox(settings)
        is_local = platform_of(settings).traits.is_local
        findings += [_store(settings), *_ports(settings)] if is_local else _cloud(settings)
    words = "\n".join(
        f"{painted(f'{one.mark.value:<8}', COLOURS[one.mark])} {one.what:<10} {one.text}" for one in findings
    )
    return show(args, findings, words, Exit.NO if any(one.mark is Mark.BAD for one in findings) else Exit.OK)


def _settings(args: argparse.Namespace, findings: list[Finding]) -> Settings | None:
    try:
        return load(home_folder(args.home))
    except BadInput as error:
        findings.append(Finding("settings", Mark.BAD, str(error)))
        return None


def _python() -> Finding:
    return Finding("python", Mark.GOOD, ".".join(map(str, sys.version_info[:3])))


def _git() -> Finding:
    program = shutil.which("git")
    if program is None:
        return Finding("git", Mark.BAD, "not found; install it: apt install git")
    ran = subprocess.run([program, "version"], capture_output=True, text=True, check=False)  # noqa: S603
    shown = ran.stdout.split()
    version = shown[2] if len(shown) > 2 else "unknown"  # noqa: PLR2004 - "git version 2.39.5"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < GIT_OLDEST:
        return Finding("git", Mark.BAD, f"{version}; install {'.'.join(map(str, GIT_OLDEST))} or newer")
    return Finding("git", Mark.GOOD, version)


def _extras(extras: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    found = []
    for extra, modules in extras.items():
        absent = [module for module in modules if importlib.util.find_spec(module) is None]
        missing = f"pip install 'webordinary[{extra}]' ({', '.join(absent)} not found)"
        found.append(
            Finding(f"[{extra}]", Mark.BAD if absent else Mark.GOOD, missing if absent else "installed")
        )
    return found


def _home(settings: Settings) -> Finding:
    home = settings.home
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    if not os.access(there, os.W_OK):
        return Finding("home", Mark.BAD, f"{home} can't be written to; choose another --home")
    free = shutil.disk_usage(there).free
    if free < FREE_BYTES_LOW:
        return Finding("home", Mark.MISSING, f"{home}: only {free >> 20} MB free; make room")
    return Finding("home", Mark.GOOD, f"{home}, {free >> 30} GB free")


def _store(settings: Settings) -> Finding:
    if not store_path(settings.home).exists():
        return Finding("store", Mark.GOOD, "none yet; the first start makes one")
    return _tried("store", lambda: _open(settings))


def _open(settings: Settings) -> str:
    with open_context(settings, create=False) as context:
        counts = asyncio.run(context.backend.ledger.counts())
        return f"opens, and its schema is known; {sum(counts.values())} jobs"


def _agent(settings: Settings) -> Finding:
    name, why = chosen_agent(settings.work)
    return Finding("agent", Mark.GOOD, f"{name}: {why}")


def _sandbox(settings: Settings) -> Finding:
    work = settings.work
    if work.sandbox == SANDBOX_OFF:
        return Finding("sandbox", Mark.MISSING, "off: every sender is trusted with this machine")
    try:
        probe(choose_sandbox(work.sandbox))
    except SandboxUnavailable as error:
        needed = chosen_agent(work)[0] != "demo"
        note = "" if needed else " (the demo agent needs none; builds and other agents do)"
        return Finding("sandbox", Mark.BAD if needed else Mark.MISSING, f"{error}{note}")
    return Finding("sandbox", Mark.GOOD, "Bubblewrap works")


def _pictures(settings: Settings) -> Finding:
    missing = why_no_camera()
    wanted = settings.work.browser
    if missing is None:
        return Finding("pictures", Mark.GOOD, "on" if wanted else "possible: [work] browser = true")
    return Finding("pictures", Mark.BAD if wanted else Mark.MISSING, missing)


def _mail_in(settings: Settings) -> Finding:
    """Every door that mail comes in by."""
    service = platform_of(settings).traits.mail_service
    if service:
        return Finding("mail in", Mark.GOOD, service)
    return _tried("mail in", partial(_doors, settings.mail))


def _doors(mail: MailSettings) -> str:
    doors = [f"{'LMTP' if mail.lmtp else 'SMTP'} at {mail.smtp_host}:{mail.smtp_port}"]
    doors += ["a mailbox by IMAP"] if mail.imap else []
    names = service_names(mail)
    if names:
        open_mail_services(mail)
        doors.append(f"{', '.join(names)} at http://{mail.inbound_host}:{mail.inbound_port}/inbound")
    return "; ".join(doors)


def _mailbox(settings: Settings) -> list[Finding]:
    """Whether the mailbox lets us in."""
    if not settings.mail.imap:
        return []

    def tried() -> str:
        from webordinary.mail.imap.connection import probe
        from webordinary.wiring.mail import imap_account

        account = imap_account(settings.mail)
        assert account is not None
        return probe(account)

    return [_tried("mailbox", tried)]


def _mail_out(settings: Settings) -> Finding:
    """How replies leave, and whether they are signed."""
    mail, service = settings.mail, platform_of(settings).traits.mail_service
    if not mail.relay and not service:
        return Finding("mail out", Mark.GOOD, "replies stay in the outbox folder; [mail] relay sends them")
    if not mail.dkim_key:
        by = "the relay" if mail.relay else service
        return Finding("mail out", Mark.GOOD, f"{by}; to sign with DKIM: [mail] dkim_selector and dkim_key")
    return _tried("mail out", partial(_record, mail))


def _record(mail: MailSettings) -> str:
    from webordinary.wiring.mail import dkim_signer

    signer = dkim_signer(mail)
    assert signer is not None
    return f"replies are signed with DKIM; publish {signer.record_name} TXT {signer.record}"


def _ports(settings: Settings) -> list[Finding]:
    if running(settings.home) is not None:
        return [Finding("ports", Mark.GOOD, "it is up already")]
    mail = settings.mail
    services = [("mail services", "inbound_port", mail.inbound_port)] if service_names(mail) else []
    wanted = (("mail", "--smtp-port", mail.smtp_port), *services, *PORTS)
    return [_tried("ports", partial(_free, *one)) for one in wanted]


def _free(what: str, flag: str, port: int) -> str:
    return f"{free_port(port, what, flag)} is free for {what}"


def _cloud(settings: Settings) -> list[Finding]:
    """What a pool needs there. Mail comes in and sites are served without a process of ours."""
    from webordinary.operations.cloud_checks import check_all

    try:
        checks = asyncio.run(check_all(settings))
    except WebordinaryError as error:
        return [Finding("cloud", Mark.BAD, str(error))]
    return [
        Finding(one.what, Mark.GOOD if one.good else Mark.BAD if one.needed else Mark.MISSING, one.text)
        for one in checks
    ]


def _tried(what: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(what, Mark.GOOD, check())
    except WebordinaryError as error:
        return Finding(what, Mark.BAD, str(error))
