"""Claiming, keeping and letting go of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webordinary.backends.sqlite.records import event
from webordinary.backends.sqlite.submitting import DUE_FROM, OPEN, announce, want
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.sqlite.waiting import SINCE, WAITS, OneWaiting, WaitingTables
from webordinary.backends.sqlite.working import hand_back
from webordinary.claim.fairness import FairChoice
from webordinary.claim.rows import Nothing
from webordinary.core.claim import Claim, Claimed, Interrupt, Ownership, Presence, Pulse, WorkerId
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.views import Happening

FORGOTTEN_WORKER_SECONDS = 3600.0


def owner(tx: Tx, lane: Lane) -> Ownership | None:
    """See `Gatekeeper.owner`."""
    row = tx.one(
        "SELECT worker, fence, claimed_at, last_activity, lease_until FROM lanes"
        " WHERE lane = ? AND worker IS NOT NULL AND lease_until > ?",
        (lane.key, tx.now),
    )
    return Ownership(lane, WorkerId(row[0]), *row[1:]) if row else None


def claim(
    tx: Tx, limits: Limits, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
) -> Claimed | Nothing:
    """See `Broker.claim`."""
    spare = [] if room else [claim for claim in idle if _spare(tx, claim)]
    if not room and not spare:
        return Nothing()
    lanes, retry_in = ready_lanes(tx, limits, worker, room or len(spare), only, exchange=not room)
    for given_up, _ in zip(spare, lanes, strict=False):
        _let_go(tx, given_up.lane, Happening.EXCHANGED)
    claims = tuple(_take(tx, limits, lane, worker) for lane in lanes)
    return Claimed(claims, tuple(spare[: len(claims)])) if claims else Nothing(retry_in)


def ready_lanes(
    tx: Tx, limits: Limits, worker: WorkerId, most: int, only: Lane | None, *, exchange: bool
) -> tuple[list[Lane], float]:
    """List the lanes a worker may take now, fairest first; and when there may be more."""
    lease = limits.lease_seconds
    waiting = WaitingTables(tx, lease) if only is None else OneWaiting(tx, lease, only)
    grace = limits.exchange_grace_seconds if exchange else 0.0
    choice = FairChoice(waiting, worker, tx.now, limits, grace=grace)
    return choice.lanes(most), choice.retry_in()


def _spare(tx: Tx, claim: Claim) -> bool:
    """Whether an owner has nothing to do in its lane now, so that it may go in exchange."""
    return (
        tx.one(
            "SELECT 1 FROM lanes WHERE lane = ? AND worker = ? AND fence = ?"
            f" AND ({DUE_FROM} > ? OR NOT EXISTS"
            f" (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN}))",
            (claim.lane.key, claim.worker, claim.fence, tx.now),
        )
        is not None
    )


def _take(tx: Tx, limits: Limits, lane: Lane, worker: WorkerId) -> Claim:
    """Make the worker the lane's owner and consume the claim request: one step."""
    before = tx.one("SELECT worker, fence FROM lanes WHERE lane = ?", (lane.key,))
    assert before is not None
    lost_owner, fence = before[0], before[1] + 1
    tx.do(
        "UPDATE lanes SET worker = ?, last_worker = ?, fence = ?, claimed_at = ?, last_activity = ?,"
        " lease_until = ?, wanted_since = NULL WHERE lane = ?",
        (worker, worker, fence, tx.now, tx.now, tx.now + limits.lease_seconds, lane.key),
    )
    if lost_owner is None:
        event(tx, lane, Happening.CLAIMED)
    else:
        event(tx, lane, Happening.TAKEN_OVER, note=f"the lease of {lost_owner} ran out")
    return Claim(lane, worker, fence)


def keep(tx: Tx, limits: Limits, presence: Presence, claims: Sequence[Claim]) -> Pulse:
    """See `Broker.keep`."""
    _show(tx, presence)
    lost, interrupts = [], []
    for claim in claims:
        renewed = tx.do(
            "UPDATE lanes SET lease_until = ?, wanted_since = NULL"
            " WHERE lane = ? AND worker = ? AND fence = ?",
            (tx.now + limits.lease_seconds, claim.lane.key, claim.worker, claim.fence),
        )
        if not renewed:
            lost.append(claim)
        elif (interrupt := _interrupt(tx, claim)) is not None:
            interrupts.append(interrupt)
    waiting, oldest = pressure(tx)
    return Pulse(tuple(lost), tuple(interrupts), waiting, oldest, _lanes_with_work(tx, presence.worker))


def _lanes_with_work(tx: Tx, worker: WorkerId) -> int:
    row = tx.one(
        "SELECT COUNT(*) FROM lanes WHERE worker = ? AND lease_until > ?"
        f" AND EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN})",
        (worker, tx.now),
    )
    return int(row[0]) if row else 0


