"""All ports that one backend keeps, as one value to pass around."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webordinary.ports.broker import Broker, Gatekeeper
from webordinary.ports.control import Control
from webordinary.ports.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Backend:
    """Where everything lives, and how to let go of it."""

    broker: Broker
    gatekeeper: Gatekeeper
    ledger: Ledger
    control: Control
    close: Callable[[], None]
