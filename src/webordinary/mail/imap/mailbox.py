"""Mail out of a mailbox that the operator already has.

Mail is received in the order of its UIDs, and put aside only after it is durable here. What is cut short is
done again: a mail that was received already is known by its Message-ID. The far end may go away at any line;
nothing of that ends the gateway, and no mail holds up another.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any, Protocol, TypeVar

from webordinary.core.errors import (
    BackendUnavailable,
    CannotTellNow,
    LoginRefused,
    MailboxRefused,
    MailboxUnavailable,
    WebordinaryError,
)
from webordinary.core.log_throttle import LogThrottle
from webordinary.core.mail import Envelope, MailRecord
from webordinary.intake.headers import envelope_of, names_us
from webordinary.intake.limits import MAIL_BYTES
from webordinary.mail.imap.connection import ImapAccount, ImapConnection, error_text
from webordinary.mail.imap.pace import PollPace, Retries, slower
from webordinary.ports.checkpoints import Checkpoint, Checkpoints
from webordinary.ports.clock import Clock

log = logging.getLogger("webordinary.gateway")

T = TypeVar("T")

READING = "reading it"
LOG_EVERY_SECONDS = 3600.0
STEADY_SECONDS = 60.0  # a connection that lived so long was a good one
IDLE_DEATHS_MAX = 3  # in a row; then the server's IDLE is not used
UNSURE_TIMES_MAX = 8  # about five hours; then a sender that can't be looked up is doubted for good
MISTAKES_MAX = 100
UNMOVED_MAX = 100  # mails that could not be moved and are tried again; older ones just stay
FETCHED_BYTES = MAIL_BYTES * 5 // 4  # some servers guess; what is a little too large is told so by the reader
SETTLED_SECONDS = 24 * 3600.0  # how often it is noted since when all is settled
SKEW_SECONDS = 3600.0  # how far the server's clock may be from ours


class Door(Protocol):
    """Where mail goes in; see `Reception`."""

    async def receive(self, raw: bytes, envelope: Envelope, *, may_come_again: bool) -> MailRecord:
        """Take a mail in."""
        ...

    async def keep_unread(self, header: bytes, reason: str) -> MailRecord:
        """Keep what is known of a mail that is not taken."""
        ...


class _Fate(Enum):
    """What became of a mail."""

    RECEIVED = "received"
    LEFT = "left where it is"
    GONE = "gone"  # somebody took it away


class ImapPoller:
    """Reads one folder for as long as the gateway lives."""

    def __init__(
        self,
        account: ImapAccount,
        door: Door,
        addresses: tuple[str, ...],
        checkpoints: Checkpoints,
        clock: Clock,
        pace: PollPace | None = None,
    ) -> None:
        """Read a folder; what mails say of whom they are for is held against our addresses."""
        self._account, self._door, self._addresses = account, door, addresses
        self._checkpoints, self._clock, self._pace = checkpoints, clock, pace or PollPace()
        self._about = f"the mailbox of {account.user} at {account.host}"
        self._throttle = LogThrottle(log, clock.monotonic, LOG_EVERY_SECONDS)
        self._checkpoint: Checkpoint | None = None
        # By UID; all of it is forgotten when UIDs change their meaning.
        self._received: set[int] = set()
        self._settled: set[int] = set()  # received and put aside, or left for good
        self._unmoved: dict[int, float] = {}  # of those that were settled: when to try again
        self._retries = Retries(self._pace, clock)
        self._mistakes: set[str] = set()  # of ours, that were told in full
        self._idle_deaths = 0
        self._has_received = False  # any mail, over this connection

    # --- the loop -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read until cancelled."""
        failures = 0
        while True:
            began, self._has_received = self._clock.monotonic(), False
            try:
                await self._stay_connected()
            except WebordinaryError as error:
                trouble: Exception = error
                self._throttle.met(READING, error, self._about)
            except Exception as error:
                trouble = error
                log.exception("%s: reading it failed by a mistake of ours", self._about)
            was_good = self._has_received or self._clock.monotonic() - began > STEADY_SECONDS
            failures = 1 if was_good else failures + 1
            self._idle_deaths = 0 if was_good else self._idle_deaths
            await self._clock.sleep(self._pause(trouble, failures))

    def _pause(self, trouble: Exception, failures: int) -> float:
        pace = self._pace
        if isinstance(trouble, LoginRefused):
            return slower(pace.login, failures, pace.login_most, self._clock)
        return slower(pace.reconnect, failures, pace.reconnect_most, self._clock)

    async def _stay_connected(self) -> None:
        connection = ImapConnection(self._account)
        try:
            await self._open(connection)
            while True:
                while await self._look(connection):
                    pass
                self._throttle.over(READING, self._about)
                await self._wait(connection)
        finally:
            connection.hang_up()

    async def look(self) -> int:
        """Connect, receive what is new, and hang up; say how many mails were settled."""
        connection, settled = ImapConnection(self._account), 0
        try:
            await self._open(connection)
            while some := await self._look(connection):
                settled += some
        finally:
            connection.hang_up()
        return settled

    async def _wait(self, connection: ImapConnection) -> None:
        now, pace = self._clock.monotonic(), self._pace
        due = [*self._retries.due(), *self._unmoved.values()]
        soonest = max(min(due, default=now + pace.idle) - now, 0.0)
        if not connection.can_idle or self._idle_deaths >= IDLE_DEATHS_MAX:
            await self._clock.sleep(min(pace.look, soonest))
            return
        try:
            came = await _far(connection.wait, min(pace.idle, soonest))
        except MailboxUnavailable:
            quick = self._clock.monotonic() - now < min(STEADY_SECONDS, pace.idle)
            self._idle_deaths = self._idle_deaths + 1 if quick else 0
            raise
        self._idle_deaths = 0
        if came and self._clock.monotonic() - now < pace.news:
            await self._clock.sleep(pace.news)

    # --- where to begin -----------------------------------------------------------------------------------

    async def _open(self, connection: ImapConnection) -> None:
        folder = await _far(connection.open)
        known = self._checkpoint or await self._checkpoints.load(self._account.name)
        if known is not None and (known.took_all or not self._account.take_all):
            if folder.uid_validity == known.uid_validity and folder.uid_next >= known.first_uid:
                self._checkpoint = known
                return
            now_known = await self._begin_again(connection, known, folder.uid_validity, folder.uid_next)
        elif self._account.take_all:
            now_known = Checkpoint(folder.uid_validity, 1, 0.0, took_all=True)
        else:
            now_known = Checkpoint(folder.uid_validity, folder.uid_next, self._clock.now())
            log.info(
                "%s: mail from now on is taken; the %d mails that are there are left alone"
                ' (imap_from = "all" takes them, too)',
                self._about,
                folder.mails,
            )
        for known_by_uid in (self._received, self._settled, self._unmoved):
            known_by_uid.clear()
        self._retries.keep_only(())
        await self._save(now_known)

    async def _begin_again(
        self, connection: ImapConnection, known: Checkpoint, uid_validity: int, uid_next: int
    ) -> Checkpoint:
        """UIDs mean something else now: look at all that came since everything was settled."""
        again = await _far(connection.uids_since, known.since - SKEW_SECONDS)
        log.warning(
            "%s: its server numbers mails anew (UIDVALIDITY %d, was %d); the latest %d are looked at again,"
            " and those that are known are not received twice",
            self._about,
            uid_validity,
            known.uid_validity,
            len(again),
        )
        return replace(known, uid_validity=uid_validity, first_uid=uid_next, unsettled=tuple(again))

    async def _save(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint  # also if it can't be saved now: where to begin must not move
        await self._checkpoints.save(self._account.name, checkpoint)

    # --- one look -----------------------------------------------------------------------------------------

    async def _look(self, connection: ImapConnection) -> int:
        """Receive what is new and due; say how many mails were settled."""
        assert self._checkpoint is not None
        await self._move_late(connection)
        listed = await _far(connection.uids, self._checkpoint.first_uid, self._checkpoint.unsettled)
        await self._note(listed)
        due = [uid for uid in listed if uid not in self._settled and self._retries.is_due(uid)]
        settled = 0
        stuck: dict[int, BackendUnavailable] = {}
        for uid in due:
            try:
                settled += await self._take(connection, uid)
            except BackendUnavailable as error:
                # The store is away, or it is this mail. Once more in order; then without it.
                if self._retries.failed(uid) == 1:
                    raise
                stuck[uid] = error
        for uid, why in stuck.items():
            if not settled and not self._retries.was_put_off(uid):
                raise why
            self._postpone(uid, why)
        return settled

    async def _note(self, listed: list[int]) -> None:
        """Note in the store what needs no second look: what is settled and still there."""
        checkpoint = self._checkpoint
        assert checkpoint is not None
        there, first = set(listed), checkpoint.first_uid
        self._settled &= there
        self._received &= there
        self._retries.keep_only(there)
        first = max([first, *(uid + 1 for uid in self._settled)])
        unsettled = [uid for uid in listed if uid not in self._settled]
        below = tuple(uid for uid in unsettled if uid < first)
        now = self._clock.now()
        is_recent = unsettled or 0 <= now - checkpoint.since < SETTLED_SECONDS
        since = checkpoint.since if is_recent else now
        new = replace(checkpoint, first_uid=first, unsettled=below, since=since)
        if new != checkpoint:
            await self._save(new)

    async def _take(self, connection: ImapConnection, uid: int) -> bool:
        """Receive a mail and put it aside; say whether it is settled. One that can't be is put off."""
        try:
            fate = _Fate.RECEIVED if uid in self._received else await self._get(connection, uid)
            if fate is _Fate.GONE:
                self._retries.forget(uid)
                return False
            if fate is _Fate.RECEIVED:
                await self._put_aside(connection, uid)
        except MailboxUnavailable as error:
            if self._retries.failed(uid) > 1:  # not by chance
                self._postpone(uid, error)
            raise
        except BackendUnavailable:
            raise
        except (CannotTellNow, MailboxRefused) as error:
            self._retries.failed(uid)
            self._postpone(uid, error)
            return False
        except Exception as error:
            if repr(error) not in self._mistakes:  # one that every mail suffers from is told in full once
                log.exception("%s: a mistake of ours", self._mail(uid))
            self._mistakes = {*list(self._mistakes)[:MISTAKES_MAX], repr(error)}
            self._retries.failed(uid)
            self._postpone(uid, error)
            return False
        self._settled.add(uid)
        self._retries.forget(uid)
        return True

    async def _get(self, connection: ImapConnection, uid: int) -> _Fate:
        """Receive a mail."""
        size = await _far(connection.size, uid)
        too_large = size > FETCHED_BYTES
        if too_large or self._account.only_addressed:
            header = await _far(partial(connection.fetch, header_only=True), uid)
            if header is None:
                return _Fate.GONE
            if self._account.only_addressed and not names_us(header, *self._addresses):
                return _Fate.LEFT
            if too_large:
                return await self._leave(header, uid, size)
        raw = await _far(connection.fetch, uid)
        if raw is None:
            return _Fate.GONE
        envelope = envelope_of(raw, *self._addresses)
        may_come_again = self._retries.times(uid) < UNSURE_TIMES_MAX
        record = await self._door.receive(raw, envelope, may_come_again=may_come_again)
        log.info("%s from %s: %s %s", record.id, record.from_address or "-", record.state, record.reason)
        self._received.add(uid)
        self._retries.forget(uid)
        self._has_received = True
        return _Fate.RECEIVED

    async def _leave(self, header: bytes, uid: int, size: int) -> _Fate:
        where = f"left in the folder {self._account.folder} of {self._account.user}"
        reason = f"it has {size >> 20} MB, more than the {MAIL_BYTES >> 20} that are taken; it is {where}"
        await self._door.keep_unread(header, reason)
        log.warning("%s: %s", self._mail(uid), reason)
        return _Fate.LEFT

    async def _put_aside(self, connection: ImapConnection, uid: int) -> None:
        """Move a mail that was received. Where that is refused it stays, and is not received again."""
        self._unmoved.pop(uid, None)
        if not self._account.done_folder:
            return
        moving = f"moving mails to {self._account.done_folder}"
        try:
            await _far(connection.move_aside, uid)
        except MailboxRefused as error:
            self._unmoved[uid] = self._clock.monotonic() + self._pace.retry_most
            if len(self._unmoved) > UNMOVED_MAX:
                del self._unmoved[next(iter(self._unmoved))]
            why = MailboxRefused(f"{error}. They were received, and stay where they are")
            self._throttle.met(moving, why, self._about)
        else:
            self._throttle.over(moving, self._about)

    async def _move_late(self, connection: ImapConnection) -> None:
        """Try again to move what could not be moved."""
        now = self._clock.monotonic()
        for uid in [uid for uid, due in self._unmoved.items() if due <= now]:
            await self._put_aside(connection, uid)

    def _postpone(self, uid: int, error: Exception) -> None:
        """Go on without this mail, and come back to it."""
        log_it = log.debug if self._retries.was_put_off(uid) else log.warning
        log_it("%s: it is tried again later: %s", self._mail(uid), error_text(error))
        self._retries.put_off(uid)

    def _mail(self, uid: int) -> str:
        return f"{self._about}: the mail with UID {uid}"


async def _far(ask: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401 - whatever is asked for
    """Ask the far end, on a thread that keeps nobody from leaving; it may raise anything."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(act: Callable[[], None]) -> None:
        if not answer.done():  # whoever waited was cancelled
            act()

    def work() -> None:
        try:
            act = partial(answer.set_result, ask(*arguments))
        except (MailboxRefused, MailboxUnavailable) as error:
            act = partial(answer.set_exception, error)
        except Exception as error:  # noqa: BLE001 - what a server sends may break anything
            unavailable = MailboxUnavailable(error_text(error))
            unavailable.__cause__ = error
            act = partial(answer.set_exception, unavailable)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, act)

    threading.Thread(target=work, name="imap", daemon=True).start()
    return await answer
