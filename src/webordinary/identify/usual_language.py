"""The language that somebody wrote in before, for a mail of one word."""

from __future__ import annotations

from webordinary.core.lane import Lane
from webordinary.core.language import Language
from webordinary.core.mail import MailId, SessionId
from webordinary.ports.ledger import Ledger
from webordinary.ports.mailbox import Mailbox

JOBS_LOOKED_AT = 20


async def usual_language(lane: Lane, session: SessionId, ledger: Ledger, mailbox: Mailbox) -> Language | None:
    """The language of the conversation's last request, else of the lane's."""
    jobs = await ledger.jobs(limit=JOBS_LOOKED_AT, lane=lane)
    last = next((job for job in jobs if job.session == session), jobs[0] if jobs else None)
    mail = await mailbox.mail(MailId(last.message_id)) if last else None
    return mail.language if mail else None
