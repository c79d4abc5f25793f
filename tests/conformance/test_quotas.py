"""Quotas: token buckets that are refilled by the store's clock, all or nothing, each token once."""

import asyncio

import pytest

from tests.conformance.world import World
from webordinary.core.errors import BadLimits
from webordinary.ports.quotas import Bucket, Quotas

SENDER = Bucket("sender scott@example.org", burst=3, per_hour=60)  # one a minute
PROJECT = Bucket("project amelia", burst=5, per_hour=120)
DAY = 24 * 3600.0


@pytest.fixture
def quotas(world: World) -> Quotas:
    return world.backend.quotas


async def spent(world: World, *buckets: Bucket, most: int = 100) -> int:
    """How many can be taken now, each for a mail of its own."""
    for taken in range(most):
        if await world.backend.quotas.spend(buckets, world.clock.unique()) is not None:
            return taken
    return most


async def test_a_bucket_gives_its_burst_and_then_says_that_it_is_empty(world: World) -> None:
    assert await spent(world, SENDER) == 3
    assert await world.backend.quotas.spend([SENDER], "one more") == SENDER


async def test_a_bucket_is_refilled_by_the_stores_clock(world: World) -> None:
    await spent(world, SENDER)
    world.clock.advance(59)
    assert await spent(world, SENDER) == 0
    world.clock.advance(1)
    assert await spent(world, SENDER) == 1
    world.clock.advance(120)
    assert await spent(world, SENDER) == 2


async def test_a_bucket_never_holds_more_than_its_burst(world: World) -> None:
    await spent(world, SENDER)
    world.clock.advance(DAY)
    assert await spent(world, SENDER) == 3


@pytest.mark.parametrize("per_hour", [1, 7, 0.3, 11.1, 1e6])
async def test_what_is_refilled_can_be_taken_at_the_very_moment(world: World, per_hour: float) -> None:
    """Sums of refills are not exact; nobody may wait a whole refill longer for a rounding error."""
    bucket = Bucket("b", burst=2, per_hour=per_hour)
    await spent(world, bucket)
    for _ in range(20):
        world.clock.advance(3600 / per_hour)
        assert await spent(world, bucket, most=1) == 1


async def test_the_same_token_is_taken_once(quotas: Quotas) -> None:
    """A mail that is delivered again after a crash is not charged again."""
    for _ in range(10):
        assert await quotas.spend([SENDER], "mail 1") is None
    assert await quotas.spend([SENDER], "mail 2") is None
    assert await quotas.spend([SENDER], "mail 3") is None
    assert await quotas.spend([SENDER], "mail 4") == SENDER
    assert await quotas.spend([SENDER], "mail 1") is None


async def test_a_token_that_was_refused_was_not_taken(world: World, quotas: Quotas) -> None:
    """Its mail comes again later, and then it counts."""
    await spent(world, SENDER)
    assert await quotas.spend([SENDER], "late") == SENDER
    world.clock.advance(60)
    assert await quotas.spend([SENDER], "late") is None
    assert await spent(world, SENDER) == 0


async def test_a_token_counts_for_each_bucket_by_itself(world: World, quotas: Quotas) -> None:
    """The sender may be charged before anybody knows the project."""
    assert await quotas.spend([SENDER], "mail 1") is None
    assert await quotas.spend([SENDER, PROJECT], "mail 1") is None
    assert await spent(world, SENDER) == 2
    assert await spent(world, PROJECT) == 4


async def test_several_buckets_give_together_or_not_at_all(world: World, quotas: Quotas) -> None:
    """A sender over its own limit must not use up the project's."""
    await spent(world, SENDER)
    for number in range(20):
        assert await quotas.spend([PROJECT, SENDER], f"mail {number}") == SENDER
    assert await spent(world, PROJECT) == 5
    assert await quotas.spend([PROJECT, SENDER], "mail 1") == PROJECT


