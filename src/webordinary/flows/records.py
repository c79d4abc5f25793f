"""The record of a mail that just came in."""

from __future__ import annotations

from dataclasses import replace

from webordinary.core.mail import MailRecord, MailState, ParsedMail, UnreadableMail
from webordinary.identify.find import mail_id
from webordinary.intake.language import declared_language, language_of


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
