"""Putting mail together: how it is read and believed, where it goes, and how replies leave."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import SplitResult, unquote

from webordinary.core.errors import BadInput
from webordinary.flows.receive import Reception
from webordinary.intake.authenticate import Trust
from webordinary.mail.checks.checks import ChecksWhereNeeded, OriginChecks
from webordinary.mail.checks.resolvers import LiveResolver, ZoneResolver
from webordinary.mail.dkim_signing import DkimSigner, SigningMailer, open_signer
from webordinary.mail.folder_mailer import KeepingMailer
from webordinary.mail.imap.connection import ImapAccount
from webordinary.mail.imap.mailbox import ImapPoller
from webordinary.mail.imap.pace import PollPace
from webordinary.mail.reader import PooledMailReader
from webordinary.mail.smtp.gateway import SmtpListener, is_this_machine
from webordinary.mail.smtp.relay import Encryption, Relay, SmtpRelay
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.mailer import Mailer
from webordinary.ports.resolver import Resolver
from webordinary.reply.compose import Letterhead
from webordinary.reply.sending import Office, Sender
from webordinary.reply.sending_limits import SendingLimits
from webordinary.sites.images import PillowImages
from webordinary.system.clock import SystemClock
from webordinary.system.function_pool import FunctionPool
from webordinary.wiring.embedded import outbox_folder
from webordinary.wiring.platform import platform_of
from webordinary.wiring.settings import MailSettings, Settings, credentials, parsed_url

PORTS = {"smtp": 587, "smtps": 465, "imap": 143, "imaps": 993}


@dataclass(frozen=True, slots=True)
class MailRoom:
    """Everything the gateway needs."""

    listening: SmtpListener
    reception: Reception
    sender: Sender
    replies_to: str
    imap: ImapPoller | None
    close: Callable[[], Awaitable[None]]


def open_mail_room(
    settings: Settings, backend: Backend, *, port: int | None = None, trust_loopback: bool | None = None
) -> MailRoom:
    """Open the mail room of a home folder. Flags go before settings."""
    mail = settings.mail
    if port is not None:
        mail = replace(mail, smtp_port=port)
    if trust_loopback is not None:
        mail = replace(mail, trust_loopback=trust_loopback)
    clock, platform = SystemClock(), platform_of(settings)
    key = platform.signing_key()
    trust = Trust(mail.upstream, mail.upstream_peers, mail.trust_loopback, mail.addresses)
    checks = OriginChecks(_resolver(mail), clock)
    pool = FunctionPool(processes=2)  # a large picture holds up nobody's words
    reception = Reception(
        backend=backend,
        reader=PooledMailReader(pool, (mail.domain,)),
        checks=ChecksWhereNeeded(checks, lambda peer: trust.is_local(peer) and not trust.is_upstream(peer)),
        images=PillowImages(pool),
        clock=clock,
        trust=trust,
        quotas=mail.quotas,
        token_key=key,
        workflow=platform.workflow(),
        letters=platform.letters(),
    )
    mailer, replies_to = _mailer(mail, settings)
    office = Office(
        outbox=backend.outbox,
        mailbox=backend.mailbox,
        ledger=backend.ledger,
        quotas=backend.quotas,
        bounces=backend.bounces,
        mailer=mailer,
        clock=clock,
        letterhead=Letterhead(mail.address, key),
        blobs=backend.blobs,
        limits=SendingLimits(
            hold_seconds=3 * mail.send_seconds,
            send_seconds=mail.send_seconds,
            replies_per_hour=mail.replies_per_hour,
            letters_per_hour=mail.letters_per_hour,
            unasked_letters_per_hour=mail.unasked_letters_per_hour,
            stranger_letters_per_hour=mail.stranger_letters_per_hour,
        ),
    )

    async def close() -> None:
        checks.close()
        await pool.close()

    return MailRoom(
        listening=_listening(mail, trust, settings.home),
        reception=reception,
        sender=Sender(office, f"gateway {clock.unique()[-6:]}"),
        replies_to=replies_to,
        imap=_imap(mail, reception, clock),
        close=close,
    )


def _listening(mail: MailSettings, trust: Trust, home: Path) -> SmtpListener:
    tls = None
    if mail.tls_certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            tls.load_cert_chain(mail.tls_certificate, mail.tls_key)
        except OSError as error:
            raise BadInput(f"the certificate {mail.tls_certificate} can't be used: {error}") from error
    return SmtpListener(
        host=mail.smtp_host,
        port=mail.smtp_port,
        hostname=mail.host_name,
        address=mail.address,
        aliases=mail.aliases,
        tls=tls,
        lmtp=mail.lmtp,
        connections_per_address=mail.connections_per_address,
        is_known=lambda peer: is_this_machine(peer) or trust.is_upstream(peer),
        spool_folder=home,
    )


def _resolver(mail: MailSettings) -> Resolver:
    if not mail.zone_file:
        return LiveResolver()
    try:
        return ZoneResolver(Path(mail.zone_file).read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{mail.zone_file} can't be read: {error.strerror}") from error


def _mailer(mail: MailSettings, settings: Settings) -> tuple[Mailer, str]:
    platform = platform_of(settings)
    letters = platform.letters()
    if not mail.relay:
        service = platform.mailer()
        if service is None:
            return letters, str(outbox_folder(settings.home))
        return KeepingMailer(_signing(service, mail), letters), platform.traits.mail_service
    url = parsed_url("relay", mail.relay, ("smtp", "smtps"))
    user, password = credentials(url)
    relay = Relay(
        host=url.hostname or "",
        port=url.port or PORTS[url.scheme],
        sender=mail.address,
        encryption=Encryption.TLS if url.scheme == "smtps" else _plain(url),
        username=user,
        password=password,
        hostname=mail.host_name,
    )
    return KeepingMailer(_signing(SmtpRelay(relay), mail), letters), f"{relay.host}:{relay.port}"


def dkim_signer(mail: MailSettings) -> DkimSigner | None:
    """Who signs our letters, if anybody does; `BadInput` for a key that can't."""
    if not mail.dkim_key:
        return None
    domain = mail.dkim_domain or mail.domain
    return open_signer(mail.dkim_selector, domain, Path(mail.dkim_key))


