"""Many who want one lane at the same moment: exactly one gets it, whoever asks from wherever.

WEBORDINARY_RACES=400 has them race more often; without the condition of the write the first race shows it.
"""

import asyncio
import os
from collections.abc import Callable

from tests.conformance.world import AMELIA, World
from webordinary.core.claim import WorkerId
from webordinary.core.lane import Lane

ROUNDS = int(os.environ.get("WEBORDINARY_RACES", "40"))
CONTENDERS, TAKEOVERS = 8, max(ROUNDS // 4, 1)


async def test_of_eight_contenders_exactly_one_wins_in_each_round(
    process: Callable[..., World],
) -> None:
    """Each has connections of its own; only the condition of the write stands between them."""
    contenders = [process() for _ in range(CONTENDERS)]
    for number in range(ROUNDS):
        lane = Lane("race", f"u{number}")
        await contenders[0].submit(lane)
        answers = await asyncio.gather(
            *(
                one.broker.claim(WorkerId(f"w{place}"), room=1, wait=0, only=lane)
                for place, one in enumerate(contenders)
            )
        )
        (won,) = [claim for answer in answers for claim in answer.claims]
        owner = await contenders[0].backend.gatekeeper.owner(lane)
        assert owner is not None
        assert (owner.worker, owner.fence) == (won.worker, won.fence) == (won.worker, 1)


async def test_of_eight_who_take_over_a_lost_lane_exactly_one_wins_and_the_fence_grows(
    process: Callable[..., World],
) -> None:
    contenders = [process() for _ in range(CONTENDERS)]
    await contenders[0].start()
    for number in range(TAKEOVERS):
        contenders[0].outlive_the_lease()
        await asyncio.gather(*(one.broker.sweep() for one in contenders))
        answers = await asyncio.gather(
            *(one.claim(WorkerId(f"w{place}")) for place, one in enumerate(contenders))
        )
        (won,) = [claim for answer in answers for claim in answer.claims]
        assert (won.lane, won.fence) == (AMELIA, number + 2)
