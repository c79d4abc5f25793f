"""One row of the spoofing table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from tests.authentication.world import Sent
from webordinary.intake.authenticate import Trust


class StoppedBy(StrEnum):
    """Where a forgery ends. One that ends at reading is refused by authentication as well."""

    READING = "reading"
    AUTHENTICATION = "authentication"
    MEMBERSHIP = "membership"  # it is truly from the address it names, and that one is no member


@dataclass(frozen=True)
class Case:
    """A forgery, why it is refused, and its honest twin: as like it as honest mail can be."""

    name: str
    forgery: Callable[[], Sent]
    twin: Callable[[], Sent]
    reason: str  # words of the reason; for one that ends at membership, the address it is truly from
    number: str = (
        ""  # in the list of "Composition Kills", as its tool espoofer counts them; "" for one of ours
    )
    stopped_by: StoppedBy = StoppedBy.AUTHENTICATION
    weak: bool = False
    trust: Trust = field(default_factory=Trust)
    fools: str = ""  # the library that lets it pass when nothing guards it
    needs: str = ""  # a module that not everybody has
