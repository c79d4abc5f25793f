"""Settings: flags before the environment, before the home folder's `webordinary.toml`, before defaults."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, unquote, urlsplit

from webordinary.core.addresses import POSTMASTER
from webordinary.core.errors import BadInput
from webordinary.core.limits import Limits
from webordinary.core.signed_addresses import MAILBOX_NAME_CHARACTERS
from webordinary.dispatch.submit import QuotaLimits
from webordinary.wiring.setting_reader import (
    PORT,
    POSITIVE,
    PREFIX,
    URL,
    Like,
    OneOf,
    ProgramWords,
    Variable,
    Within,
    given,
    read_table,
    refuse_unknown,
    settings_of,
)

FILE_NAME = "webordinary.toml"
SLOTS = Within(1, 1000)
HANDLERS = ("site", "echo", "sleep", "command")
EMBEDDED, AWS = "embedded", "aws"
BACKENDS = (EMBEDDED, AWS)
AGENTS = ("auto", "claude", "demo", "command")
SANDBOX_OFF = "off-i-trust-every-sender"
SANDBOXES = ("bubblewrap", SANDBOX_OFF)
# A host name, or an address in brackets.
HOST_NAME = Like(re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Za-z.:]+\]"), "mail.example.com")
REGION = Like(re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII), "us-east-1")
PROJECT = "{project}"
KEY_CHARACTERS = 32
_NOT_SETTINGS = {  # ours, but no values: where the home is, what a job's program gets, how bugs are shown
    f"{PREFIX}{name}" for name in ("HOME", "JOB", "LANE", "ATTEMPT", "DEBUG")
}
_OF_TESTS = f"{PREFIX}TEST_"


@dataclass(frozen=True, slots=True)
class MailSettings:
    """`[mail]`: how mail comes in and goes out."""

    address: str = "edit@localhost"  # the one mailbox, and who replies
    aliases: tuple[str, ...] = ()  # other addresses whose mail is forwarded to us
    smtp_host: str = "127.0.0.1"
    smtp_port: Annotated[int, PORT] = 2525
    tls_certificate: str = ""  # files; both or none
    tls_key: str = ""
    lmtp: bool = False
    ehlo_name: Annotated[str, HOST_NAME] = ""  # our name for other mail servers; "" is the address's domain
    connections_per_address: Annotated[int, Within(1)] = 20  # this machine and an upstream have no limit
    trust_loopback: bool = False  # a local try-out: mail from this machine is from whom it says
    upstream: tuple[str, ...] = ()  # servers before us, by their authserv-ids; *.example.com, microsoft365
    upstream_peers: tuple[str, ...] = ()  # where it connects from
    zone_file: str = ""  # DNS answers for a try-out without a network
    relay: str = field(default="", repr=False)  # smtp://user:password@host:port; "": the outbox folder
    dkim_selector: str = ""  # both or none: replies that leave by a relay are signed
    dkim_key: str = ""  # a file
    dkim_domain: str = ""  # "": that of the address
    imap: str = field(default="", repr=False)  # imaps://user:password@host/INBOX; "" reads no mailbox
    imap_from: Annotated[str, OneOf(("new", "all"))] = "new"  # all: also mail that was there before
    imap_done_folder: str = "Webordinary"  # where mail goes that was received; "" leaves it where it is
    imap_only_addressed: bool = False  # leave mail alone that does not name `address`
    imap_every_seconds: float = 30.0  # where the server does not tell of new mail by itself
    inbound_host: str = "127.0.0.1"  # webhooks of mail services; a proxy before it speaks HTTPS
    inbound_port: Annotated[int, PORT] = 2580
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

    def __post_init__(self) -> None:
        """Refuse what can't be together."""
        name = self.address.rpartition("@")[0]
        if name.lower() == POSTMASTER:
            raise BadInput("[mail] address can't be the postmaster's: mail to the postmaster is kept for you")
        if len(name) > MAILBOX_NAME_CHARACTERS:
            raise BadInput(
                f"[mail] address has more than {MAILBOX_NAME_CHARACTERS} characters before the @:"
                " that leaves no room for the names of conversations behind a plus"
            )
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise BadInput("[mail] tls_certificate and tls_key belong together: set both or none")
        if bool(self.dkim_selector) != bool(self.dkim_key):
            raise BadInput("[mail] dkim_selector and dkim_key belong together: set both or none")

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses that are ours; their plus-addresses are, too."""
        return (self.address, *self.aliases)

    @property
    def domain(self) -> str:
        """The domain of our address."""
        return self.address.rpartition("@")[2]

    @property
    def host_name(self) -> str:
        """What we call ourselves to other mail servers, who connect to us or we to them."""
        return self.ehlo_name or self.domain


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """`[work]`: how sites are edited, built and shown."""

    agent: Annotated[str, OneOf(AGENTS)] = "auto"  # claude if it is installed and has a key, else demo
    command: Annotated[tuple[str, ...], ProgramWords()] = ()  # the program of the command agent
    sandbox: Annotated[str, OneOf(SANDBOXES)] = "bubblewrap"
    workspace: Annotated[str, Variable(("WORKSPACE_PATH",))] = ""  # checkouts; "" is a folder of the home
    disk_gb: Annotated[float, POSITIVE] = 10.0  # what workspaces may take; the coldest make room
    site_address: str = "http://127.0.0.1:8080"  # where people see previews
    model: str = "claude-sonnet-5"  # of the claude agent
    model_url: str = "https://api.anthropic.com"
    budget_usd: Annotated[float, POSITIVE] = 5.0  # of one job
    quiet_seconds: Annotated[float, POSITIVE] = 180.0  # without a word of the agent; then it is stopped
    build_minutes: Annotated[float, POSITIVE] = 10.0
    memory_gb: Annotated[float, POSITIVE] = 4.0  # of an agent or a build
    browser: bool = False  # pictures of changed pages in replies

    def __post_init__(self) -> None:
        """Refuse what can't be together."""
        if self.agent == "command" and not self.command:
            raise BadInput('[work] agent = "command" needs a program: command = ["python3", "edit.py"]')


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """`[cloud]`: where things are in the cloud. Credentials are found by its client, never here."""

    region: Annotated[str, REGION, Variable(("AWS_DEFAULT_REGION", "AWS_REGION"))] = ""
    account: Annotated[str, Variable(("AWS_ACCOUNT_ID",))] = ""
    endpoint: Annotated[str, URL, Variable(("AWS_ENDPOINT_URL",))] = ""  # "": the real cloud
    prefix: str = "webordinary"  # of the names of tables and queues
    ownership_table: Annotated[str, Variable(("OWNERSHIP_TABLE_NAME",))] = ""  # "": by the prefix
    active_jobs_table: Annotated[str, Variable(("ACTIVE_JOBS_TABLE",))] = ""
    unclaimed_queue_url: Annotated[str, URL, Variable(("UNCLAIMED_QUEUE_URL",))] = ""
    mail_bucket: str = ""  # where the mail service puts raw mail
    mail_prefix: str = ""  # S3 key prefix of raw mail
    blobs_bucket: str = ""  # mails, files of mails, agents' sessions, patches
    preview_bucket: str = "edit.{project}"
    live_bucket: str = "{project}"
    preview_address: str = "https://edit.{project}/"  # where people see the two
    live_address: str = "https://{project}/"
    state_machine_arn: str = ""  # "": no execution follows a job; it is carried out all the same
    token_key: str = field(default="", repr=False)  # signs reply addresses; one for all

    def __post_init__(self) -> None:
        """Each project needs places of its own, and a key some length."""
        for name in ("preview_bucket", "live_bucket", "preview_address", "live_address"):
            left = getattr(self, name).replace(PROJECT, "")
            if left == getattr(self, name) or "{" in left or "}" in left:
                raise BadInput(
                    f"[cloud] {name} must hold {PROJECT}, once for all projects, and no other braces"
                )
        if self.token_key and len(self.token_key) < KEY_CHARACTERS:
            raise BadInput(f"[cloud] token_key must have at least {KEY_CHARACTERS} characters")
        if self.preview_bucket == self.live_bucket:
            raise BadInput("[cloud] preview_bucket and live_bucket must differ: a preview is not live yet")

    def bucket(self, name: str) -> str:
        """Give the name of a bucket that has to be set."""
        value: str = getattr(self, name)
        if not value:
            raise BadInput(
                f"the aws backend needs a bucket: set [cloud] {name}, or {PREFIX}CLOUD_{name.upper()}, "
                "to its name"
            )
        return value

    def signing_key(self) -> bytes:
        """Give the key that signs our addresses: whoever reads mail and whoever writes it need the same."""
        if not self.token_key:
            raise BadInput(
                f"the aws backend needs a key that signs reply addresses, the same for all: set "
                f"{PREFIX}CLOUD_TOKEN_KEY from your secrets; `webordinary cloud setup` makes one up"
            )
        return self.token_key.encode()


