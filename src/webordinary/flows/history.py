"""What a conversation has said already: earlier mails of it, and our own letters."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.lane import Lane
from webordinary.core.mail import MailId, MailRecord, ParsedMail, Stretch, StretchKind
from webordinary.identify.find import mail_id
from webordinary.intake.known_history import new_stretches
from webordinary.intake.limits import KNOWN_CHARACTERS
from webordinary.ports.backend import Backend
from webordinary.ports.mail_reader import MailReader
from webordinary.ports.mailer import SentLetters

JOBS_LOOKED_AT = 50
MAILS_COMPARED = 10  # the last ones: a quote has those before it inside
LETTERS_OF_EACH = 10


@dataclass(frozen=True, slots=True)
class ConversationHistory:
    """Tells what is new in a mail from what its conversation holds already."""

    backend: Backend
    reader: MailReader
    letters: SentLetters | None = None

    async def new_in(self, mail: ParsedMail, lane: Lane, session: str, before: float) -> tuple[Stretch, ...]:
        """Give a mail's stretches without what it quotes of texts from before that moment.

        What can't be looked up is not known: then the quote stays, marked as one.
        """
        texts: list[str] = []
        if any(stretch.kind is StretchKind.QUOTED for stretch in mail.stretches):
            try:
                texts = await self._texts(mail, lane, session, before)
            except (BackendUnavailable, NotFound):
                texts = []
        return await asyncio.to_thread(new_stretches, mail.stretches, texts, has_files=bool(mail.files))

    async def _texts(self, mail: ParsedMail, lane: Lane, session: str, before: float) -> list[str]:
        jobs = await self.backend.ledger.jobs(limit=JOBS_LOOKED_AT, lane=lane)
        itself = mail_id(mail.message_id or mail.content_hash, mail.from_address)
        own = [job for job in jobs if job.session == session and job.submitted_at < before]
        own = [job for job in own if job.message_id != itself]
        texts = [job.instruction for job in own[:MAILS_COMPARED]]
        for record in await self._earlier(mail, [MailId(job.message_id) for job in own], before):
            texts += await self._letters_about(record, before)
            if not record.files:  # one with photos is large, and the words of its job are known
                texts += await self._text(await self.backend.blobs.get(record.blob))
            if sum(map(len, texts)) > KNOWN_CHARACTERS:
                break
        return texts

    async def _earlier(self, mail: ParsedMail, of_jobs: list[MailId], before: float) -> list[MailRecord]:
        """The conversation's mails from before that moment, newest first."""
        answered = reversed([*mail.references, *mail.in_reply_to])
        ids = [*of_jobs, *(mail_id(message_id, mail.from_address) for message_id in answered)]
        records: list[MailRecord] = []
        for one in list(dict.fromkeys(ids))[:JOBS_LOOKED_AT]:
            record = await self.backend.mailbox.mail(one)
            if record is not None and record.received_at < before:
                records.append(record)
            if len(records) == MAILS_COMPARED:
                break
        return records

    async def _letters_about(self, record: MailRecord, before: float) -> list[str]:
        texts: list[str] = []
        for about in filter(None, (record.job, record.id)):
            for letter, _ in await self.backend.outbox.letters(limit=LETTERS_OF_EACH, about=about):
                if self.letters is not None and letter.owed_at < before:
                    copy = await self.letters.copy(letter.key)
                    texts += await self._text(copy) if copy else []
        return texts

    async def _text(self, raw: bytes) -> list[str]:
        parsed = await self.reader.read(raw)
        return ["\n".join(one.text for one in parsed.stretches)] if isinstance(parsed, ParsedMail) else []
