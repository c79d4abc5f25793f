"""How much mail is too much: per sender, per project and for all, before anything expensive is done."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.lane import Lane
from webordinary.ports.quotas import Bucket

WINDOW_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """Mails at once, and mails an hour."""

    sender_burst: int = 20
    sender_per_hour: float = 60
    project_burst: int = 50
    project_per_hour: float = 200
    global_burst: int = 300
    global_per_hour: float = 2000


def buckets(sender: str, lane: Lane, limits: QuotaLimits) -> tuple[Bucket, ...]:
    """Name what a mail of this sender to this lane takes from."""
    return (
        Bucket(f"sender {sender}", limits.sender_burst, limits.sender_per_hour),
        Bucket(f"project {lane.project}", limits.project_burst, limits.project_per_hour),
        Bucket("everybody", limits.global_burst, limits.global_per_hour),
    )


def window(now: float) -> int:
    """Number the window of a moment: one polite letter a window says that it was too much."""
    return int(now // WINDOW_SECONDS)