@dataclass(frozen=True, slots=True)
class Settings:
    """All that can be set, as values."""

    home: Path
    limits: Limits = field(default_factory=Limits)
    slots: Annotated[int, SLOTS] = 4
    handler: Annotated[str | None, OneOf(HANDLERS)] = None  # None: whatever the command takes by default
    command: Annotated[tuple[str, ...], ProgramWords()] = ()
    backend: Annotated[str, OneOf(BACKENDS)] = EMBEDDED  # a file of this machine, or the cloud's services
    mail: MailSettings = field(default_factory=MailSettings)
    work: WorkSettings = field(default_factory=WorkSettings)
    cloud: CloudSettings = field(default_factory=CloudSettings)


TOP = {one.name: one for one in settings_of(Settings)}
LIMITS = tuple(settings_of(Limits, "limits"))
MAIL = tuple(settings_of(MailSettings, "mail", "MAIL_"))
QUOTAS = tuple(settings_of(QuotaLimits, "mail", "MAIL_"))
WORK = tuple(settings_of(WorkSettings, "work", "WORK_"))
CLOUD = tuple(settings_of(CloudSettings, "cloud", "CLOUD_"))
EVERY = (*TOP.values(), *LIMITS, *MAIL, *QUOTAS, *WORK, *CLOUD)


