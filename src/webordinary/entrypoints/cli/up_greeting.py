"""What `up` says when everything runs: what is where, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from urllib.parse import quote, urlencode

from webordinary.core.site import Member
from webordinary.core.waiting import counted
from webordinary.entrypoints.cli.output import BOLD, FAINT, painted, typed
from webordinary.operations.running import LOOPBACK, Running
from webordinary.wiring.embedded import outbox_folder, store_path
from webordinary.wiring.mail_services import service_names
from webordinary.wiring.settings import MailSettings, Settings

SITES_SHOWN = 5
SUBJECT = "My site"
TRY_TEXT = {
    "amelia": "Change the homepage title to Spring Sale",
    "bakery": "Change the homepage title to Fresh every morning",
}


@dataclass(frozen=True, slots=True)
class Greeting:
    """All there is to tell."""

    settings: Settings
    ports: Running
    handler: str
    pids: Mapping[str, int]
    token: str
    members: list[Member]

    @property
    def dashboard(self) -> str:
        """Where to look, with the token that lets one change things."""
        return f"{self.ports.dashboard}?token={self.token}"


def as_json(greeting: Greeting) -> dict[str, object]:
    """For scripts."""
    home = greeting.settings.home
    return {
        "home": str(home),
        "store": str(store_path(home)),
        "handler": greeting.settings.handler,
        "pids": greeting.pids,
        "dashboard": greeting.dashboard,
        **{name: value for name, value in asdict(greeting.ports).items() if name.endswith("port")},
    }


def in_words(greeting: Greeting) -> str:
    """For people."""
    settings, ports = greeting.settings, greeting.ports
    workers = [pid for name, pid in greeting.pids.items() if name.startswith("worker")]
    pool = f"{len(workers)} with {counted(settings.slots, 'slot')} each, {greeting.handler}"
    rows = {
        "dashboard": greeting.dashboard,
        "sites": _sites(greeting),
        "mail": f"SMTP at {LOOPBACK}:{ports.smtp_port}, for {settings.mail.address}",
        **_services(settings.mail),
        "replies": "through the relay" if settings.mail.relay else str(outbox_folder(settings.home)),
        "workers": pool,
        "data": str(settings.home),
    }
    lines = ["", painted("Webordinary is up", BOLD), *(f"  {name:<10}{row}" for name, row in rows.items())]
    return "\n".join([*lines, "", *_next_steps(greeting), "", painted("Ctrl-C stops it.", FAINT), ""])


def _services(mail: MailSettings) -> dict[str, str]:
    names = ", ".join(service_names(mail))
    return {"services": f"{names} at http://{mail.inbound_host}:{mail.inbound_port}/inbound"} if names else {}


def _sites(greeting: Greeting) -> str:
    projects = sorted({member.lane.project for member in greeting.members})
    if not projects:
        return f"{greeting.ports.sites} (none yet)"
    shown = [f"{greeting.ports.sites}{project}/" for project in projects[:SITES_SHOWN]]
    more = len(projects) - SITES_SHOWN
    return "  ".join(shown) + (f"  and {more} more" if more > 0 else "")


def _next_steps(greeting: Greeting) -> list[str]:
    home = greeting.settings.home
    if greeting.settings.handler != "site":
        return [
            "In another terminal:",
            f"  {typed('submit', 'amelia/scott', '5 change the title', '--wait', '30', home=home)}",
            f"  {typed('status', '--watch', home=home)}",
        ]
    if not greeting.members:
        onboard = typed("onboard", "mysite", "--user", "me", "--sender", "me@example.com", home=home)
        return ["Onboard a site in another terminal:", f"  {onboard}"]
    member = greeting.members[0]
    text = TRY_TEXT.get(member.lane.project, "Change the homepage title to Spring Sale")
    return [
        "Send a mail, in another terminal or from the dashboard:",
        f"  {typed('send', '--from', member.address, text, home=home)}",
        f"or with a mail program that sends through {LOOPBACK}:{greeting.ports.smtp_port}, as one of:",
        f"  {', '.join(sorted({member.address for member in greeting.members})[:SITES_SHOWN])}",
        f"  {_mailto(greeting.settings.mail.address, text)}",
        "and watch:",
        f"  {typed('status', '--watch', home=home)}",
    ]


def _mailto(address: str, text: str) -> str:
    """Write a mail as a link (RFC 6068), to click or to paste: mail programs open it ready to be sent."""
    return (
        f"mailto:{quote(address, safe='@')}?{urlencode({'subject': SUBJECT, 'body': text}, quote_via=quote)}"
    )
