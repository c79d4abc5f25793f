"""When a worker lets go of a lane, and how it waits after a failure."""

import pytest

from tests.conformance.world import ManualClock
from webordinary.claim.backoff import FIRST_SECONDS, MOST_SECONDS, Backoff
from webordinary.claim.release_reasons import LetGo, why_let_go
from webordinary.core.claim import Pulse
from webordinary.core.limits import Limits
from webordinary.ports.broker import Recall

LIMITS = Limits(idle_release_seconds=1800, turn_seconds=60, patience_seconds=30)
CALM = Pulse()
PRESSED = Pulse(lanes_waiting=1, longest_wait=30)


def why(*, draining: bool = False, idle: float = 0, turn: float = 0, pulse: Pulse = CALM) -> LetGo | None:
    return why_let_go(draining=draining, idle_seconds=idle, turn_seconds=turn, pulse=pulse, limits=LIMITS)


# --- letting go -------------------------------------------------------------------------------------


def test_an_owner_keeps_its_lane_while_there_is_no_reason_not_to() -> None:
    assert why() is None
    assert why(idle=1799, turn=10_000) is None


def test_a_lane_that_nothing_came_for_is_let_go() -> None:
    assert why(idle=1800) is LetGo.IDLE


def test_a_draining_worker_lets_go_of_everything() -> None:
    assert why(draining=True) is LetGo.DRAINING
    assert why(draining=True, idle=1800) is LetGo.DRAINING


def test_a_lane_gives_way_after_its_turn_when_others_have_waited_too_long() -> None:
    """With many lanes on one worker nobody starves."""
    assert why(turn=60, pulse=PRESSED) is LetGo.TURN_OVER


@pytest.mark.parametrize(
    ("turn", "pulse"),
    [(59, PRESSED), (60, Pulse(lanes_waiting=9, longest_wait=29)), (10_000, CALM)],
    ids=["its turn is not over", "nobody has waited long", "nobody waits"],
)
def test_a_lane_does_not_give_way_for_nothing(turn: float, pulse: Pulse) -> None:
    """Its workspace is warm; moving it has a price."""
    assert why(turn=turn, pulse=pulse) is None


# --- waiting after a failure ------------------------------------------------------------------------


class Noted(ManualClock):
    """Writes down how long it was asked to sleep, and does not."""

    def __init__(self, chance: float) -> None:
        super().__init__()
        self.slept: list[float] = []
        self._chance = chance

    def chance(self) -> float:
        return self._chance

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.999])
async def test_waits_double_up_to_a_bound_and_never_come_all_at_once(chance: float) -> None:
    """A hundred workers whose store came back must not all call in the same instant."""
    clock = Noted(chance)
    backoff = Backoff(clock)
    for _ in range(10):
        await backoff.wait()
    steps = [min(FIRST_SECONDS * 2**number, MOST_SECONDS) for number in range(10)]
    assert clock.slept == pytest.approx([step * (0.5 + chance / 2) for step in steps])
    assert max(clock.slept) <= MOST_SECONDS


async def test_a_success_starts_over_from_the_shortest_wait() -> None:
    clock = Noted(0.5)
    backoff = Backoff(clock)
    await backoff.wait()
    await backoff.wait()
    backoff.succeeded()
    await backoff.wait()
    assert clock.slept[2] == clock.slept[0] < clock.slept[1]


# --- recall -----------------------------------------------------------------------------------------


def test_a_recall_reaches_the_poll_that_attached_last() -> None:
    """A poll attaches anew in each of its rounds; the ears of earlier rounds are closed."""
    heard: list[str] = []
    recall = Recall()
    recall.attach(lambda: heard.append("first round"))
    recall.attach(lambda: heard.append("second round"))
    recall.call()
    assert heard == ["second round"]


def test_a_recall_that_was_called_already_is_heard_at_once() -> None:
    heard: list[str] = []
    recall = Recall()
    recall.call()
    recall.attach(lambda: heard.append("heard"))
    assert heard == ["heard"]
    assert recall.called
