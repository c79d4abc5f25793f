"""Which mail services may hand mail over: those whose secret is set. Their packages are loaded only then."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from webordinary.core.errors import BadInput
from webordinary.flows.receive import Reception
from webordinary.mail.services.delivery import MailService
from webordinary.wiring.settings import MailSettings

if TYPE_CHECKING:  # the web server behind it is loaded only where it is needed
    from webordinary.mail.services.endpoint import InboundDoor

SECRET_CHARACTERS_MIN = 16  # of a secret that the operator makes up


def open_inbound_door(
    mail: MailSettings, reception: Reception, port: int | None, spool_folder: Path | None = None
) -> InboundDoor | None:
    """Open the door for mail services, if one is set up. A flag's port goes before the settings'."""
    if not service_names(mail):
        return None
    services = open_mail_services(mail)
    from webordinary.mail.services.endpoint import InboundDoor, InboundListening

    if port is None:
        port = mail.inbound_port
    where = InboundListening(mail.inbound_host, port, mail.addresses, spool_folder)
    receive = partial(reception.receive, may_come_again=True)
    return InboundDoor(where, services, receive, reception.backend.quotas, reception.clock)


def open_mail_services(mail: MailSettings) -> tuple[MailService, ...]:
    """Open the services that are set up."""
    try:
        return tuple(_open(name, mail) for name in service_names(mail))
    except ImportError as error:
        raise BadInput(
            f"mail services need a package that is not installed here ({error.name}). "
            "Install it: pip install 'webordinary[inbound]'"
        ) from error


def service_names(mail: MailSettings) -> tuple[str, ...]:
    """Name the services that are set up."""
    secrets = {
        "mailgun": mail.inbound_mailgun_key,
        "postmark": mail.inbound_postmark_password,
        "sendgrid": mail.inbound_sendgrid_key,
        "resend": mail.inbound_resend_secret,
        "cloudflare": mail.inbound_cloudflare_secret,
    }
    return tuple(name for name, secret in secrets.items() if secret)


def _open(name: str, mail: MailSettings) -> MailService:
    match name:
        case "mailgun":
            from webordinary.mail.services.mailgun import Mailgun

            return Mailgun(mail.inbound_mailgun_key.encode())
        case "postmark":
            from webordinary.mail.services.postmark import Postmark

            return Postmark(_made_up("inbound_postmark_password", mail.inbound_postmark_password))
        case "sendgrid":
            from webordinary.mail.services.sendgrid import SendGrid, verification_key

            return SendGrid(verification_key(mail.inbound_sendgrid_key))
        case "resend":
            from webordinary.mail.services.resend import Resend, ResendApi, webhook_secret

            _check_resend_api(mail)
            api = ResendApi(mail.inbound_resend_api, mail.inbound_resend_api_key)
            return Resend(webhook_secret(mail.inbound_resend_secret), api)
        case _:
            from webordinary.mail.services.cloudflare import Cloudflare

            return Cloudflare(_made_up("inbound_cloudflare_secret", mail.inbound_cloudflare_secret))


def _check_resend_api(mail: MailSettings) -> None:
    if not mail.inbound_resend_api_key:
        raise BadInput("[mail] inbound_resend_secret needs inbound_resend_api_key too, to fetch mails with")
    api = urlsplit(mail.inbound_resend_api)
    if api.scheme != "https" and api.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise BadInput("[mail] inbound_resend_api must begin with https://")


def _made_up(name: str, secret: str) -> bytes:
    """Check a secret of the operator's own making."""
    if len(secret) < SECRET_CHARACTERS_MIN:
        raise BadInput(f"[mail] {name} needs at least {SECRET_CHARACTERS_MIN} characters")
    return secret.encode()
