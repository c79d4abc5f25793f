"""A mail comes in: read it, find out who wrote it, and go on with a member's. Stage 1; then `member_mail`.

Every step may be repeated. Only when all of it is durable is the mail acknowledged; a crash before that
means that the sender's server delivers it again, and nothing is done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from webordinary.core.addresses import without_tag
from webordinary.core.errors import CannotTellNow
from webordinary.core.facts import (
    Question,
)
from webordinary.core.mail import (
    Authenticated,
    Envelope,
    Letter,
    LetterKind,
    MailId,
    MailRecord,
    MailState,
    NotAuthenticated,
    ParsedMail,
    SignedOnly,
    UnreadableMail,
)
from webordinary.core.signed_addresses import lengthened_id, session_from_addresses, shortened_id
from webordinary.dispatch.submit import QuotaLimits
from webordinary.flows.automatic_mail import AutomaticMail
from webordinary.flows.member_mail import MemberMail
from webordinary.identify.find import (
    is_member,
    mail_id,
)
from webordinary.identify.intent import said, says_yes
from webordinary.intake.authenticate import Trust, authenticate
from webordinary.intake.language import declared_language, language_of
from webordinary.intake.signed_view import UNSETTLED, as_signed, says_the_same, words_hash
from webordinary.ports.admissions import Admission
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.images import Images
from webordinary.ports.mail_checks import MailChecks
from webordinary.ports.mail_reader import MailReader
from webordinary.ports.mailer import SentLetters
from webordinary.ports.workflow import Workflow

CONFIRMATION = "yes-"  # a token that was mailed to the address on file, for one mail

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
    letters: SentLetters | None = None  # what was sent: a mail that quotes it says nothing new

    @property
    def _members(self) -> MemberMail:
        return MemberMail(
            self.backend, self.reader, self.images, self.clock, self.quotas, self.workflow, self.letters
        )

    async def receive(self, raw: bytes, envelope: Envelope, *, may_come_again: bool = False) -> MailRecord:
        """Take a mail in; when this returns, what became of it is durable.

        `may_come_again`: whoever brings it would bring it again. Then a sender that can't be looked up just
        now raises `CannotTellNow` instead of being doubted for good.
        """
        mail = await self.reader.read(raw)
        draft = Admission(new_record(mail, self.clock.now()), raw)
        if envelope.is_for_postmaster:
            return await self._members.keep(draft, MailState.QUARANTINED, "it is for the postmaster")
        looking = AutomaticMail(self.backend, self.checks, self.clock, self.trust, self.token_key)
        if (original := await looking.wanted_after_all(mail, envelope)) is not None:
            await self._members.take_up(original, original.from_address, None)
            return await self._members.keep(draft, MailState.ANSWERED, "asked for a mail that was set aside")
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
                return await self._members.receive(mail, draft, address, session_id)
            case NotAuthenticated() as doubt:
                if checks.unsure and may_come_again:
                    raise CannotTellNow(
                        f"the sender {mail.from_address} can't be looked up now: {doubt.reason}"
                    )
                return await self._doubted(mail, draft, doubt)

    async def keep_unread(self, header: bytes, reason: str) -> MailRecord:
        """Keep what is known of a mail that is not taken, its header and why, for the operator."""
        draft = Admission(new_record(await self.reader.read(header), self.clock.now()), header)
        return await self._members.keep(draft, MailState.QUARANTINED, reason)

    async def _from_signer(
        self, mail: ParsedMail, draft: Admission, sender: str, signed: SignedOnly
    ) -> MailRecord:
        """Go on with a mail that rests on a signature: only what is signed says what it is and belongs to."""
        bound = as_signed(mail, await self.reader.read(draft.raw, signed.parts))
        if bound is None:
            return await self._doubted(mail, draft, NotAuthenticated(UNSETTLED, weak=True))
        draft = replace(draft, record=replace(draft.record, references=bound.references))
        session_id = session_from_addresses(signed.recipients, bound.session_header, self.token_key)
        return await self._members.receive(bound, draft, sender, session_id)

    # --- who may not, and who might -----------------------------------------------------------------

    async def _doubted(self, mail: ParsedMail, draft: Admission, doubt: NotAuthenticated) -> MailRecord:
        """Keep it for the operator. A member whose server proves little is asked at the address on file."""

        def ask(record: MailRecord) -> Letter:
            token = f"{CONFIRMATION}{shortened_id(record.id)}"
            return self._members.letter(LetterKind.CONFIRM, record, Question(token, mail.excerpt))

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
        kept = await self._members.keep(draft, state, reason)
        is_open = kept.state in {MailState.QUARANTINED, MailState.IGNORED}
        if ask is None or not is_open or isinstance(mail, UnreadableMail):
            return kept
        raw = await self.backend.blobs.get(kept.blob)
        same = raw == draft.raw or says_the_same(mail, await self.reader.read(raw, sender=kept.from_address))
        if not same or kept.state is not state:
            own_id = mail_id(f"{mail.message_id} {words_hash(mail)}", draft.record.from_address)
            draft = replace(draft, record=replace(draft.record, id=own_id))
        return await self._members.keep(draft, state, reason, ask(draft.record))

    async def _confirmed(self, mail: ParsedMail, draft: Admission, confirmed: MailId) -> MailRecord:
        """Whoever has this token reads the member's mailbox: the one mail it was made for is theirs."""
        original = await self.backend.mailbox.mail(confirmed)
        if original is None or without_tag(original.from_address) != without_tag(mail.from_address):
            reason = "it confirms a mail that is not its sender's"
            return await self._members.keep(draft, MailState.QUARANTINED, reason)
        if not says_yes(said(mail.own_words, mail.subject)):
            return await self._members.keep(draft, MailState.ANSWERED, "did not confirm an earlier mail")
        if original.state is MailState.QUARANTINED:
            await self._members.take_up(original, original.from_address, None)
        return await self._members.keep(draft, MailState.ANSWERED, "confirmed an earlier mail")

    async def _unreadable(self, mail: UnreadableMail, draft: Admission, envelope: Envelope) -> MailRecord:
        """Answer with a plain sentence, but only to somebody who was shown to have written it."""
        if not mail.reply_to:
            return await self._unclear(mail, draft)
        checks = await self.checks.check(draft.raw, envelope, mail.reply_to)
        verdict = authenticate(mail.bare(), checks, self.trust)
        if isinstance(verdict, NotAuthenticated):
            return await self._members.keep(draft, MailState.QUARANTINED, f"{mail.reason}; {verdict.reason}")
        return await self._members.refuse_to_read(draft, mail.reason, mail.problem)

    async def _unclear(self, mail: UnreadableMail, draft: Admission) -> MailRecord:
        """Ask the one member who may have written a mail whose From can be read in more than one way."""
        members = [address for address in mail.maybe_from if await is_member(address, self.backend.directory)]
        read = await self.reader.read(draft.raw, sender=members[0]) if len(members) == 1 else None
        if not isinstance(read, ParsedMail):
            return await self._members.keep(draft, MailState.QUARANTINED, mail.reason)
        draft = replace(draft, record=new_record(read, self.clock.now()))
        return await self._doubted(read, draft, NotAuthenticated(mail.reason, weak=True))


def new_record(mail: ParsedMail | UnreadableMail, received_at: float) -> MailRecord:
    """Make the record of a mail that just came in; what becomes of it is not decided yet."""
    sender = mail.from_address if isinstance(mail, ParsedMail) else mail.reply_to
    record = MailRecord(
        id=mail_id(mail.message_id or mail.content_hash, sender),
        message_id=mail.message_id,
        state=MailState.QUARANTINED,
        reason="",
        from_address=sender,
        subject="",
        references=(),
        received_at=received_at,
        blob="",  # named by the store
    )
    if isinstance(mail, UnreadableMail):
        return record
    return replace(
        record,
        subject=mail.subject,
        references=mail.references,
        skipped=mail.skipped,
        language=language_of(mail.own_words) or declared_language(mail.declared_language),
    )
