"""Pushing under a fence: the repository itself refuses whoever is not the lane's newest owner.

A lane has a ref that names the fence of its owner. Every push moves it, together with all else or not at
all, from the very commit that this owner put there. A newer owner's first act is to put its own: from then
on no push of an older one can succeed, not even one that is under way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from webordinary.core.claim import Claim
from webordinary.core.errors import BackendUnavailable, ClaimLost
from webordinary.sites.git.conventions import Names
from webordinary.sites.git.mirror import KnownRefs, Mirror, Update

TRIES_MAX = 20  # other lanes of a project push in between; each try is a few round trips
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PushPlan(Generic[T]):
    """What to move, seeing how things are, and what to answer when it has moved."""

    answer: T
    updates: tuple[Update, ...] = ()
    push: bool = True


@dataclass(frozen=True, slots=True)
class Fenced:
    """A mirror's repository in the hands of one claim."""

    mirror: Mirror
    names: Names
    claim: Claim

    async def take(self) -> KnownRefs:
        """Look at the repository, and shut older owners of the lane out."""
        await self.mirror.fetch(self.names.fetched)

        async def plan(seen: KnownRefs) -> PushPlan[KnownRefs]:
            return PushPlan(seen, push=seen.fence != self.claim.fence)

        return await self.push(plan)

    async def push(self, plan: Callable[[KnownRefs], Awaitable[PushPlan[T]]]) -> T:
        """Carry a plan out; if the repository has moved on, make a new one."""
        seen = await self._seen()
        for _ in range(TRIES_MAX):
            planned = await plan(seen)
            if not planned.push:
                return planned.answer
            fence = Update(
                self.names.fence, await self.mirror.make_fence(self.claim.fence), seen.fence_commit
            )
            refused = await self.mirror.push((*planned.updates, fence), self.names.fetched)
            if not refused:
                return planned.answer
            await self.mirror.fetch(self.names.fetched)
            before, seen = seen, await self._seen()
            if seen == before:
                raise BackendUnavailable(f"the repository refused our change: {refused}")
        raise BackendUnavailable("others change the repository all the time, our change did not get in")

    async def _seen(self) -> KnownRefs:
        seen = await self.mirror.seen(self.names)
        if seen.fence > self.claim.fence:
            raise ClaimLost(
                f"{self.claim.lane} has a newer owner: the repository knows fence {seen.fence}, ours is "
                f"{self.claim.fence}. Nothing was pushed. (If the store was brought back from an older copy, "
                f"delete {self.names.fence} there.)"
            )
        return seen