def home_folder(flag: str | None, environment: Mapping[str, str] = os.environ) -> Path:
    """Find the home folder: `--home`, then WEBORDINARY_HOME, then the user's data folder."""
    named = flag or environment.get(f"{PREFIX}HOME")
    if named:
        return Path(named).expanduser().absolute()
    data = environment.get("XDG_DATA_HOME") or "~/.local/share"
    return (Path(data).expanduser() / "webordinary").absolute()


def load(home: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of a home folder. An unknown or senseless one is refused, never ignored."""
    return read(home, read_table(home / FILE_NAME), environment)


def read(home: Path, file: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Read settings out of what the file and the environment say."""
    path = home / FILE_NAME
    ours = [
        name
        for name in environment
        if name.startswith(PREFIX) and not name.startswith(_OF_TESTS) and name not in _NOT_SETTINGS
    ]
    refuse_unknown(EVERY, file, ours, path)
    source = (file, environment, path)
    top = given(TOP.values(), *source)
    is_aws = top.get("backend") == AWS
    if is_aws and importlib.util.find_spec("aiobotocore") is None:
        raise BadInput("the aws backend needs its extra: pip install 'webordinary[aws]'")
    clouds = environment if is_aws else {name: environment[name] for name in ours}  # AWS_... is not for us
    return Settings(
        home,
        Limits(**given(LIMITS, *source)),
        **top,
        mail=MailSettings(**given(MAIL, *source), quotas=QuotaLimits(**given(QUOTAS, *source))),
        work=WorkSettings(**given(WORK, *source)),
        cloud=CloudSettings(**given(CLOUD, file, clouds, path)),
    )


def parsed_url(name: str, text: str, schemes: tuple[str, ...]) -> SplitResult:
    """Read an address of a server; what is wrong is said without the password in it."""
    try:
        url = urlsplit(text)
        port_is_number = url.port is None or url.port > 0
    except ValueError:
        raise BadInput(f"[mail] {name} is not the address of a server") from None
    if url.scheme not in schemes or not url.hostname or not port_is_number:
        raise BadInput(f"[mail] {name} must look like {schemes[0]}://user:password@host:port")
    return url


def credentials(url: SplitResult) -> tuple[str, str]:
    """Take user and password out of an address."""
    return unquote(url.username or ""), unquote(url.password or "")
