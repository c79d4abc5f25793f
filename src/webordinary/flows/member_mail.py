"""A member's mail: find its lane, see what it wants, queue its job or answer at once. Stages 2 and 3."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from webordinary.core.facts import (
    LetterFacts,
    MailFault,
    NotAMember,
    ProjectChoice,
    StopRequest,
    UnclearWords,
)
from webordinary.core.failure import MailProblem
from webordinary.core.job import Intent, JobId
from webordinary.core.lane import Lane
from webordinary.core.language import Language
from webordinary.core.mail import (
    KeptFile,
    Letter,
    LetterKind,
    MailRecord,
    MailState,
    ParsedMail,
    SessionId,
    StretchKind,
)
from webordinary.core.site import Session
from webordinary.core.text import one_line
from webordinary.dispatch.arrival_policy import stop_means
from webordinary.dispatch.submit import QuotaLimits, Request, buckets, submit_mail, window
from webordinary.flows.history import ConversationHistory
from webordinary.flows.status import status_of
from webordinary.identify.find import (
    AnswerTo,
    Found,
    Several,
    Stranger,
    address_on_file,
    chosen_lane,
    identify,
    usual_language,
)
from webordinary.identify.intent import Wish, read_arrival, said, wish_of
from webordinary.intake.attachments import web_ready
from webordinary.intake.known_history import may_hide_own_words
from webordinary.intake.language import declared_language, language_of
from webordinary.ports.admissions import Admission
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.images import Images
from webordinary.ports.mail_reader import MailReader
from webordinary.ports.mailer import SentLetters
from webordinary.ports.quotas import Bucket
from webordinary.ports.workflow import Workflow

JOB_INTENTS = {
    Wish.EDIT: Intent.EDIT,
    Wish.UNDO: Intent.UNDO,
    Wish.REDO: Intent.REDO,
    Wish.PUBLISH: Intent.PUBLISH,
}
KNOWN_LANES_SHOWN = 20
CLAIMED_NAME_CHARACTERS = 100
SEE_FILES, SEE_TEXT = "See the attached files.", "See the text that came with this."


@dataclass(frozen=True, slots=True)
class MemberMail:
    """Takes mail whose sender is known."""

    backend: Backend
    reader: MailReader
    images: Images
    clock: Clock
    quotas: QuotaLimits
    workflow: Workflow | None  # who follows jobs from outside the store, if anybody
    sent_letters: SentLetters | None  # a mail that quotes one says nothing new

    async def receive(self, mail: ParsedMail, draft: Admission, sender: str, session_id: str) -> MailRecord:
        """Find the lane, and go on; a sender who may edit several sites is asked which one is meant."""
        ports = self.backend
        sender = await address_on_file(sender, ports.directory)
        match await identify(mail, sender, session_id, ports.mailbox, ports.directory, ports.outbox):
            case Found() as found:
                return await self._dispatch(mail, draft, sender, found)
            case Several(lanes):
                return await self._ask(mail, draft, lanes)
            case AnswerTo(question, lanes):
                lane = chosen_lane(mail.own_words, lanes)
                if lane is None:
                    return await self._ask(mail, draft, lanes)
                await self.take_up(question, sender, lane)
                return await self.keep(draft, MailState.ANSWERED, f"said that it is about {lane.project}")
            case Stranger(reason, project):
                letter = self.letter(LetterKind.REFUSED, draft.record, NotAMember(project))
                return await self.keep(draft, MailState.REFUSED, reason, letter)

    async def take_up(self, original: MailRecord, sender: str, lane: Lane | None) -> None:
        """Go on with a mail that had to wait for its sender's word."""
        raw = await self.backend.blobs.get(original.blob)
        mail = await self.reader.read(raw, sender=original.from_address)
        if not isinstance(mail, ParsedMail):
            return
        if lane is None:
            await self.receive(mail, Admission(original), sender, "")
        else:
            await self._dispatch(mail, Admission(original), sender, Found(lane, None, "answer"))

    async def _ask(self, mail: ParsedMail, draft: Admission, lanes: tuple[Lane, ...]) -> MailRecord:
        if wish_of(mail) is Wish.COURTESY:
            return await self.keep(draft, MailState.IGNORED, Wish.COURTESY.value)
        choice = ProjectChoice(tuple(lane.project for lane in lanes[:KNOWN_LANES_SHOWN]))
        letter = self.letter(LetterKind.ASKED, draft.record, choice)
        return await self.keep(draft, MailState.ANSWERED, "asked which project", letter)

    async def _dispatch(self, mail: ParsedMail, draft: Admission, sender: str, found: Found) -> MailRecord:
        """A new thread is a new conversation; the mail's own id names it, so that it begins once."""
        record, lane = draft.record, found.lane
        paid_from = buckets(sender, lane, self.quotas)
        if mail.files:  # making them ready is work: not for mail beyond its quota
            empty = await self.backend.quotas.spend(paid_from, record.id)
            if empty is not None:
                return await self._over_quota(draft, empty)
            mail = await web_ready(mail, self.images)
        session = found.session or Session(SessionId(record.id[:16]), lane, mail.subject, self.clock.now())
        if may_hide_own_words(mail.stretches):
            history = ConversationHistory(self.backend, self.reader, self.sent_letters)
            mail = replace(mail, stretches=await history.new_in(mail, lane, session.id, record.received_at))
        draft = replace(
            draft,
            record=replace(
                record,
                lane=lane,
                session=session.id,
                files=await self._keep_files(mail),
                skipped=mail.skipped,
                language=await self._language(mail, lane, session.id),
            ),
            buckets=paid_from,
            session=None if found.session else session,
        )
        wish = wish_of(mail, lane, is_new=found.session is None)
        if wish in JOB_INTENTS:
            return await self._submit(mail, draft, lane, session, JOB_INTENTS[wish])
        if wish is Wish.COURTESY:  # answered by nothing
            return await self.keep(draft, MailState.IGNORED, wish.value)
        return await self._answer_at_once(mail, draft, lane, wish)

    async def _language(self, mail: ParsedMail, lane: Lane, session: SessionId) -> Language | None:
        """Several words show it best; then what was written before, a word or two, and a header."""
        words = mail.own_words
        return (
            language_of(words)
            or await usual_language(lane, session, self.backend.ledger, self.backend.mailbox)
            or language_of(words, sure=False)
            or declared_language(mail.declared_language)
        )

    async def _keep_files(self, mail: ParsedMail) -> tuple[KeptFile, ...]:
        keys = await asyncio.gather(*(self.backend.blobs.put(file.content) for file in mail.files))
        return tuple(
            KeptFile(file.name, file.kind, key, one_line(file.claimed_name, CLAIMED_NAME_CHARACTERS))
            for file, key in zip(mail.files, keys, strict=True)
        )

    async def _submit(
        self, mail: ParsedMail, draft: Admission, lane: Lane, session: Session, intent: Intent
    ) -> MailRecord:
        record, instruction = draft.record, said(mail.own_words, mail.subject)
        brings = any(one.kind in {StretchKind.QUOTED, StretchKind.FORWARDED} for one in mail.stretches)
        if not instruction and not record.files and not brings:
            return await self.refuse_to_read(draft, "it was empty", MailProblem.EMPTY)
        request = Request(
            lane,
            instruction or (SEE_FILES if record.files else SEE_TEXT),
            record.id,
            intent,
            policy=read_arrival(mail.subject),
            session=session.id,
        )
        accepted = replace(draft, record=replace(record, state=MailState.ACCEPTED, reason=""))
        kept = await submit_mail(request, accepted, self.backend, self.clock)
        if isinstance(kept, Bucket):
            return await self._over_quota(draft, kept)
        if self.workflow is not None and kept.job is not None:
            await self.workflow.start(kept.id, lane, kept.job)
        return kept

    async def _over_quota(self, draft: Admission, empty: Bucket) -> MailRecord:
        record = replace(draft.record, lane=None, session=None, files=())
        about = f"quota {empty.key} {window(self.clock.now())}"
        letter = Letter(about, LetterKind.OVER_QUOTA, record.id, owed_at=self.clock.now())
        reason = f"too much mail at once ({empty.key})"
        return await self.keep(Admission(record, draft.raw), MailState.REFUSED, reason, letter)

    async def _answer_at_once(self, mail: ParsedMail, draft: Admission, lane: Lane, wish: Wish) -> MailRecord:
        """Stop, status and help need no worker, nor does a question of ours."""
        match wish:
            case Wish.STOP:
                return await self._stop(draft, lane)
            case Wish.STATUS:
                letter = self.letter(LetterKind.STATUS, draft.record, await status_of(lane, self.backend))
            case Wish.UNCLEAR:
                words = said(mail.own_words, mail.subject)
                letter = self.letter(LetterKind.UNCLEAR, draft.record, UnclearWords(words))
            case _:
                letter = self.letter(LetterKind.HELP, draft.record)
        return await self.keep(draft, MailState.ANSWERED, wish.value, letter)

    async def _stop(self, draft: Admission, lane: Lane) -> MailRecord:
        """Stop what this conversation asked for, else what runs; and no later job when the mail comes again.

        The letter notes what is meant before that is stopped; a second copy finishes what a crash cut short.
        """
        meant = await stop_means(self.backend.ledger, lane, draft.record.session or "")
        letter = self.letter(LetterKind.STOPPED, draft.record, StopRequest(tuple(meant)))
        kept = await self.keep(draft, MailState.ANSWERED, Wish.STOP.value, letter)
        noted = await self._noted(kept)
        for job in meant:
            if job in noted:
                await self.backend.control.interrupt(lane, job)
        return kept

    async def _noted(self, kept: MailRecord) -> list[JobId]:
        letters = await self.backend.outbox.letters(limit=len(LetterKind), about=kept.id)
        return [
            job for letter, _ in letters if isinstance(letter.facts, StopRequest) for job in letter.facts.jobs
        ]

    async def refuse_to_read(self, draft: Admission, reason: str, problem: MailProblem) -> MailRecord:
        """Answer with what is wrong with the mail."""
        letter = self.letter(LetterKind.UNREADABLE, draft.record, MailFault(problem))
        return await self.keep(draft, MailState.UNREADABLE, reason, letter)

    async def keep(self, draft: Admission, state: MailState, reason: str, *letters: Letter) -> MailRecord:
        """Store what became of a mail and all that follows from it, in one step."""
        admission = replace(draft, record=replace(draft.record, state=state, reason=reason), letters=letters)
        kept = await self.backend.admissions.admit(admission)
        return await self._over_quota(draft, kept) if isinstance(kept, Bucket) else kept

    def letter(self, kind: LetterKind, record: MailRecord, facts: LetterFacts | None = None) -> Letter:
        """Write down what a letter that answers the mail is about."""
        return Letter(record.id, kind, record.id, facts, self.clock.now())
