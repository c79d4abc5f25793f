"""Letters in a table. The broker's verbs owe theirs in their own transactions (changes.py)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from webordinary.backends.aws.dynamo import ABSENT, Condition, Dynamo, Where
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.letters import (
    CALLBACK,
    LETTER,
    due,
    due_of,
    letter_item,
    letter_key,
    letter_of,
)
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.tables import DUE_INDEX, ORDER_INDEX
from webordinary.backends.aws.values import Item
from webordinary.backends.broker import poll
from webordinary.backends.letters import held_until, is_due, put_off_until
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import LETTERS, Nothing
from webordinary.core.errors import NotFound
from webordinary.core.mail import Letter, LetterKind
from webordinary.core.text import storable
from webordinary.ports.clock import Clock
from webordinary.ports.outbox import LetterState, LetterStatus

ROUNDS = 10  # of looking again after somebody else was quicker
NOT_OWED = ("owed", "due", "dueAt", "heldBy")  # what a letter loses that nobody may be given any more


class AwsOutbox:
    """See `Outbox`."""

    def __init__(self, dynamo: Dynamo, settings: AwsSettings, wakeups: Wakeups, clock: Clock) -> None:
        """Send what is owed in a table."""
        self._dynamo, self._settings = dynamo, settings
        self._wakeups, self._clock = wakeups, clock
        self._taking = asyncio.Lock()

    async def owe(self, letter: Letter) -> bool:
        """See `Outbox.owe`."""
        stored = replace(letter, owed_at=self._clock.now(), attempts=0)
        key = letter_key(letter.about, letter.kind.value)
        item = letter_item(stored, self._clock.unique(), stored.owed_at)
        try:
            await self._dynamo.put(self._settings.outbox, item, dict.fromkeys(key, ABSENT))
        except ChangedMeanwhile:
            return False
        self._wakeups.send([LETTERS])
        return True

    # --- taking -----------------------------------------------------------------------------------

    async def take(self, sender: str, *, limit: int, hold: float, wait: float) -> list[Letter]:
        """See `Outbox.take`."""
        ask = partial(self._take, sender, limit, hold)
        return await poll(self._wakeups, self._clock, LETTERS, wait, ask) or []

    async def _take(self, sender: str, limit: int, hold: float) -> list[Letter] | Nothing:
        """Take what is due; where somebody else was quicker, look again."""
        letters: list[Letter] = []
        async with self._taking:  # senders of this process don't get in each other's way
            for _ in range(ROUNDS):
                due_now, soonest = await self._due(limit - len(letters))
                held = await asyncio.gather(*(self._hold(item, sender, hold) for item in due_now))
                letters += [letter for letter in held if letter is not None]
                if not due_now or len(letters) >= limit:
                    break
        return letters or Nothing(soonest)

    async def _due(self, limit: int) -> tuple[list[Item], float]:
        """Read letters that may be given to somebody, longest due first; without any, how soon one may be.

        Those of a clock that was set back since are found once nothing is due before them.
        """
        now = self._clock.now()
        where = Where(self._settings.outbox, ("owed", LETTER), DUE_INDEX)
        keys = await self._dynamo.query(where, limit=max(limit, 1))
        ready = [key for key in keys if is_due(due_of(key["due"]), now, held=True)]  # some, if they are held
        if not ready:
            return [], due_of(keys[0]["due"]) - now if keys else math.inf
        items = await self._read(ready)
        owed = [item for item in items if item["state"] == LetterState.OWED]
        found = [item for item in owed if is_due(item["dueAt"], now, held="heldBy" in item)]
        return found, 0.0 if found or len(owed) < len(ready) else due_of(keys[0]["due"]) - now

    async def _read(self, keys: Sequence[Item]) -> list[Item]:
        """Read letters from their table, in the order given."""
        wanted = [{"about": key["about"], "kind": key["kind"]} for key in keys]
        found = (await self._dynamo.get_many({self._settings.outbox: wanted}))[self._settings.outbox]
        by_key = {(item["about"], item["kind"]): item for item in found}
        return [by_key[key["about"], key["kind"]] for key in keys if (key["about"], key["kind"]) in by_key]

    async def _hold(self, item: Item, sender: str, hold: float) -> Letter | None:
        until = held_until(self._clock.now(), hold)
        try:
            held = await self._dynamo.update(
                self._settings.outbox,
                {"about": item["about"], "kind": item["kind"]},
                put={"heldBy": sender, "dueAt": until, "due": due(until, item["order"])},
                add={"attempts": 1},
                where={"state": LetterState.OWED.value, "attempts": item["attempts"], "due": item["due"]},
            )
        except ChangedMeanwhile:
            return None
        return letter_of(held)

    # --- what became of it ------------------------------------------------------------------------

    async def sent(self, letter: Letter, message_id: str) -> None:
        """See `Outbox.sent`."""
        item = await self._known(letter.about, letter.kind)
        while item["state"] != LetterState.SENT:
            now = self._clock.now()
            put: Item = {"state": LetterState.SENT.value, "sentAt": now, "messageId": storable(message_id)}
            if await self._changed(item, put, {"state": item["state"]}, remove=NOT_OWED):
                return
            item = await self._known(letter.about, letter.kind)

    async def postpone(self, letter: Letter, seconds: float, reason: str) -> None:
        """See `Outbox.postpone`."""
        item = await self._known(letter.about, letter.kind)
        moment = put_off_until(self._clock.now(), seconds)
        put = {"dueAt": moment, "due": due(moment, item["order"]), "reason": storable(reason)}
        where = {"state": LetterState.OWED.value, "attempts": letter.attempts}
        if await self._changed(item, put, where, remove=("heldBy",)):
            self._wakeups.send([LETTERS])

    async def abandon(self, letter: Letter, reason: str) -> None:
        """See `Outbox.abandon`."""
        item = await self._known(letter.about, letter.kind)
        put = {"state": LetterState.ABANDONED.value, "reason": storable(reason)}
        where = {"state": LetterState.OWED.value, "attempts": letter.attempts}
        await self._changed(item, put, where, remove=NOT_OWED)

    async def _changed(self, item: Item, put: Item, where: Condition, remove: Sequence[str]) -> bool:
        key = {"about": item["about"], "kind": item["kind"]}
        try:
            await self._dynamo.update(self._settings.outbox, key, put=put, remove=remove, where=where)
        except ChangedMeanwhile:
            return False
        return True

    async def _known(self, about: str, kind: LetterKind) -> Item:
        item = await self._dynamo.get(self._settings.outbox, letter_key(about, kind.value))
        if item is None:
            raise NotFound(f"no letter {kind} about {about} was ever owed")
        return item

    # --- listing ---------------------------------------------------------------------------------

    async def letters(
        self, *, limit: int, about: str | None = None, before: tuple[str, LetterKind] | None = None
    ) -> list[tuple[Letter, LetterStatus]]:
        """See `Outbox.letters`."""
        order = (await self._known(*before))["order"] if before is not None else "~"
        table = self._settings.outbox
        if about is None:
            sort = ("order", "<", order)
            where = Where(table, ("all", LETTER), ORDER_INDEX, sort, newest_first=True)
            items = await self._read(await self._dynamo.query(where, limit=limit))
        else:
            key = letter_key(about, LETTER)["about"]
            items = [
                item
                for item in await self._dynamo.query(Where(table, ("about", key)))
                if item["kind"] != CALLBACK and item["order"] < order
            ]
            items.sort(key=lambda item: str(item["order"]), reverse=True)
        return [(letter_of(item), _status(item)) for item in items[:limit]]


def _status(item: Item) -> LetterStatus:
    return LetterStatus(
        LetterState(item["state"]),
        held_by=item.get("heldBy"),
        message_id=item.get("messageId", ""),
        reason=item.get("reason", ""),
    )