async def test_buckets_do_not_share(world: World) -> None:
    await spent(world, SENDER)
    assert await spent(world, Bucket("sender tara@example.org", 3, 60)) == 3


async def test_the_same_bucket_twice_in_a_call_is_one(world: World, quotas: Quotas) -> None:
    assert await quotas.spend([SENDER, SENDER], "mail 1") is None
    assert await spent(world, SENDER) == 2


async def test_no_bucket_is_no_limit(quotas: Quotas) -> None:
    assert await quotas.spend([], "mail 1") is None


async def test_of_many_at_once_only_the_burst_gets_through(quotas: Quotas) -> None:
    answers = await asyncio.gather(*(quotas.spend([SENDER], f"mail {number}") for number in range(10)))
    assert answers.count(None) == 3


async def test_of_many_copies_of_a_mail_at_once_one_is_charged(world: World, quotas: Quotas) -> None:
    answers = await asyncio.gather(*(quotas.spend([SENDER], "mail 1") for _ in range(10)))
    assert answers == [None] * 10
    assert await spent(world, SENDER) == 2


async def test_a_limit_that_was_changed_counts_from_now_on(world: World) -> None:
    await spent(world, SENDER)
    assert await spent(world, Bucket(SENDER.key, burst=5, per_hour=60)) == 2
    world.clock.advance(60)
    assert await spent(world, Bucket(SENDER.key, burst=1, per_hour=60)) == 0


@pytest.mark.parametrize("back", [1.0, 3600.0, DAY, 400 * DAY])
async def test_a_clock_that_was_set_back_leaves_in_a_bucket_what_was_in_it(world: World, back: float) -> None:
    """The second mail of the day was too much, because the machine's clock had been ahead."""
    assert await spent(world, SENDER, most=1) == 1
    world.clock.advance(-back)
    assert await spent(world, SENDER) == 2


@pytest.mark.parametrize("back", [3600.0, DAY])
async def test_a_clock_that_was_set_back_gives_nothing_away_and_locks_nobody_out(
    world: World, back: float
) -> None:
    await spent(world, SENDER)
    world.clock.advance(-back)
    assert await spent(world, SENDER) == 0
    world.clock.advance(60)
    assert await spent(world, SENDER) == 1
    world.clock.advance(120)
    assert await spent(world, SENDER) == 2


async def test_a_clock_that_is_set_back_again_and_again_is_no_way_around_a_quota(world: World) -> None:
    taken = 0
    for _ in range(20):
        taken += await spent(world, SENDER)
        world.clock.advance(-DAY)
    assert taken == 3


async def test_two_machines_whose_clocks_differ_are_no_way_around_a_quota(world: World) -> None:
    """Mails alternate between them; what their clocks differ is no time that has passed."""
    taken = 0
    for _ in range(20):
        taken += await spent(world, SENDER, most=1)
        world.clock.advance(-90)
        taken += await spent(world, SENDER, most=1)
        world.clock.advance(90)
    assert taken == 3


async def test_a_token_stays_taken_when_the_clock_is_set_back(world: World, quotas: Quotas) -> None:
    """A mail that is delivered again just then is not charged again."""
    assert await quotas.spend([SENDER], "mail 1") is None
    world.clock.advance(-DAY)
    for _ in range(5):
        assert await quotas.spend([SENDER], "mail 1") is None
    assert await spent(world, SENDER) == 2


async def test_a_name_that_no_store_could_keep_is_no_way_around_a_quota(world: World) -> None:
    """A sender's address is part of a bucket's name, and a mail may say anything."""
    assert await spent(world, Bucket("sender \ud800\x00", 2, 60)) == 2


@pytest.mark.parametrize(("burst", "per_hour"), [(0, 60), (-1, 60), (1, 0), (1, -1)])
def test_a_bucket_that_never_gives_anything_is_refused(burst: int, per_hour: float) -> None:
    with pytest.raises(BadLimits, match="quota"):
        Bucket("b", burst, per_hour)
