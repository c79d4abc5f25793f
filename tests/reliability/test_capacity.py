"""Ten projects with ten users each: three generic workers instead of a hundred, shown by running it.

A made-up day on virtual time, so its seconds are exact; `capacity.py` says what it is
made of. Half of all visits fall into two rush half-hours.
"""

from __future__ import annotations

import pytest

from tests.reliability.capacity import Plan, rehearse

WAIT_SECONDS_MOST = 10 * 60.0  # for the pool, at the worst moment of the rush; jobs take 1 to 6 minutes
WAIT_SECONDS_MEDIAN = 60.0  # though half of all mail comes in the rush


@pytest.mark.parametrize("seed", range(4))
def test_three_workers_serve_a_hundred_lanes(seed: int) -> None:
    """The claim of the design: about 97 % fewer workers than one for each project+user."""
    day = rehearse(Plan(), seed=seed)
    print(day)
    assert day.jobs > 400
    assert day.fewer_workers >= 0.97
    assert day.wait_seconds_most <= WAIT_SECONDS_MOST
    assert day.wait_seconds_median <= WAIT_SECONDS_MEDIAN
    assert day.utilisation < 0.5


def test_a_pool_that_is_too_small_shows_in_the_waits() -> None:
    """A rehearsal that finds every pool good enough would plan nothing."""
    day = rehearse(Plan(workers=1), seed=0)
    print(day)
    assert day.wait_seconds_most > WAIT_SECONDS_MOST


def test_a_day_can_be_played_again() -> None:
    """Numbers that are quoted must be found again."""
    assert rehearse(Plan(projects=2), seed=7) == rehearse(Plan(projects=2), seed=7)
