"""Claiming, keeping and letting go of lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from webordinary.backends.polling import Nothing
from webordinary.backends.sqlite.records import event
from webordinary.backends.sqlite.submitting import DUE_FROM, OPEN, announce, want
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.sqlite.working import hand_back
from webordinary.core.claim import Claim, Claimed, Interrupt, Ownership, Presence, Pulse, WorkerId
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.views import Happening

FORGOTTEN_WORKER_SECONDS = 3600.0

# Lanes with a claim request, work and no live owner, and from when on :worker may take each.
# The lane's last worker goes first for a moment, if it still takes lanes: its workspace is warm.
_WAITING = f"""
    SELECT lane, project, wanted_since,
        MAX(wanted_since, wanted_from) + CASE
            WHEN last_worker <> :worker AND EXISTS (
                SELECT 1 FROM workers WHERE workers.worker = last_worker AND NOT draining
                AND seen_at + :lease > :now) THEN MAX(:grace, :warm)
            ELSE :grace END AS ready_at
    FROM lanes
    WHERE wanted_since IS NOT NULL AND (:only IS NULL OR lane = :only)
        AND (worker IS NULL OR lease_until <= :now)
        AND EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN})
"""

# Oldest first beyond our patience; before that, projects with the fewest lanes in hand go first.
_FAIREST_FIRST = f"""
    WITH waiting AS ({_WAITING}),
    ready AS (
        SELECT lane, wanted_since, wanted_since <= :now - :patience AS overdue,
            (SELECT COUNT(*) FROM lanes AS held WHERE held.project = waiting.project
                AND held.worker IS NOT NULL AND held.lease_until > :now)
            + ROW_NUMBER() OVER (PARTITION BY project ORDER BY wanted_since, lane) AS rank
        FROM waiting WHERE ready_at <= :now)
    SELECT lane FROM ready
    ORDER BY overdue DESC, CASE WHEN overdue THEN 0 ELSE rank END, wanted_since, lane
    LIMIT :most
"""

_NEXT_READY = f"SELECT MIN(ready_at) FROM ({_WAITING})"


def owner(tx: Tx, lane: Lane) -> Ownership | None:
    """See `Gatekeeper.owner`."""
    row = tx.one(
        "SELECT worker, fence, claimed_at, last_activity, lease_until FROM lanes"
        " WHERE lane = ? AND worker IS NOT NULL AND lease_until > ?",
        (lane.key, tx.now),
    )
    return Ownership(lane, WorkerId(row[0]), *row[1:]) if row else None


def ready_lanes(
    tx: Tx, limits: Limits, worker: WorkerId, room: int, only: Lane | None
) -> tuple[list[str], float]:
    """List the lanes a worker may take now, fairest first; without any, how soon one becomes ready."""
    values: dict[str, object] = {
        "worker": worker,
        "now": tx.now,
        "only": only.key if only else None,
        "lease": limits.lease_seconds,
        "grace": 0.0 if room else limits.exchange_grace_seconds,
        "warm": limits.warm_seconds,
        "patience": limits.patience_seconds,
        "most": max(room, 1),
    }
    if tx.one("SELECT 1 FROM lanes WHERE wanted_since IS NOT NULL LIMIT 1") is None:
        return [], math.inf
    lanes = [row[0] for row in tx.all(_FAIREST_FIRST, values)]
    if lanes:
        return lanes, 0.0
    soonest = tx.one(_NEXT_READY, values)
    return [], soonest[0] - tx.now if soonest and soonest[0] is not None else math.inf


def claim(
    tx: Tx, limits: Limits, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
) -> Claimed | Nothing:
    """See `Broker.claim`."""
    lanes, retry_in = ready_lanes(tx, limits, worker, room, only)
    if not lanes:
        return Nothing(retry_in)
    if room:
        return Claimed(tuple(_take(tx, limits, Lane.from_key(lane), worker) for lane in lanes))
    spare = next((claim for claim in idle if _spare(tx, claim)), None)
    if spare is None:
        return Nothing()
    _let_go(tx, spare.lane, Happening.EXCHANGED)
    return Claimed((_take(tx, limits, Lane.from_key(lanes[0]), worker),), (spare,))


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
            "UPDATE lanes SET lease_until = ? WHERE lane = ? AND worker = ? AND fence = ?",
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
    row = tx.one(
        "SELECT COUNT(*), MIN(MAX(wanted_since, wanted_from)) FROM lanes"
        " WHERE wanted_since IS NOT NULL AND wanted_from <= ? AND (worker IS NULL OR lease_until <= ?)"
        f" AND EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN})",
        (tx.now, tx.now),
    )
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


def stranded_lanes(tx: Tx, limits: Limits) -> list[str]:
    """List lanes with work that have neither a live owner nor a claim request."""
    rows = tx.all(
        f"SELECT DISTINCT lane FROM jobs WHERE {OPEN} AND lane IN"
        " (SELECT lane FROM lanes WHERE wanted_since IS NULL AND (worker IS NULL OR lease_until <= ?))"
        " LIMIT ?",
        (tx.now, limits.sweep_lanes_max),
    )
    return [row[0] for row in rows]


_VAIN = (
    "wanted_since IS NOT NULL AND ((worker IS NOT NULL AND lease_until > ?) OR NOT EXISTS"
    f" (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN}))"
)


def anything_to_sweep(tx: Tx, limits: Limits) -> bool:
    """Look before writing: most sweeps find nothing."""
    return bool(
        stranded_lanes(tx, limits)
        or tx.one(f"SELECT 1 FROM lanes WHERE {_VAIN}", (tx.now,))
        or tx.one("SELECT 1 FROM workers WHERE seen_at < ?", (tx.now - FORGOTTEN_WORKER_SECONDS,))
    )


def sweep(tx: Tx, limits: Limits) -> int:
    """See `Broker.sweep`."""
    stranded = stranded_lanes(tx, limits)
    for lane in stranded:
        want(tx, Lane.from_key(lane))
    tx.do(f"UPDATE lanes SET wanted_since = NULL WHERE {_VAIN}", (tx.now,))
    tx.do("DELETE FROM workers WHERE seen_at < ?", (tx.now - FORGOTTEN_WORKER_SECONDS,))
    return len(stranded)
