"""Whose queue is whose, and which queues are made again when they are gone."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.aws.test_hints import drained, send
from tests.conformance.world import AMELIA, LONG, W1, World
from tests.waiting import soon, waiting
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.errors import NoQueue
from webordinary.backends.aws.queues import Queues
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done
from webordinary.core.site import Member, Project

NAMES = AwsSettings()
WORD = st.from_regex(r"[a-z0-9]{1,8}|dead|input|unclaimed", fullmatch=True)
LANES = st.builds(
    Lane,
    st.lists(WORD, min_size=1, max_size=3).map("-".join).filter(lambda name: name != "live"),
    WORD,
)


@pytest.fixture
async def line(settings: AwsSettings) -> AsyncIterator[Cloud]:
    opened = Cloud(settings)
    yield opened
    await opened.aclose()


async def exists(line: Cloud, name: str) -> bool:
    try:
        await line.call("sqs", "get_queue_url", QueueName=name)
    except NoQueue:
        return False
    return True


def test_dead_letters_of_one_lane_are_no_input_of_another() -> None:
    """`...-amelia-scott-dead.fifo` was both: whatever died in the one lane ran in the other."""
    scott, dead = Lane("amelia", "scott"), Lane("amelia-scott", "dead")
    assert len({NAMES.input_of(scott), NAMES.dead_of(scott), NAMES.input_of(dead), NAMES.dead_of(dead)}) == 4
    assert NAMES.input_of(scott) == "webordinary-input-amelia-scott.fifo"  # a name that operators have


@given(LANES, LANES)
def test_no_two_queues_share_a_name_and_each_is_read_as_whose_it_is(one: Lane, other: Lane) -> None:
    names = {name for lane in (one, other) for name in (NAMES.input_of(lane), NAMES.dead_of(lane))}
    assert len(names) == (2 if one == other else 4)
    assert NAMES.lane_of(NAMES.input_of(one)) == one == NAMES.lane_of(NAMES.dead_of(one))
    assert NAMES.lane_of(NAMES.unclaimed) is NAMES.lane_of(NAMES.unclaimed_dead) is None


async def test_a_claim_request_for_a_lane_that_nobody_has_makes_no_queues(
    process: Callable[..., World], settings: AwsSettings, line: Cloud
) -> None:
    """Whoever may send requests could fill the account with queues. The next one is heard all the same."""
    here, there = process(), process()
    request = {"type": "CLAIM_REQUEST", "project": "made", "user": "up", "queueUrl": "x"}
    await send(line, settings.unclaimed, json.dumps(request))
    async with waiting(there.broker.claim(W1, room=1, wait=LONG)) as poll:
        await drained(line, settings.unclaimed)
        await here.submit()
        assert [claim.lane for claim in (await soon(poll)).claims] == [AMELIA]
    assert not await exists(line, settings.input_of(Lane("made", "up")))


async def test_queues_of_a_lane_that_was_taken_from_its_owner_stay_away(
    process: Callable[..., World], settings: AwsSettings, line: Cloud
) -> None:
    """As `offboard` does it, while the owner still listens: it has not beaten since."""
    here, there = process(), process()
    delivery = await there.start()
    await there.broker.settle(delivery, Done(), more=False)
    queues = Queues(line, settings, there.clock)
    await queues.create_input(AMELIA)
    async with waiting(there.broker.nudged(W1, wait=LONG)):
        await there.beat(W1, [delivery.claim])
        await here.control.evict(AMELIA)
        await queues.delete_input(AMELIA)
        with pytest.raises(NoQueue):
            await Queues(line, settings, there.clock).receive(settings.input_of(AMELIA), most=1, wait=0)
        await asyncio.sleep(2)  # what listens there has tried again
    assert not await exists(line, settings.input_of(AMELIA))
    assert not await exists(line, settings.dead_of(AMELIA))


async def test_a_deleted_queue_of_a_lane_with_members_is_made_again(
    world: World, settings: AwsSettings, line: Cloud
) -> None:
    await world.backend.directory.add_project(Project("amelia"))
    await world.backend.directory.add_member(Member(AMELIA, "scott@example.com"))
    queues = Queues(line, settings, world.clock)
    await queues.create_input(AMELIA)
    await Queues(line, settings, world.clock).delete_input(AMELIA)
    assert await queues.receive(settings.input_of(AMELIA), most=1, wait=0) == []
    assert await exists(line, settings.input_of(AMELIA))
    assert await exists(line, settings.dead_of(AMELIA))
    await world.backend.directory.remove_project("amelia")
    await Queues(line, settings, world.clock).delete_input(AMELIA)
    with pytest.raises(NoQueue, match="nobody writes to it"):
        await queues.receive(settings.input_of(AMELIA), most=1, wait=0)
