"""A mail comes in: read it, authenticate it, find its lane, queue its job. Stages 1 to 3, in order.

Every step may be repeated. Only when all of it is durable is the mail acknowledged; a crash before that
means that the sender's server delivers it again, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from webordinary.core.addresses import without_tag
from webordinary.core.errors import CannotTellNow
from webordinary.core.job import Intent, JobId
from webordinary.core.lane import Lane
from webordinary.core.language import Language
from webordinary.core.letter_facts import (
    LetterFacts,
    MailFault,
    NotAMember,
    ProjectChoice,
    Question,
    StopRequest,
    UnclearWords,
)
from webordinary.core.mail import (
    Authenticated,
    Envelope,
    KeptFile,
    Letter,
    LetterKind,
    MailId,
    MailProblem,
    MailRecord,
    MailState,
    NotAuthenticated,
    ParsedMail,
    SessionId,
    SignedOnly,
    StretchKind,
    UnreadableMail,
)
from webordinary.core.signed_addresses import lengthened_id, session_from_addresses, shortened_id
from webordinary.core.site import Session
from webordinary.core.text import one_line
from webordinary.dispatch.arrival_policy import stop_means
from webordinary.dispatch.quota import QuotaLimits, buckets, window
from webordinary.dispatch.submit import Request, submit_mail
from webordinary.flows.automatic_mail import AutomaticMail
from webordinary.flows.history import History
from webordinary.flows.records import new_record
from webordinary.flows.status import status_of
from webordinary.identify.find import (
    AnswerTo,
    Found,
    Several,
    Stranger,
    chosen_lane,
    identify,
    mail_id,
    usual_language,
)
from webordinary.identify.intent import Wish, read_arrival, said, says_yes, wish_of
from webordinary.identify.members import address_on_file, is_member
from webordinary.intake.attachments import web_ready
from webordinary.intake.authenticate import Trust, authenticate
from webordinary.intake.known_history import may_hide_own_words
from webordinary.intake.language import declared_language, language_of
from webordinary.intake.signed_view import UNSETTLED, as_signed, says_the_same, words_hash
from webordinary.ports.admissions import Admission
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.images import Images
from webordinary.ports.mail_checks import MailChecks
from webordinary.ports.mail_reader import MailReader
from webordinary.ports.mailer import Letters
from webordinary.ports.quotas import Bucket
from webordinary.ports.workflow import Workflow

JOB_INTENTS = {
    Wish.EDIT: Intent.EDIT,
    Wish.UNDO: Intent.UNDO,
    Wish.REDO: Intent.REDO,
    Wish.PUBLISH: Intent.PUBLISH,
}
CONFIRMATION = "yes-"  # a token that was mailed to the address on file, for one mail
KNOWN_LANES_SHOWN = 20
CLAIMED_NAME_CHARACTERS = 100
SEE_FILES, SEE_TEXT = "See the attached files.", "See the text that came with this."

Mail = ParsedMail | UnreadableMail


@dataclass(frozen=True, slots=True)
class Reception:
    """Everything a mail meets on its way in."""

    backend: Backend
    reader: MailReader
    checks: MailChecks
    images: Images
    clock: Clock
    trust: Trust
    quotas: QuotaLimits
    token_key: bytes
    workflow: Workflow | None = None  # who follows jobs from outside the store, if anybody
    letters: Letters | None = None  # what was sent: a mail that quotes it says nothing new

    async def receive(self, raw: bytes, envelope: Envelope, *, may_come_again: bool = False) -> MailRecord:
        """Take a mail in; when this returns, what became of it is durable.

        `may_come_again`: whoever brings it would bring it again. Then a sender that can't be looked up just
        now raises `CannotTellNow` instead of being doubted for good.
        """
        mail = await self.reader.read(raw)
        draft = Admission(new_record(mail, self.clock.now()), raw)
        if envelope.is_for_postmaster:
            return await self._keep(draft, MailState.QUARANTINED, "it is for the postmaster")
        looking = AutomaticMail(self.backend, self.checks, self.clock, self.trust, self.token_key)
        if (original := await looking.wanted_after_all(mail, envelope)) is not None:
            await self._take_up(original, original.from_address, None)
            return await self._keep(draft, MailState.ANSWERED, "asked for a mail that was set aside")
        aside = await looking.look_at(mail, draft.record, raw, envelope)
        if aside is not None:
            return await self._keep_and_ask(mail, draft, MailState.IGNORED, aside.reason, aside.ask)
        if isinstance(mail, UnreadableMail):
            return await self._unreadable(mail, draft, envelope)
        session_id = session_from_addresses(envelope.recipients, mail.session_header, self.token_key)
        if session_id.startswith(CONFIRMATION):
            return await self._confirmed(mail, draft, lengthened_id(session_id.removeprefix(CONFIRMATION)))
        checks = await self.checks.check(raw, envelope, mail.from_address)
        match authenticate(mail, checks, self.trust):
            case Authenticated(address, _, signed):
                await self.backend.bounces.forget(address)
                if signed is not None:
                    return await self._from_signer(mail, draft, address, signed)
                return await self._from_member(mail, draft, address, session_id)
            case NotAuthenticated() as doubt:
                if checks.unsure and may_come_again:
                    raise CannotTellNow(
                        f"the sender {mail.from_address} can't be looked up now: {doubt.reason}"
                    )
                return await self._doubted(mail, draft, doubt)

    async def keep_unread(self, header: bytes, reason: str) -> MailRecord:
        """Keep what is known of a mail that is not taken, its header and why, for the operator."""
        draft = Admission(new_record(await self.reader.read(header), self.clock.now()), header)
        return await self._keep(draft, MailState.QUARANTINED, reason)

    async def _from_signer(
        self, mail: ParsedMail, draft: Admission, sender: str, signed: SignedOnly
    ) -> MailRecord:
        """Go on with a mail that rests on a signature: only what is signed says what it is and belongs to."""
        bound = as_signed(mail, await self.reader.read(draft.raw, signed.parts))
        if bound is None:
            return await self._doubted(mail, draft, NotAuthenticated(UNSETTLED, weak=True))
        draft = replace(draft, record=replace(draft.record, references=bound.references))
        session_id = session_from_addresses(signed.recipients, bound.session_header, self.token_key)
        return await self._from_member(bound, draft, sender, session_id)

    # --- who may not, and who might -----------------------------------------------------------------

    async def _doubted(self, mail: ParsedMail, draft: Admission, doubt: NotAuthenticated) -> MailRecord:
        """Keep it for the operator. A member whose server proves little is asked at the address on file."""

        def ask(record: MailRecord) -> Letter:
            token = f"{CONFIRMATION}{shortened_id(record.id)}"
            return self._letter(LetterKind.CONFIRM, record, Question(token, mail.excerpt))

        asks = doubt.weak and await is_member(draft.record.from_address, self.backend.directory)
        return await self._keep_and_ask(
            mail, draft, MailState.QUARANTINED, doubt.reason, ask if asks else None
        )

    async def _keep_and_ask(
        self,
        mail: Mail,
        draft: Admission,
        state: MailState,
        reason: str,
        ask: Callable[[MailRecord], Letter] | None,
    ) -> MailRecord:
        """Keep a mail, and ask about it: a yes carries out what is kept, so that must be what is shown.

        Somebody may have sent other words with its Message-ID before. It gets a record of its own then.
        """
        kept = await self._keep(draft, state, reason)
        is_open = kept.state in {MailState.QUARANTINED, MailState.IGNORED}
        if ask is None or not is_open or isinstance(mail, UnreadableMail):
            return kept
        raw = await self.backend.blobs.get(kept.blob)
        same = raw == draft.raw or says_the_same(mail, await self.reader.read(raw, sender=kept.from_address))
        if not same or kept.state is not state:
            own_id = mail_id(f"{mail.message_id} {words_hash(mail)}", draft.record.from_address)
            draft = replace(draft, record=replace(draft.record, id=own_id))
        return await self._keep(draft, state, reason, ask(draft.record))

    async def _confirmed(self, mail: ParsedMail, draft: Admission, confirmed: MailId) -> MailRecord:
        """Whoever has this token reads the member's mailbox: the one mail it was made for is theirs."""
        original = await self.backend.mailbox.mail(confirmed)
        if original is None or without_tag(original.from_address) != without_tag(mail.from_address):
            reason = "it confirms a mail that is not its sender's"
            return await self._keep(draft, MailState.QUARANTINED, reason)
        if not says_yes(said(mail.own_words, mail.subject)):
            return await self._keep(draft, MailState.ANSWERED, "did not confirm an earlier mail")
        if original.state is MailState.QUARANTINED:
            await self._take_up(original, original.from_address, None)
        return await self._keep(draft, MailState.ANSWERED, "confirmed an earlier mail")

    async def _take_up(self, original: MailRecord, sender: str, lane: Lane | None) -> None:
        """Go on with a mail that had to wait for its sender's word."""
        raw = await self.backend.blobs.get(original.blob)
        mail = await self.reader.read(raw, sender=original.from_address)
        if not isinstance(mail, ParsedMail):
            return
        if lane is None:
            await self._from_member(mail, Admission(original), sender, "")
        else:
            await self._dispatch(mail, Admission(original), sender, Found(lane, None, "answer"))

    async def _unreadable(self, mail: UnreadableMail, draft: Admission, envelope: Envelope) -> MailRecord:
        """Answer with a plain sentence, but only to somebody who was shown to have written it."""
        if not mail.reply_to:
            return await self._unclear(mail, draft)
        checks = await self.checks.check(draft.raw, envelope, mail.reply_to)
        verdict = authenticate(mail.bare(), checks, self.trust)
        if isinstance(verdict, NotAuthenticated):
            return await self._keep(draft, MailState.QUARANTINED, f"{mail.reason}; {verdict.reason}")
        return await self._refuse_to_read(draft, mail.reason, mail.problem)

    async def _unclear(self, mail: UnreadableMail, draft: Admission) -> MailRecord:
        """Ask the one member who may have written a mail whose From can be read in more than one way."""
        members = [address for address in mail.maybe_from if await is_member(address, self.backend.directory)]
        read = await self.reader.read(draft.raw, sender=members[0]) if len(members) == 1 else None
        if not isinstance(read, ParsedMail):
            return await self._keep(draft, MailState.QUARANTINED, mail.reason)
        draft = replace(draft, record=new_record(read, self.clock.now()))
        return await self._doubted(read, draft, NotAuthenticated(mail.reason, weak=True))

    # --- members --------------------------------------------------------------------------------------

    async def _from_member(
        self, mail: ParsedMail, draft: Admission, sender: str, session_id: str
    ) -> MailRecord:
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
                await self._take_up(question, sender, lane)
                return await self._keep(draft, MailState.ANSWERED, f"said that it is about {lane.project}")
            case Stranger(reason, project):
                letter = self._letter(LetterKind.REFUSED, draft.record, NotAMember(project))
                return await self._keep(draft, MailState.REFUSED, reason, letter)

    async def _ask(self, mail: ParsedMail, draft: Admission, lanes: tuple[Lane, ...]) -> MailRecord:
        if wish_of(mail) is Wish.COURTESY:
            return await self._keep(draft, MailState.IGNORED, Wish.COURTESY.value)
        choice = ProjectChoice(tuple(lane.project for lane in lanes[:KNOWN_LANES_SHOWN]))
        letter = self._letter(LetterKind.ASKED, draft.record, choice)
        return await self._keep(draft, MailState.ANSWERED, "asked which project", letter)

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
            history = History(self.backend, self.reader, self.letters)
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
            return await self._keep(draft, MailState.IGNORED, wish.value)
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

    async def _over_quota(self, draft: Admission, empty: Bucket) -> MailRecord:
        record = replace(draft.record, lane=None, session=None, files=())
        about = f"quota {empty.key} {window(self.clock.now())}"
        letter = Letter(about, LetterKind.OVER_QUOTA, record.id, owed_at=self.clock.now())
        reason = f"too much mail at once ({empty.key})"
        return await self._keep(Admission(record, draft.raw), MailState.REFUSED, reason, letter)

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
            return await self._refuse_to_read(draft, "it was empty", MailProblem.EMPTY)
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

    async def _answer_at_once(self, mail: ParsedMail, draft: Admission, lane: Lane, wish: Wish) -> MailRecord:
        """Stop, status and help need no worker, nor does a question of ours."""
        match wish:
            case Wish.STOP:
                return await self._stop(draft, lane)
            case Wish.STATUS:
                letter = self._letter(LetterKind.STATUS, draft.record, await status_of(lane, self.backend))
            case Wish.UNCLEAR:
                words = said(mail.own_words, mail.subject)
                letter = self._letter(LetterKind.UNCLEAR, draft.record, UnclearWords(words))
            case _:
                letter = self._letter(LetterKind.HELP, draft.record)
        return await self._keep(draft, MailState.ANSWERED, wish.value, letter)

    async def _stop(self, draft: Admission, lane: Lane) -> MailRecord:
        """Stop what this conversation asked for, else what runs; and no later job when the mail comes again.

        The letter notes what is meant before that is stopped; a second copy finishes what a crash cut short.
        """
        meant = await stop_means(self.backend.ledger, lane, draft.record.session or "")
        letter = self._letter(LetterKind.STOPPED, draft.record, StopRequest(tuple(meant)))
        kept = await self._keep(draft, MailState.ANSWERED, Wish.STOP.value, letter)
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

    # --- keeping --------------------------------------------------------------------------------------

    async def _refuse_to_read(self, draft: Admission, reason: str, problem: MailProblem) -> MailRecord:
        letter = self._letter(LetterKind.UNREADABLE, draft.record, MailFault(problem))
        return await self._keep(draft, MailState.UNREADABLE, reason, letter)

    async def _keep(self, draft: Admission, state: MailState, reason: str, *letters: Letter) -> MailRecord:
        """Store what became of a mail and all that follows from it, in one step."""
        admission = replace(draft, record=replace(draft.record, state=state, reason=reason), letters=letters)
        kept = await self.backend.admissions.admit(admission)
        return await self._over_quota(draft, kept) if isinstance(kept, Bucket) else kept

    def _letter(self, kind: LetterKind, record: MailRecord, facts: LetterFacts | None = None) -> Letter:
        return Letter(record.id, kind, record.id, facts, self.clock.now())
