"""All ports that one backend keeps, as one value to pass around."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webordinary.ports.admissions import Admissions
from webordinary.ports.blobs import Blobs
from webordinary.ports.bounces import Bounces
from webordinary.ports.broker import Broker, Gatekeeper
from webordinary.ports.checkpoints import Checkpoints
from webordinary.ports.control import Control
from webordinary.ports.directory import Directory
from webordinary.ports.journal import Journal
from webordinary.ports.ledger import Ledger
from webordinary.ports.mailbox import Mailbox
from webordinary.ports.outbox import Outbox
from webordinary.ports.quotas import Quotas


@dataclass(frozen=True, slots=True)
class Backend:
    """Where everything lives, and how to let go of it."""

    broker: Broker
    gatekeeper: Gatekeeper
    ledger: Ledger
    control: Control
    directory: Directory
    mailbox: Mailbox
    outbox: Outbox
    quotas: Quotas
    blobs: Blobs
    admissions: Admissions
    journal: Journal
    checkpoints: Checkpoints
    bounces: Bounces
    close: Callable[[], None]
