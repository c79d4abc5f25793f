"""Which letters must not be sent, and which may wait. Loops of machines that answer each other end here."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.errors import BadLimits
from webordinary.core.job import ENDED
from webordinary.core.mail import FINAL_LETTERS, Letter, LetterKind, MailState
from webordinary.core.unattended import is_unattended
from webordinary.reply.compose import Letterhead
from webordinary.reply.facts import Case

# Kinds whose letter is about a job; every other kind is about a mail.
ABOUT_A_JOB = FINAL_LETTERS | {LetterKind.ACCEPTED}
# Kind words that nobody misses when there are too many: the answer itself follows.
COURTESIES = frozenset({LetterKind.ACCEPTED})

# What is told to people whom no project may know.
TO_STRANGERS = frozenset({LetterKind.REFUSED, LetterKind.UNREADABLE})


@dataclass(frozen=True, slots=True)
class SendingLimits:
    """The times and counts of sending. All are settings."""

    at_once: int = 8
    poll_seconds: float = 2.0  # how long a look for letters lasts, and so how long stopping may take
    hold_seconds: float = 180.0  # nobody else is given a letter for so long ...
    send_seconds: float = 60.0  # ... and handing it over must be over well before
    stop_seconds: float = 20.0  # what is being sent when told to stop may take so long

    replies_per_hour: int = 30  # in one conversation; courtesies only while half of them are left
    capped_seconds: float = 15 * 60.0  # an answer beyond that waits so long for room

    attempts_max: int = 60  # about two days
    attempts_without_mail_max: int = 6  # the mail of a job may be stored a moment after the job
    retry_first_seconds: float = 5.0
    retry_most_seconds: float = 60 * 60.0

    def __post_init__(self) -> None:
        """Refuse limits under which two senders could have one letter."""
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise BadLimits(f"{name} must be more than zero")
        if self.send_seconds * 2 > self.hold_seconds:
            raise BadLimits(
                f"a letter that is held for {self.hold_seconds:g} s must be handed over within half of that"
            )

    def cap(self, kind: LetterKind) -> int:
        """How many letters a conversation may have had within an hour for one of this kind to go out."""
        return (self.replies_per_hour + 1) // 2 if kind in COURTESIES else self.replies_per_hour

    def retry_delay(self, attempts: int, chance: float) -> float:
        """How long a letter waits after its attempt number `attempts`: between half and all of the step."""
        doublings = min(max(attempts - 1, 0), 32)
        step = min(self.retry_first_seconds * 2**doublings, self.retry_most_seconds)
        return float(step) * (0.5 + chance / 2)


def why_not_send(letter: Letter, case: Case, letterhead: Letterhead) -> str:
    """Say why a letter must not go out; "" if it may. Intake saw to it first; this is the second look."""
    mail, job = case.mail, case.job
    local, _, domain = mail.from_address.lower().rpartition("@")
    if mail.state is MailState.IGNORED and letter.kind is not LetterKind.SET_ASIDE:
        return f"the mail it answers is automatic: {mail.reason}"
    if mail.state is MailState.QUARANTINED and letter.kind is not LetterKind.CONFIRM:
        return "nobody knows who wrote the mail it answers"
    if letter.kind in TO_STRANGERS and is_unattended(mail.from_address):
        return "nobody reads mail at the address it would go to"
    if f"{local.partition('+')[0]}@{domain}" == letterhead.address.lower():
        return "it would go to ourselves"
    if _is_ours(mail.message_id, letterhead.domain):
        return "it would answer a letter of our own"
    if letter.kind in COURTESIES and job is not None and job.state in ENDED:
        return "the request has ended already: its last letter says it all"
    return ""


def _is_ours(message_id: str, domain: str) -> bool:
    """Tell our Message-IDs from others of our domain, where people may have their mail too."""
    kind, _, rest = message_id.strip("<>").partition(".")
    return kind in set(LetterKind) and rest.lower().endswith(f"@{domain.lower()}")
