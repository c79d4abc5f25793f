"""Changing a lane: read it, let the rules work on it, and write it back if nobody was quicker; else again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from webordinary.backends.aws.changes import Changes, changes_of
from webordinary.backends.aws.dynamo import Dynamo, Key, new_token
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.hints import Hints
from webordinary.backends.aws.model import Model
from webordinary.backends.aws.rows import JOB, job_key, lane_key
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.texts import instructions
from webordinary.backends.aws.values import Item
from webordinary.backends.loading import Needs
from webordinary.core.errors import BackendUnavailable
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import LetterKind
from webordinary.ports.clock import Clock

T = TypeVar("T")
Verb = Callable[[Model], T]
Also = Mapping[str, Sequence[Key]]  # items of other tables, by table

LOOKS = 5  # at a lane that changes while it is read
ATTEMPTS = 60  # of those who change one lane at the same moment one always gets through
PAUSE_SECONDS, PAUSE_MOST_SECONDS = 0.005, 0.25


class Lanes:
    """Lanes in tables. A lane changes as a whole, and only from the very state that was read."""

    def __init__(
        self, dynamo: Dynamo, settings: AwsSettings, limits: Limits, clock: Clock, hints: Hints
    ) -> None:
        """Change the lanes of an account."""
        self.dynamo, self.settings, self.limits, self.clock = dynamo, settings, limits, clock
        self._hints = hints
        self._turns: dict[Lane, _Turn] = {}

    async def change(self, needs: Needs, verb: Verb[T], also: Also | None = None) -> T:
        """Carry out a verb. What it raises leaves no trace; what it says is true when this comes back."""
        async with self._one_at_a_time(needs.lanes):
            tried: _Tried[T] | None = None
            owed_before: set[tuple[str, LetterKind]] = set()
            for attempt in range(ATTEMPTS):
                model = await self.read(needs, also)
                if tried is not None and tried.was_written(model):
                    await self._hints.announce(tried.model, tried.made)
                    return tried.answer
                model.letters_known |= owed_before
                answer, token = verb(model), new_token()
                made = changes_of(model, list(model.lanes), self.settings, self.clock, token)
                try:
                    await self.write(model, made, token)
                    return answer
                except ChangedMeanwhile as refused:
                    tried = _Tried(model, made, token, answer)
                    owed_before |= {made.letters[place] for place in refused.failed if place in made.letters}
                await self.pause(attempt)
        names = ", ".join(str(lane) for lane in needs.lanes)
        raise BackendUnavailable(f"others kept changing {names}; nothing was stored, try again")

    async def read(self, needs: Needs, also: Also | None = None) -> Model:
        """Read lanes and their jobs as they were at one moment.

        Lanes come first, so a job is never older than its lane; where it is newer, somebody changed both
        meanwhile, and they are read again. Who keeps being overtaken goes on: the write's condition decides.
        """
        for _ in range(LOOKS):
            model, is_torn = await self._read_once(needs, also or {})
            if not is_torn:
                break
        return model

    async def _read_once(self, needs: Needs, also: Also) -> tuple[Model, bool]:
        lanes, jobs = self.settings.lanes, self.settings.jobs
        wanted: dict[str, list[Key]] = {lanes: [lane_key(lane) for lane in needs.lanes], jobs: []}
        wanted[jobs] += [job_key(job) for job in needs.jobs]
        for table, keys in also.items():
            wanted.setdefault(table, []).extend(keys)
        found = await self.dynamo.get_many(wanted)
        rows = [item for item in found[jobs] if item["part"] == JOB]
        read = {item["jobId"] for item in rows} | set(needs.jobs)
        further = [job for lane in found[lanes] for job in lane["open"][: needs.open_jobs] if job not in read]
        if further:
            rows += (await self.dynamo.get_many({jobs: [job_key(job) for job in further]}))[jobs]
        keys_read = {lane.key for lane in needs.lanes}
        rows = [item for item in rows if item["lane"] in keys_read]
        model = Model(self.limits, self.clock.now(), self.settings.skew_seconds)
        model.fill(found[lanes], rows, await instructions(self.dynamo, jobs, rows))
        model.found = found
        return model, _is_torn(found[lanes], rows)

    async def write(self, model: Model, made: Changes, token: str) -> None:
        """Write what a verb changed, all or nothing; then tell those who wait for it."""
        if made.writes:
            await self.dynamo.transact(made.writes, token)
        await self._hints.announce(model, made)

    async def pause(self, attempt: int) -> None:
        """Step aside for a moment, longer and longer."""
        most = min(PAUSE_SECONDS * 2**attempt, PAUSE_MOST_SECONDS)
        await self.clock.sleep(most * (0.5 + self.clock.chance()))

    @asynccontextmanager
    async def _one_at_a_time(self, lanes: Sequence[Lane]) -> AsyncIterator[None]:
        """Calls of this process wait for each other here, instead of failing each other there."""
        async with AsyncExitStack() as stack:
            for lane in sorted(set(lanes)):
                turn = self._turns.setdefault(lane, _Turn())
                turn.takers += 1
                stack.callback(self._leave, lane, turn)
                await stack.enter_async_context(turn.lock)
            yield

    def _leave(self, lane: Lane, turn: _Turn) -> None:
        turn.takers -= 1
        if not turn.takers:
            del self._turns[lane]


def _is_torn(lanes: Sequence[Item], jobs: Sequence[Item]) -> bool:
    """Whether a job was read in another state than the one its lane is at. They change together."""
    states = {item["jobId"]: item["state"] for item in jobs}
    return any(
        lane["open"] and states.get(lane["open"][0], lane["headState"]) != lane["headState"] for lane in lanes
    )


@dataclass(slots=True)
class _Turn:
    """Whose turn it is to change a lane, among the calls of this process."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    takers: int = 0


@dataclass(frozen=True, slots=True)
class _Tried(Generic[T]):
    """A write that was refused; or was it its repetition, after an answer that was lost on its way?"""

    model: Model
    made: Changes
    token: str
    answer: T

    def was_written(self, model: Model) -> bool:
        """Whether the tables hold this very write."""
        return any(item.get("writeId") == self.token for item in model.lanes_read.values())
