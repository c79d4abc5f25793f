"""The sender: takes letters that are due, and sees to it that each goes out once.

A letter goes out at least once and, but for one case, exactly once. While a sender holds a letter nobody
else is given it, and it is handed over well before the hold ends. After a crash between handing it over and
noting that, the next sender hands it over again: the same key, the same Message-ID. A folder then has it
already and leaves it alone; a mail server gets it twice, and programs that know Message-IDs show it once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from webordinary.core.errors import BackendUnavailable, NotFound, WebordinaryError
from webordinary.core.facts import Ending, StopRequest
from webordinary.core.job import JobId
from webordinary.core.log_throttle import LogThrottle
from webordinary.core.mail import FINAL_LETTERS, Letter, LetterKind, MailId, MailRecord
from webordinary.core.signed_addresses import SentLetter, return_path
from webordinary.core.views import JobView
from webordinary.ports.blobs import Blobs
from webordinary.ports.bounces import Bounces
from webordinary.ports.clock import Clock
from webordinary.ports.ledger import Ledger
from webordinary.ports.mailbox import Mailbox
from webordinary.ports.mailer import Mailer, Rejected, Sent, TryLater
from webordinary.ports.outbox import Outbox
from webordinary.ports.quotas import Bucket, Quotas
from webordinary.reply.compose import Composed, Letterhead, LetterPicture, Unanswerable, When, compose
from webordinary.reply.context import Case, newer_job, session_of
from webordinary.reply.sending_limits import ABOUT_A_JOB, COURTESIES, UNASKED, SendingLimits, why_not_send

log = logging.getLogger("webordinary.sender")

LOOKING, NOTING = "no answer to a look for letters", "the fate of a letter could not be noted yet"
STORE_SECONDS = 1.0  # between two tries when the store does not answer
NOTING_TRIES = 10  # of writing down what became of a letter


@dataclass(frozen=True, slots=True)
class Office:
    """Everything a letter meets on its way out."""

    outbox: Outbox
    mailbox: Mailbox
    ledger: Ledger
    quotas: Quotas
    bounces: Bounces
    mailer: Mailer
    clock: Clock
    letterhead: Letterhead
    limits: SendingLimits = field(default_factory=SendingLimits)
    blobs: Blobs | None = None  # where pictures of pages are


@dataclass(frozen=True, slots=True)
class Out:
    """It is on its way."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Postponed:
    """Not now."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Never."""

    reason: str


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Whoever is given it next, when the hold is over, sends it."""

    reason: str


Fate = Out | Postponed | Abandoned | LeftAlone


class Sender:
    """Sends what is owed, several letters at once, until it is stopped."""

    def __init__(self, office: Office, name: str) -> None:
        """Send once `run` is called. The name is shown to people as who holds a letter."""
        self._office, self._name = office, name
        self._outbox, self._clock, self._limits = office.outbox, office.clock, office.limits
        self._throttle = LogThrottle(log, office.clock.monotonic)
        self._stopping = asyncio.Event()
        self._in_hand: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Take no further letter, finish those in hand; then `run` ends."""
        self._stopping.set()

    async def run(self) -> None:
        """Send until stopped. One bad letter never stops the others."""
        try:
            while not self._stopping.is_set():
                try:
                    await self._take()
                except BackendUnavailable as error:
                    self._throttle.met(LOOKING, error)
                    await self._pause(STORE_SECONDS * (0.5 + self._clock.chance()))
                else:
                    self._throttle.over(LOOKING)
            if self._in_hand:
                await asyncio.wait(self._in_hand, timeout=self._limits.stop_seconds)
        finally:
            await self._drop_what_is_in_hand()

    async def _take(self) -> None:
        """Take as many letters as there is room for, and start sending them."""
        room = self._limits.at_once - len(self._in_hand)
        if room <= 0:
            ended = asyncio.FIRST_COMPLETED
            await asyncio.wait(self._in_hand, timeout=self._limits.poll_seconds, return_when=ended)
            return
        limits = self._limits
        held_until = self._clock.monotonic() + limits.hold_seconds  # at least: the hold begins later
        letters = await self._outbox.take(
            self._name, limit=room, hold=limits.hold_seconds, wait=limits.poll_seconds
        )
        for letter in letters:
            task = asyncio.create_task(self._deal_with(letter, held_until))
            self._in_hand.add(task)
            task.add_done_callback(self._in_hand.discard)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    async def _drop_what_is_in_hand(self) -> None:
        """What takes too long is left to whoever is given it when the hold is over."""
        left = set(self._in_hand)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    # --- one letter -----------------------------------------------------------------------------------

    async def _deal_with(self, letter: Letter, held_until: float) -> None:
        """Send a letter and write down what became of it. Nothing that goes wrong here gets any further."""
        name = f"{letter.kind} about {letter.about}"
        try:
            fate = await self._send(letter, held_until)
        except BackendUnavailable as error:
            fate = LeftAlone(f"the store did not answer: {error}")
        except Exception as error:
            log.exception("the letter %s could not be dealt with", name)
            fate = self._try_again(letter, f"an error of ours: {type(error).__name__}")
        try:
            await self._note(letter, fate, name)
        except WebordinaryError as error:
            log.warning("the letter %s may go out twice, its fate could not be noted: %s", name, error)

    async def _send(self, letter: Letter, held_until: float) -> Fate:
        """Find out what the letter is about, write it, and hand it over if it may go out."""
        office = self._office
        case = await self._case(letter)
        if case is None:
            return self._without_mail(letter)
        reason = why_not_send(letter, case, office.letterhead)
        if reason:
            return Abandoned(reason)
        shown = await self._pictures(letter)
        composed = compose(letter, case, office.letterhead, self._clock.now(), shown)
        if isinstance(composed, Unanswerable):
            return Abandoned(composed.reason)
        bouncing = await office.bounces.of(case.mail.from_address)
        if bouncing is not None and bouncing.marked and letter.kind not in FINAL_LETTERS:
            return Abandoned(f"{len(bouncing.letters)} letters to this address came back: {bouncing.reason}")
        session = session_of(letter, case)
        caps = self._limits.caps(letter.kind, composed.recipient, session)
        empty = await office.quotas.spend(caps, f"letter {letter.key}")
        if empty is not None:
            return self._over_the_cap(letter, empty)
        if session is not None:
            await office.mailbox.remember(session, composed.message_id)
        if self._clock.monotonic() + self._limits.send_seconds > held_until:
            return LeftAlone("it was held for too long")
        return await self._hand_over(letter, case.mail, composed)

    async def _hand_over(self, letter: Letter, mail: MailRecord, composed: Composed) -> Fate:
        named, head = SentLetter(mail.id, letter.kind), self._office.letterhead
        try:
            async with asyncio.timeout(self._limits.send_seconds):
                answer = await self._office.mailer.send(
                    composed.content,
                    recipient=composed.recipient,
                    key=letter.key,
                    return_path=return_path(named, head.key, head.address),
                )
        except TimeoutError:
            answer = TryLater(f"handing it over took more than {self._limits.send_seconds:g} s")
        match answer:
            case Sent():
                return Out(composed.message_id)
            case TryLater(reason):
                return self._try_again(letter, reason)
            case Rejected(reason):
                if mail.lane is not None:  # a member's
                    await self._office.bounces.note(mail.from_address, str(named), reason)
                return Abandoned(reason)

    def _try_again(self, letter: Letter, reason: str) -> Postponed | Abandoned:
        if letter.attempts >= self._limits.attempts_max:
            return Abandoned(f"{reason}; that was attempt number {letter.attempts}, the last one")
        return Postponed(self._limits.retry_delay(letter.attempts, self._clock.chance()), reason)

    def _over_the_cap(self, letter: Letter, cap: Bucket) -> Postponed | Abandoned:
        """Answers wait for room; what nobody asked for does not, nor a courtesy: one that waits is none."""
        reason = f"there were {cap.burst} {cap.key} within an hour"
        if letter.kind in COURTESIES or letter.kind in UNASKED:
            return Abandoned(reason)
        return Postponed(self._limits.capped_seconds * (0.5 + self._clock.chance() / 2), reason)

    def _without_mail(self, letter: Letter) -> Postponed | Abandoned:
        reason = "the mail that it answers is not known"
        if letter.attempts >= self._limits.attempts_without_mail_max:
            return Abandoned(reason)
        return Postponed(self._limits.retry_delay(letter.attempts, self._clock.chance()), reason)

    # --- what it is about -----------------------------------------------------------------------------

    async def _case(self, letter: Letter) -> Case | None:
        """Look up the mail that is answered, the job, and the other job that comes into it."""
        job = await self._job(letter.about) if letter.kind in ABOUT_A_JOB else None
        mail_id = letter.mail or (MailId(job.message_id) if job else None)
        mail = await self._office.mailbox.mail(mail_id) if mail_id else None
        if mail is None:
            return None
        return Case(mail, job, await self._other_job(letter, job))

    async def _other_job(self, letter: Letter, job: JobView | None) -> JobView | None:
        match letter.kind:
            case LetterKind.PREEMPTED if job is not None:
                other = newer_job(letter, job)
            case LetterKind.STOPPED:
                jobs = letter.facts.jobs if isinstance(letter.facts, StopRequest) else ()
                other = jobs[0] if jobs else None
            case _:
                other = None
        return await self._job(other) if other else None

    async def _job(self, job: str) -> JobView | None:
        try:
            view = await self._office.ledger.job(JobId(job))
        except NotFound:
            return None
        return view if view.id == job else None  # the ledger is content with the beginning of an id

    async def _pictures(self, letter: Letter) -> list[LetterPicture]:
        """The changed page, before and after; of several pages the first."""
        preview = letter.facts.facts.preview if isinstance(letter.facts, Ending) else None
        if preview is None or not preview.pictures or self._office.blobs is None:
            return []
        found, page = [], preview.pictures[0]
        for when, key in ((When.BEFORE, page.before), (When.AFTER, page.after)):
            try:
                found += [LetterPicture(when, await self._office.blobs.get(key))] if key else []
            except NotFound:
                continue  # a picture that is gone is no reason not to answer
        return found

    # --- what became of it ----------------------------------------------------------------------------

    async def _note(self, letter: Letter, fate: Fate, name: str) -> None:
        """Write down what became of the letter, and insist: else it would go out again."""
        match fate:
            case Out(message_id):
                await self._insist(lambda: self._outbox.sent(letter, message_id))
                log.info("sent the letter %s", name)
            case Postponed(seconds, reason):
                await self._insist(lambda: self._outbox.postpone(letter, seconds, reason))
                log.warning("the letter %s waits for %.0f s: %s", name, seconds, reason)
            case Abandoned(reason):
                await self._insist(lambda: self._outbox.abandon(letter, reason))
                level = logging.INFO if letter.kind in COURTESIES else logging.WARNING
                log.log(level, "the letter %s is abandoned: %s", name, reason)
            case LeftAlone(reason):
                log.warning("the letter %s is left to the next sender: %s", name, reason)

    async def _insist(self, note: Callable[[], Awaitable[None]]) -> None:
        for _ in range(NOTING_TRIES - 1):
            try:
                return await note()
            except BackendUnavailable as error:
                self._throttle.met(NOTING, error)
                await self._clock.sleep(STORE_SECONDS * (0.5 + self._clock.chance()))
        return await note()
