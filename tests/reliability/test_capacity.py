"""Ten projects with ten users each: three generic workers instead of a hundred, shown by running it.

A made-up day on virtual time, so its seconds are exact; `capacity.py` says what it is
made of. Half of all visits fall into two rush half-hours.
"""

from __future__ import annotations

from tests.reliability.capacity import Plan, rehearse

WAIT_SECONDS_MOST = 10 * 60.0  # for the pool, at the worst moment of the rush; jobs take 1 to 6 minutes
# Of a day's median, averaged over days: a few visits more in the rush make 0 s of one day and a minute of
# another, with whatever order of claiming.
WAIT_SECONDS_MEDIAN = 30.0
DAYS = 8


def test_three_workers_serve_a_hundred_lanes() -> None:
    """The claim of the design: about 97 % fewer workers than one for each project+user."""
    days = [rehearse(Plan(), seed=seed) for seed in range(DAYS)]
    print(*days, sep="\n")
    for day in days:
        assert day.jobs > 400
        assert day.fewer_workers >= 0.97
        assert day.wait_seconds_most <= WAIT_SECONDS_MOST
        assert day.utilisation < 0.5
    assert sum(day.wait_seconds_median for day in days) / DAYS <= WAIT_SECONDS_MEDIAN


def test_a_pool_that_is_too_small_shows_in_the_waits() -> None:
    """A rehearsal that finds every pool good enough would plan nothing."""
    day = rehearse(Plan(workers=1), seed=0)
    print(day)
    assert day.wait_seconds_most > WAIT_SECONDS_MOST


def test_a_day_can_be_played_again() -> None:
    """Numbers that are quoted must be found again."""
    assert rehearse(Plan(projects=2), seed=7) == rehearse(Plan(projects=2), seed=7)
