"""The arithmetic of token buckets, whatever the clock does."""

from hypothesis import given
from hypothesis import strategies as st

from webordinary.backends.quota import Level, level, take_one
from webordinary.core.lane import Lane
from webordinary.dispatch.submit import QuotaLimits, buckets
from webordinary.ports.quotas import Bucket

BUCKET = Bucket("b", burst=5, per_hour=60)  # one a minute
STEPS = st.floats(min_value=-1e7, max_value=1e7, allow_nan=False).map(lambda step: round(step, 3))


def test_a_sender_shares_nothing_with_others_of_a_lane_and_has_one_bucket_for_all_lanes() -> None:
    """Who writes too much must not silence somebody else, nor write more by writing to more sites."""
    shop, blog, limits = Lane("shop", "amelia"), Lane("blog", "amelia"), QuotaLimits()
    of_amelia, of_ben = buckets("amelia@x.example", shop, limits), buckets("ben@x.example", shop, limits)
    elsewhere = buckets("amelia@x.example", blog, limits)
    assert of_amelia[0] == elsewhere[0] != of_ben[0]
    assert of_amelia[1] == of_ben[1] != elsewhere[1]
    assert of_amelia[2] == of_ben[2] == elsewhere[2]


def taken(steps: list[tuple[float, int]]) -> list[int]:
    """How many could be taken after each step of the clock, of so many that were asked for."""
    known: Level | None = None
    now, counts = 1_800_000_000.0, []
    for step, asked in steps:
        now, count = now + step, 0
        for _ in range(asked):
            found = level(BUCKET, known, now)
            after = take_one(BUCKET, found)
            known, count = after or found, count + (after is not None)
        counts.append(count)
    return counts


@given(st.lists(st.tuples(STEPS, st.integers(0, 12)), max_size=12))
def test_a_bucket_gives_its_burst_and_what_time_refilled_and_never_more(
    steps: list[tuple[float, int]],
) -> None:
    """A step back is no time that has passed."""
    passed = sum(max(step, 0.0) for step, _ in steps)
    assert sum(taken(steps)) <= BUCKET.burst + passed / BUCKET.seconds_each + 1


@given(st.lists(STEPS, max_size=12))
def test_whoever_takes_no_more_than_the_burst_is_never_refused(steps: list[float]) -> None:
    """However the clock is set meanwhile."""
    assert all(taken([(step, 1) for step in steps[: BUCKET.burst]]))


@given(st.lists(STEPS, max_size=8))
def test_nobody_is_locked_out(steps: list[float]) -> None:
    """After any history an hour of patience, with a clock that goes right, is enough."""
    drained = [(step, 2 * BUCKET.burst) for step in steps]
    for wait in (3600.0, 3600.0):
        drained.append((wait, 2 * BUCKET.burst))
        assert taken(drained)[-1] >= BUCKET.burst
