"""How much is sent, which letters must not be, and which may wait. Loops of machines that answer end here."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.addresses import is_unattended
from webordinary.core.errors import BadLimits
from webordinary.core.job import ENDED
from webordinary.core.mail import FINAL_LETTERS, Letter, LetterKind, MailState, SessionId
from webordinary.ports.quotas import Bucket
from webordinary.reply.compose import Letterhead
from webordinary.reply.context import Case

# Kinds whose letter is about a job; every other kind is about a mail.
ABOUT_A_JOB = FINAL_LETTERS | {LetterKind.ACCEPTED}
# Kind words that nobody misses when there are too many: the answer itself follows.
COURTESIES = frozenset({LetterKind.ACCEPTED})

# Answers to people whom no project may know.
TO_STRANGERS = frozenset({LetterKind.REFUSED, LetterKind.UNREADABLE})
# What somebody else's mail can make us send to an address, and what nobody misses the tenth time.
UNASKED = TO_STRANGERS | {LetterKind.CONFIRM, LetterKind.SET_ASIDE, LetterKind.OVER_QUOTA}


@dataclass(frozen=True, slots=True)
class SendingLimits:
    """The times and counts of sending. All are settings."""

    at_once: int = 8
    poll_seconds: float = 2.0  # how long a look for letters lasts, and so how long stopping may take
    hold_seconds: float = 180.0  # nobody else is given a letter for so long ...
    send_seconds: float = 60.0  # ... and handing it over must be over well before
    stop_seconds: float = 20.0  # after a stop, what is being sent may take so long

    replies_per_hour: int = 30  # in one conversation, so many at once too; half of that for courtesies
    letters_per_hour: int = 60  # to one address, of every kind
    unasked_letters_per_hour: int = 5  # to one address, of those that a forger can cause
    stranger_letters_per_hour: int = 100  # to all strangers together
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

    def caps(self, kind: LetterKind, recipient: str, session: SessionId | None) -> tuple[Bucket, ...]:
        """What a letter takes from: it goes out while there is some left in all of them."""
        local, _, domain = recipient.lower().rpartition("@")
        address = f"{local.partition('+')[0]}@{domain}"
        scopes = {f"to {address}": self.letters_per_hour}
        if session is not None:
            scopes[f"in the conversation {session}"] = self.replies_per_hour
        caps = {f"letters {scope}": most for scope, most in scopes.items()}
        if kind in COURTESIES:
            caps |= {f"courtesies {scope}": (most + 1) // 2 for scope, most in scopes.items()}
        if kind in UNASKED:
            caps[f"unasked letters to {address}"] = self.unasked_letters_per_hour
        if kind in TO_STRANGERS:
            caps["letters to strangers"] = self.stranger_letters_per_hour
        return tuple(Bucket(key, most, most) for key, most in caps.items())

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
    if mail.state is not MailState.IGNORED and letter.kind is LetterKind.SET_ASIDE:
        return "the mail was taken up after all"
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
