"""Bounces: letters that came back are counted an address, each once, until its owner writes again."""

import asyncio

from tests.conformance.world import World
from webordinary.ports.bounces import BOUNCES_KEPT, BOUNCES_TO_MARK

SCOTT, MARY = "scott@example.org", "mary@example.org"


async def test_an_address_is_marked_when_some_letters_in_a_row_came_back(world: World) -> None:
    bounces, start = world.backend.bounces, world.clock.now()
    assert await bounces.of(SCOTT) is None
    for number in range(1, BOUNCES_TO_MARK + 1):
        noted = await bounces.note(SCOTT, f"letter {number}", "5.1.1 no such user")
        assert noted.marked == (number >= BOUNCES_TO_MARK)
        world.clock.advance(60)
    known = await bounces.of(SCOTT)
    assert known is not None
    assert (known.address, known.since, known.reason) == (SCOTT, start, "5.1.1 no such user")
    assert known.letters == ("letter 1", "letter 2", "letter 3")
    assert await bounces.of(MARY) is None


async def test_a_letter_that_is_told_of_twice_counts_once(world: World) -> None:
    """A report may be delivered again, and some servers write two."""
    for _ in range(BOUNCES_TO_MARK):
        noted = await world.backend.bounces.note(SCOTT, "letter 1", "5.1.1")
    assert not noted.marked


async def test_a_mail_from_the_address_ends_it(world: World) -> None:
    bounces = world.backend.bounces
    assert not await bounces.forget(SCOTT)
    for number in range(BOUNCES_TO_MARK):
        await bounces.note(SCOTT, f"letter {number}", "5.2.1")
    assert await bounces.forget(SCOTT)
    assert await bounces.of(SCOTT) is None
    assert await bounces.all(limit=5) == []
    assert not await bounces.forget(SCOTT)
    assert not (await bounces.note(SCOTT, "letter 9", "5.2.1")).marked


async def test_they_are_listed_by_address(world: World) -> None:
    bounces = world.backend.bounces
    await bounces.note(SCOTT, "letter 1", "5.1.1")
    await bounces.note(MARY, "letter 2", "5.2.1 disabled")
    assert [(one.address, one.reason) for one in await bounces.all(limit=5)] == [
        (MARY, "5.2.1 disabled"),
        (SCOTT, "5.1.1"),
    ]
    assert [one.address for one in await bounces.all(limit=1)] == [MARY]


async def test_only_the_latest_are_kept(world: World) -> None:
    for number in range(3 * BOUNCES_KEPT):
        await world.backend.bounces.note(SCOTT, f"letter {number}", "5.1.1")
    known = await world.backend.bounces.of(SCOTT)
    assert known is not None
    assert (len(known.letters), known.letters[-1]) == (BOUNCES_KEPT, f"letter {3 * BOUNCES_KEPT - 1}")


async def test_of_several_that_come_back_at_once_none_is_lost(world: World) -> None:
    bounces = world.backend.bounces
    await asyncio.gather(*(bounces.note(SCOTT, f"letter {number}", "5.1.1") for number in range(5)))
    known = await bounces.of(SCOTT)
    assert known is not None
    assert len(known.letters) == 5


async def test_whatever_a_report_says_can_be_kept(world: World) -> None:
    noted = await world.backend.bounces.note("sc\x00ott\ud800@example.org", "letter\x00", "5.1.1 \ud800")
    assert await world.backend.bounces.all(limit=5) == [noted]
