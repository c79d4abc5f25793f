"""Automatic mail that comes in: which is set aside, who is asked, and which letter of ours came back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from webordinary.core.facts import Question
from webordinary.core.mail import (
    Authenticated,
    Automatic,
    Automation,
    Envelope,
    Letter,
    LetterKind,
    MailRecord,
    ParsedMail,
    UnreadableMail,
)
from webordinary.core.signed_addresses import (
    SentLetter,
    lengthened_id,
    letter_from_addresses,
    session_from_addresses,
    shortened_id,
)
from webordinary.identify.find import is_member
from webordinary.identify.intent import says_yes
from webordinary.intake.authenticate import Trust, authenticate
from webordinary.intake.auto_replies import envelope_automation, why_undeliverable
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.mail_checks import MailChecks

ASIDE = "aside-"  # a token that was mailed to the address on file, for one mail that was set aside
DAY_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class SetAside:
    """A mail that is kept and becomes nothing; perhaps its sender is asked."""

    reason: str
    ask: Callable[[MailRecord], Letter] | None = None


@dataclass(frozen=True, slots=True)
class AutomaticMail:
    """Tells automatic mail from people's."""

    backend: Backend
    checks: MailChecks
    clock: Clock
    trust: Trust
    token_key: bytes

    async def look_at(
        self, mail: ParsedMail | UnreadableMail, record: MailRecord, raw: bytes, envelope: Envelope
    ) -> SetAside | None:
        """Say why a mail is set aside; None if it is a person's. A letter that came back is noted."""
        automatic = mail.automatic or envelope_automation(envelope)
        if automatic is None:
            return None
        match automatic.kind:
            case Automation.MACHINE:
                letter = letter_from_addresses(envelope.recipients, self.token_key)
                return await self._came_back(letter, raw, automatic) if letter else SetAside(automatic.reason)
            case Automation.INDIRECT:
                return await self._ask(mail, record, raw, envelope, automatic)
            case Automation.SUSPECT:
                known = await is_member(record.from_address, self.backend.directory)
                return None if known else SetAside(automatic.reason)

    async def wanted_after_all(
        self, mail: ParsedMail | UnreadableMail, envelope: Envelope
    ) -> MailRecord | None:
        """Find the mail that was set aside and to which its sender says yes; None: this says something else.

        Asked before anything is set aside: whose provider stamps all their mail can say yes all the same.
        """
        token = session_from_addresses(envelope.recipients, "", self.token_key)
        if not token.startswith(ASIDE) or isinstance(mail, UnreadableMail) or not says_yes(mail.own_words):
            return None
        original = await self.backend.mailbox.mail(lengthened_id(token.removeprefix(ASIDE)))
        return original if original and original.from_address == mail.from_address else None

    async def _came_back(self, letter: SentLetter, raw: bytes, automatic: Automatic) -> SetAside:
        """Note that a letter of ours came back for good, if that is what the report says."""
        answered = await self.backend.mailbox.mail(letter.mail)
        reason = why_undeliverable(raw)
        if not reason or answered is None:
            return SetAside(automatic.reason)
        member = answered.from_address
        if await is_member(member, self.backend.directory):
            await self.backend.bounces.note(member, str(letter), reason)
        return SetAside(f"the letter {letter} to {member} came back: {reason}")

    async def _ask(
        self,
        mail: ParsedMail | UnreadableMail,
        record: MailRecord,
        raw: bytes,
        envelope: Envelope,
        automatic: Automatic,
    ) -> SetAside:
        """Tell a member who wrote through a list or in bulk.

        A list takes away what shows who wrote a mail: that nothing speaks against it is enough here, for
        the letter goes to the address on file.
        """
        known = await is_member(record.from_address, self.backend.directory)
        if not known or isinstance(mail, UnreadableMail):
            return SetAside(automatic.reason)
        checks = await self.checks.check(raw, envelope, mail.from_address)
        verdict = authenticate(mail, checks, self.trust)
        if not isinstance(verdict, Authenticated) and not verdict.weak:
            return SetAside(automatic.reason)
        return SetAside(automatic.reason, partial(self._letter, mail))

    def _letter(self, mail: ParsedMail, record: MailRecord) -> Letter:
        """One a day."""
        about = f"set aside {mail.from_address} {int(self.clock.now() // DAY_SECONDS)}"
        question = Question(f"{ASIDE}{shortened_id(record.id)}", mail.excerpt)
        return Letter(about, LetterKind.SET_ASIDE, record.id, question)
