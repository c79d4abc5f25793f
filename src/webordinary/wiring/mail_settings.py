"""Settings of mail: the `[mail]` table of webordinary.toml, and WEBORDINARY_MAIL_... in the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from webordinary.core.addresses import POSTMASTER
from webordinary.core.errors import BadInput
from webordinary.core.session_token import MAILBOX_NAME_CHARACTERS
from webordinary.dispatch.quota import QuotaLimits

PREFIX = "WEBORDINARY_MAIL_"
HOST_NAME = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Za-z.:]+\]")  # or an address in brackets


@dataclass(frozen=True, slots=True)
class MailSettings:
    """How mail comes in and goes out."""

    address: str = "edit@localhost"  # the one mailbox, and who replies
    aliases: tuple[str, ...] = ()  # other addresses whose mail is forwarded to us
    smtp_host: str = "127.0.0.1"
    smtp_port: int = 2525
    tls_certificate: str = ""  # files; both or none
    tls_key: str = ""
    lmtp: bool = False
    ehlo_name: str = ""  # what we call ourselves to other mail servers; "" is the domain of the address
    connections_per_address: int = 20  # at a time; this machine and an upstream have no limit
    trust_loopback: bool = False  # a local try-out: mail from this machine is from whom it says
    upstream: tuple[str, ...] = ()  # servers before us, by their authserv-ids; *.example.com, microsoft365
    upstream_peers: tuple[str, ...] = ()  # where it connects from
    zone_file: str = ""  # DNS answers for a try-out without a network
    relay: str = ""  # smtp://user:password@host:port, smtps://...; "" writes replies into the outbox folder
    dkim_selector: str = ""  # both or none: replies that leave by a relay are signed
    dkim_key: str = ""  # a file
    dkim_domain: str = ""  # "": that of the address
    imap: str = field(default="", repr=False)  # imaps://user:password@host/INBOX; "" reads no mailbox
    imap_from: str = "new"  # or "all": also mail that was there before
    imap_done_folder: str = "Webordinary"  # where mail goes that was received; "" leaves it where it is
    imap_only_addressed: bool = False  # leave mail alone that does not name `address`
    imap_every_seconds: float = 30.0  # where the server does not tell of new mail by itself
    inbound_host: str = "127.0.0.1"  # the door for mail services; a proxy before it speaks HTTPS
    inbound_port: int = 2580
    inbound_mailgun_key: str = field(default="", repr=False)  # a service without its secret is not served
    inbound_postmark_password: str = field(default="", repr=False)
    inbound_sendgrid_key: str = ""  # a public one
    inbound_resend_secret: str = field(default="", repr=False)
    inbound_resend_api_key: str = field(default="", repr=False)
    inbound_resend_api: str = "https://api.resend.com"
    inbound_cloudflare_secret: str = field(default="", repr=False)
    replies_per_hour: int = 30  # in one conversation
    letters_per_hour: int = 60  # to one address
    unasked_letters_per_hour: int = 5  # to one address, of those that a forger can cause
    stranger_letters_per_hour: int = 100  # to all strangers together
    send_seconds: float = 60.0  # to hand a reply over; after a crash its letter waits three times that
    quotas: QuotaLimits = field(default_factory=QuotaLimits)

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses that are ours; their plus-addresses are, too."""
        return (self.address, *self.aliases)

    @property
    def host_name(self) -> str:
        """What we call ourselves to other mail servers, who connect to us or we to them."""
        return self.ehlo_name or self.address.rpartition("@")[2]


_QUOTAS = {one.name: one for one in fields(QuotaLimits)}
NAMES = tuple(one.name for one in fields(MailSettings) if one.name != "quotas") + tuple(_QUOTAS)


def read_mail(table: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> MailSettings:
    """Read the settings; the environment goes before the file."""
    given: dict[str, object] = dict(table)
    for name in NAMES:
        text = environment.get(f"{PREFIX}{name.upper()}")
        if text is not None:
            given[name] = text
    settings = MailSettings()
    quotas: dict[str, Any] = {name: _number(name, given[name]) for name in _QUOTAS if name in given}
    bursts = {name: int(value) for name, value in quotas.items() if name.endswith("burst")}
    values: dict[str, Any] = {
        name: _value(settings, name, given[name]) for name in given if name not in _QUOTAS
    }
    found = replace(settings, **values, quotas=replace(settings.quotas, **quotas | bursts))
    if not HOST_NAME.fullmatch(found.ehlo_name or "localhost"):
        raise BadInput(
            f"[mail] ehlo_name must be a host name such as mail.example.com, not {found.ehlo_name!r}"
        )
    if found.address.lower().partition("@")[0] == POSTMASTER:
        raise BadInput("[mail] address can't be the postmaster's: mail to the postmaster is kept for you")
    if len(found.address.rpartition("@")[0]) > MAILBOX_NAME_CHARACTERS:
        raise BadInput(
            f"[mail] address has more than {MAILBOX_NAME_CHARACTERS} characters before the @:"
            " that leaves no room for the names of conversations behind a plus"
        )
    if found.connections_per_address < 1:
        raise BadInput("[mail] connections_per_address must be at least 1")
    if bool(found.tls_certificate) != bool(found.tls_key):
        raise BadInput("tls_certificate and tls_key belong together: set both or none")
    if bool(found.dkim_selector) != bool(found.dkim_key):
        raise BadInput("[mail] dkim_selector and dkim_key belong together: set both or none")
    return found


def _value(settings: MailSettings, name: str, value: object) -> object:
    """Bring a value to the type of its default."""
    default = getattr(settings, name)
    if isinstance(default, bool):
        return _flag(name, value)
    if isinstance(default, int | float):
        return type(default)(_number(name, value))
    if isinstance(default, tuple):
        items = value.split(",") if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return tuple(item.strip() for item in items if item.strip())
        raise BadInput(f"[mail] {name} must be a list of texts")
    if not isinstance(value, str):
        raise BadInput(f"[mail] {name} must be a text, not {value!r}")
    return value


def _flag(name: str, value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() in words:
        return words[str(value).lower()]
    raise BadInput(f"[mail] {name} must be true or false, not {value!r}")


def _number(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        raise BadInput(f"[mail] {name} must be a number, not {value!r}")
    return number


def parsed_url(name: str, text: str, schemes: tuple[str, ...]) -> SplitResult:
    """Read an address of a server; what is wrong is said without the password in it."""
    try:
        url = urlsplit(text)
        port_is_number = url.port is None or url.port > 0
    except ValueError:
        raise BadInput(f"[mail] {name} is no address of a server") from None
    if url.scheme not in schemes or not url.hostname or not port_is_number:
        raise BadInput(f"[mail] {name} must look like {schemes[0]}://user:password@host:port")
    return url


def credentials(url: SplitResult) -> tuple[str, str]:
    """Take user and password out of an address."""
    return unquote(url.username or ""), unquote(url.password or "")
