"""Why a worker lets go of a lane. Every reason is here."""

from __future__ import annotations

from enum import StrEnum

from webordinary.core.claim import Pulse
from webordinary.core.limits import Limits


class LetGo(StrEnum):
    """Why a lane was given up."""

    IDLE = "nothing came for it in a long while"
    TURN_OVER = "its turn was over and other lanes had waited long enough"
    EXCHANGED = "it was idle and another lane waited"
    DRAINING = "the worker is shutting down"
    LOST = "its lease could not be kept, or somebody else holds it now"


def why_let_go(
    *, draining: bool, idle_seconds: float, turn_seconds: float, pulse: Pulse, limits: Limits
) -> LetGo | None:
    """Say why an owner should let go of its lane between two jobs, if it should.

    The exchange of an idle lane for a waiting one is decided in the store, in one step with the claim.
    """
    if draining:
        return LetGo.DRAINING
    if idle_seconds >= limits.idle_release_seconds:
        return LetGo.IDLE
    if turn_seconds >= limits.turn_seconds and pulse.longest_wait >= limits.patience_seconds:
        return LetGo.TURN_OVER
    return None