def _show(tx: Tx, presence: Presence) -> None:
    if presence.gone:
        tx.do("DELETE FROM workers WHERE worker = ?", (presence.worker,))
        return
    who = (presence.worker, presence.host, presence.pid, presence.slots, presence.since)
    tx.do(
        "INSERT INTO workers (worker, host, pid, slots, since, seen_at, draining)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (worker) DO UPDATE SET seen_at = excluded.seen_at, draining = excluded.draining",
        (*who, tx.now, presence.draining),
    )


def _interrupt(tx: Tx, claim: Claim) -> Interrupt | None:
    row = tx.one(
        "SELECT id, interrupted_by FROM jobs WHERE lane = ? AND finished_at IS NULL"
        " AND state = 'running' AND fence = ? AND interrupted = 1",
        (claim.lane.key, claim.fence),
    )
    return Interrupt(claim.lane, JobId(row[0]), JobId(row[1]) if row[1] else None) if row else None


def pressure(tx: Tx) -> tuple[int, float]:
    """Say how many lanes wait for an owner, and the longest wait in seconds."""
    row = tx.one(f"SELECT COUNT(*), MIN({SINCE}) FROM lanes WHERE {WAITS} AND {SINCE} <= ?", (tx.now,))
    assert row is not None
    return row[0], tx.now - row[1] if row[0] else 0.0


def release(tx: Tx, limits: Limits, claim: Claim) -> None:
    """See `Broker.release`. What was delivered and not settled is handed back."""
    held = tx.one(
        "SELECT 1 FROM lanes WHERE lane = ? AND worker = ? AND fence = ?",
        (claim.lane.key, claim.worker, claim.fence),
    )
    if held:
        hand_back(tx, limits, claim)
        _let_go(tx, claim.lane, Happening.RELEASED)


def evict(tx: Tx, lane: Lane) -> WorkerId | None:
    """Take a lane from whoever holds it; the row and its fence stay."""
    tx.do("UPDATE lanes SET parked_until = NULL, failures = 0 WHERE lane = ?", (lane.key,))
    row = tx.one("SELECT worker FROM lanes WHERE lane = ?", (lane.key,))
    if row is None or row[0] is None:
        announce(tx, lane)
        return None
    _let_go(tx, lane, Happening.EVICTED)
    return WorkerId(row[0])


def _let_go(tx: Tx, lane: Lane, why: Happening) -> None:
    event(tx, lane, why)
    tx.do("UPDATE lanes SET worker = NULL, claimed_at = NULL, lease_until = NULL WHERE lane = ?", (lane.key,))
    announce(tx, lane)


# Lanes of dead owners, found by their leases.
_ABANDONED = f"""
    SELECT lane FROM lanes WHERE worker IS NOT NULL AND lease_until <= :now AND wanted_since IS NULL
        AND EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN})
    LIMIT :most
"""
# The next few lanes with work, found by their jobs: no lane is left out because something else forgot it.
_WITH_WORK = f"""
    WITH RECURSIVE busy (lane) AS (
        SELECT MIN(lane) FROM jobs WHERE {OPEN} AND lane > :after
        UNION ALL SELECT (SELECT MIN(lane) FROM jobs WHERE {OPEN} AND lane > busy.lane)
        FROM busy WHERE busy.lane IS NOT NULL LIMIT :most)
    SELECT lane, worker IS NULL AND wanted_since IS NULL FROM busy JOIN lanes USING (lane)
"""


@dataclass(frozen=True, slots=True)
class Stranded:
    """Lanes with work that have neither a live owner nor a claim request, and how far was looked."""

    lanes: tuple[str, ...]
    looked_to: str  # "" once all were looked at


def stranded_lanes(tx: Tx, limits: Limits, after: str) -> Stranded:
    """Look for stranded lanes: at all whose owner died, and at the next few with work behind `after`."""
    most = limits.sweep_lanes_max
    abandoned = [row[0] for row in tx.all(_ABANDONED, {"now": tx.now, "most": most})]
    busy = tx.all(_WITH_WORK, {"after": after, "most": most})
    forgotten = [lane for lane, is_stranded in busy if is_stranded]
    looked_to = busy[-1][0] if len(busy) == most else ""
    return Stranded(tuple(dict.fromkeys([*abandoned, *forgotten]))[:most], looked_to)


def has_forgotten_workers(tx: Tx) -> bool:
    """Whether there are workers that nobody has heard of for long."""
    return tx.one("SELECT 1 FROM workers WHERE seen_at < ?", (tx.now - FORGOTTEN_WORKER_SECONDS,)) is not None


def sweep(tx: Tx, limits: Limits, after: str) -> int:
    """See `Broker.sweep`."""
    stranded = stranded_lanes(tx, limits, after).lanes
    for lane in stranded:
        want(tx, Lane.from_key(lane))
    tx.do("DELETE FROM workers WHERE seen_at < ?", (tx.now - FORGOTTEN_WORKER_SECONDS,))
    return len(stranded)
