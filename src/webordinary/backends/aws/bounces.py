"""Letters that came back, in the table of mails: an address with some is in the index of states."""

from __future__ import annotations

import hashlib
import json

from webordinary.backends.aws.dynamo import ABSENT, Dynamo, Where
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.tables import STATE_INDEX
from webordinary.backends.aws.values import Item
from webordinary.core.text import storable
from webordinary.ports.bounces import Bouncing
from webordinary.ports.clock import Clock

STATE = "bouncing"  # no mail has it
ORDER_CHARACTERS = 300


class AwsBounces:
    """See `Bounces`."""

    def __init__(self, dynamo: Dynamo, settings: AwsSettings, clock: Clock) -> None:
        """Keep them in a table."""
        self._dynamo, self._table, self._clock = dynamo, settings.sessions, clock

    async def note(self, address: str, letter: str, reason: str) -> Bouncing:
        """See `Bounces.note`."""
        address = storable(address)
        while True:
            item = await self._item(address)
            known = _bouncing(item) if item else None
            before = known or Bouncing(address, (), self._clock.now(), "")
            noted = before.after(storable(letter), storable(reason))
            if await self._put(noted, item):
                return noted

    async def forget(self, address: str) -> bool:
        """See `Bounces.forget`. The item stays, with no letter: whoever takes mail in may delete none."""
        while True:
            item = await self._item(storable(address))
            if item is None or _bouncing(item) is None:
                return False
            if await self._put(Bouncing(storable(address), (), 0.0, ""), item):
                return True

    async def of(self, address: str) -> Bouncing | None:
        """See `Bounces.of`."""
        item = await self._item(storable(address))
        return _bouncing(item) if item else None

    async def all(self, *, limit: int) -> list[Bouncing]:
        """See `Bounces.all`."""
        keys = await self._dynamo.query(Where(self._table, ("state", STATE), STATE_INDEX), limit=limit)
        if not keys:
            return []
        wanted = [{"key": key["key"]} for key in keys]
        items = (await self._dynamo.get_many({self._table: wanted}))[self._table]
        found = [bouncing for item in items if (bouncing := _bouncing(item))]
        return sorted(found, key=lambda one: one.address)

    async def _item(self, address: str) -> Item | None:
        return await self._dynamo.get(self._table, {"key": _key(address)})

    async def _put(self, bouncing: Bouncing, seen: Item | None) -> bool:
        item: Item = {
            "key": _key(bouncing.address),
            "address": bouncing.address,
            "letters": json.dumps(bouncing.letters),
            "since": bouncing.since,
            "reason": bouncing.reason,
        }
        if bouncing.letters:
            item |= {"state": STATE, "order": bouncing.address[:ORDER_CHARACTERS] or " "}
        where = {"letters": seen["letters"]} if seen else {"key": ABSENT}
        try:
            await self._dynamo.put(self._table, item, where)
        except ChangedMeanwhile:
            return False
        return True


def _bouncing(item: Item) -> Bouncing | None:
    letters = tuple(json.loads(item["letters"]))
    return Bouncing(item["address"], letters, item["since"], item["reason"]) if letters else None


def _key(address: str) -> str:
    return f"bounces {hashlib.sha256(address.encode()).hexdigest()}"