def _signing(mailer: Mailer, mail: MailSettings) -> Mailer:
    signer = dkim_signer(mail)
    return SigningMailer(mailer, signer) if signer else mailer


def _imap(mail: MailSettings, reception: Reception, clock: Clock) -> ImapPoller | None:
    account = imap_account(mail)
    if account is None:
        return None
    checkpoints, pace = reception.backend.checkpoints, PollPace(look=max(mail.imap_every_seconds, 1.0))
    return ImapPoller(account, reception, mail.addresses, checkpoints, clock, pace)


def imap_account(mail: MailSettings) -> ImapAccount | None:
    """The mailbox that is read; None if there is none."""
    if not mail.imap:
        return None
    url = parsed_url("imap", mail.imap, ("imaps", "imap"))
    user, password = credentials(url)
    folder = unquote(url.path.strip("/")) or "INBOX"
    if mail.imap_done_folder.lower() == folder.lower():
        raise BadInput(f"[mail] imap_done_folder can't be {folder}: that is the folder that is read")
    return ImapAccount(
        host=url.hostname or "",
        user=user,
        password=password,
        port=url.port or PORTS[url.scheme],
        folder=folder,
        done_folder=mail.imap_done_folder,
        encryption=Encryption.TLS if url.scheme == "imaps" else _plain(url),
        take_all=mail.imap_from == "all",
        only_addressed=mail.imap_only_addressed,
    )


def _plain(url: SplitResult) -> Encryption:
    """On this machine a password may go in the clear, nowhere else."""
    return Encryption.NONE if url.hostname in {"localhost", "127.0.0.1", "::1"} else Encryption.STARTTLS
