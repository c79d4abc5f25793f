"""What the dashboard is given. Wiring picks the real things; nothing here knows which."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from webordinary.core.limits import Limits
from webordinary.core.mail import Letter
from webordinary.ports.backend import Backend
from webordinary.ports.blobs import Blobs
from webordinary.ports.clock import Clock
from webordinary.ports.publisher import Publisher

Send = Callable[[str, bytes], Awaitable[None]]  # from this address, this mail: it comes in as any other
SentMail = Callable[
    [Letter], Awaitable[bytes | None]
]  # a letter's bytes as they went out; None: not kept here

Kept = Callable[
    [str, str], Awaitable[str]
]  # of this project, this release: where it is seen; "" if it is not kept any more

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything the pages are made of."""

    backend: Backend
    blobs: Blobs
    clock: Clock
    limits: Limits
    publisher: Publisher | None = None
    send: Send | None = None  # None: no try-it box
    sent_mail: SentMail | None = None
    kept: Kept | None = None  # None: where sites are published, no former release is kept
    mail_address: str = "edit@localhost"  # where people write to
    site_address: str = ""  # origin of the sites, e.g. http://127.0.0.1:8080; another one than ours
    hosts: tuple[str, ...] = LOOPBACK_HOSTS  # names we answer to, whatever the port
    look_seconds: float = 0.5  # between two looks at the store, for all open pages together
