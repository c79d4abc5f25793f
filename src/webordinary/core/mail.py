"""Mail as plain values. Nothing after intake touches a mail library's object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NewType

from webordinary.core.addresses import POSTMASTER
from webordinary.core.facts import (
    Accepted,
    Ending,
    LetterFacts,
    MailFault,
    NotAMember,
    ProjectChoice,
    Question,
    StatusReport,
    StopRequest,
    UnclearWords,
)
from webordinary.core.failure import MailProblem
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.language import Language
from webordinary.core.text import storable

EXCERPT_CHARACTERS = 600

MailId = NewType("MailId", str)  # made by us from Message-ID or content; safe as a key and as a file name
SessionId = NewType("SessionId", str)


@dataclass(frozen=True, slots=True)
class Envelope:
    """How a mail came in: what the line said, not what the mail says of itself."""

    peer: str = ""  # IP address of who handed it over, or a mail service's name; "" where nobody knows
    helo: str = ""
    mail_from: str = ""  # "" is the null sender of bounces
    recipients: tuple[str, ...] = ()

    @property
    def is_for_postmaster(self) -> bool:
        """Whether it is meant for the operator and for nobody else."""
        mailboxes = {recipient.partition("@")[0].lower() for recipient in self.recipients}
        return mailboxes == {POSTMASTER}


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file in a mail, under a name of our making."""

    name: str  # made by us: lower-case ASCII, with the extension of its real kind
    claimed_name: str  # what the mail called it; for people, never for a path
    kind: str  # MIME type by its first bytes
    content: bytes = field(repr=False)
    content_id: str = ""  # of an inline image


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of a mail that was kept: its name of our making, its kind, and where its bytes are."""

    name: str
    kind: str
    blob: str
    claimed_name: str = ""  # what its sender calls it, in one clean line; for people, never for a path


class FileProblem(StrEnum):
    """Why a file is left out; the words for it are in `reply/templates`."""

    ARCHIVE = "archive"
    PROGRAM = "program"
    SVG = "svg"
    WEB_PAGE = "web_page"
    FILM_OR_SOUND = "film_or_sound"
    OLD_OFFICE = "old_office"
    WITH_MACROS = "with_macros"
    WINMAIL = "winmail"
    UNKNOWN = "unknown"
    EMPTY = "empty"
    DAMAGED = "damaged"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    NOT_READABLE = "not_readable"
    TOO_MANY_PIXELS = "too_many_pixels"
    TOO_SMALL = "too_small"
    TOO_MUCH = "too_much"
    OTHER = "other"

    @classmethod
    def _missing_(cls, _value: object) -> FileProblem:
        """Older rows have a sentence instead."""
        return cls.OTHER


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was left out, and why."""

    claimed_name: str
    problem: FileProblem


class Automation(StrEnum):
    """How a mail came about without a person who waits for an answer."""

    MACHINE = "machine"  # it says so: never answered, whoever it is from
    INDIRECT = "indirect"  # through a list, in bulk: set aside, and a member is told
    SUSPECT = "suspect"  # it only looks so: enough for silence to a stranger, not to a member


@dataclass(frozen=True, slots=True)
class Automatic:
    """That a mail is automatic, and by which sign."""

    kind: Automation
    reason: str


class StretchKind(StrEnum):
    """What a stretch of a mail's text looks like. A mark for whoever reads it, never a reason to drop it."""

    OWN = "own"  # the sender's own words
    QUOTED = "quoted"  # an earlier mail, or what is marked like one
    ATTRIBUTION = "attribution"  # "On Sunday somebody wrote:", written by a mail program
    FORWARDED = "forwarded"
    SIGNATURE = "signature"
    LEGAL = "legal"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines of a mail that belong together."""

    kind: StretchKind
    text: str


def own_words(stretches: Iterable[Stretch]) -> str:
    """What the sender wrote, without what is marked as anything else."""
    return "\n\n".join(stretch.text for stretch in stretches if stretch.kind is StretchKind.OWN)


@dataclass(frozen=True, slots=True)
class ParsedMail:
    """A mail that was understood. The From address is what it claims, not yet who sent it."""

    message_id: str  # "" if it has none
    content_hash: str
    from_address: str  # the one address, lower case
    from_domain: str
    subject: str
    stretches: tuple[Stretch, ...]  # every visible line, in order
    in_reply_to: tuple[str, ...]
    references: tuple[str, ...]
    session_header: str  # our own header, if the client kept it
    files: tuple[FoundFile, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    automatic: Automatic | None = None  # None: a person wrote it to us
    is_reaction: bool = False  # an emoji on one of our letters, by a mail program's button
    declared_language: str = ""  # what its header says; the words are better evidence

    @property
    def own_words(self) -> str:
        """What the sender wrote, without what is marked as anything else."""
        return own_words(self.stretches)

    @property
    def excerpt(self) -> str:
        """Its beginning, for somebody who is asked whether to carry it out: a subject is not enough.

        Who says yes has to see that there is more.
        """
        text = self.own_words or "\n".join(stretch.text for stretch in self.stretches)
        more = len(text) - EXCERPT_CHARACTERS
        return storable(text[:EXCERPT_CHARACTERS] + (f" [… +{more}]" if more > 0 else ""))


@dataclass(frozen=True, slots=True)
class UnreadableMail:
    """A mail that could not be understood; its sender is told the problem, the operator the reason."""

    content_hash: str
    reason: str
    message_id: str = ""
    reply_to: str = ""  # the one From address if at least that was clear, else ""
    automatic: Automatic | None = None
    problem: MailProblem = MailProblem.DAMAGED
    maybe_from: tuple[str, ...] = ()  # if it was not: the addresses that are in its From lines

    def bare(self) -> ParsedMail:
        """As much of it as authentication looks at."""
        return ParsedMail(
            message_id=self.message_id,
            content_hash=self.content_hash,
            from_address=self.reply_to,
            from_domain=self.reply_to.rpartition("@")[2],
            subject="",
            stretches=(),
            in_reply_to=(),
            references=(),
            session_header="",
        )


@dataclass(frozen=True, slots=True)
class SignedParts:
    """What a DKIM signature covers besides the body."""

    headers: frozenset[str] = frozenset()  # their names, lower case; also of headers that are not there
    relaxed_body: bool = False  # the amount of white space in the body is not signed


@dataclass(frozen=True, slots=True)
class SignedOnly:
    """A mail whose only proof is a signature: whoever has a copy may have changed the rest, or sent it on."""

    parts: SignedParts
    recipients: tuple[str, ...]  # those of our addresses that are in its signed To and Cc


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The From address was shown to be true."""

    address: str
    by: str  # how, for the ledger: "dkim example.com"
    signed_only: SignedOnly | None = None  # None: whoever sent it is shown by the way it came, too


@dataclass(frozen=True, slots=True)
class NotAuthenticated:
    """It was not. `weak` means: nothing speaks against it either, a confirm link may help."""

    reason: str
    weak: bool = False


Authentication = Authenticated | NotAuthenticated


class MailState(StrEnum):
    """What became of a mail."""

    ACCEPTED = "accepted"  # a job in a lane
    ANSWERED = "answered"  # answered without a job: help, status, stop, a question
    REFUSED = "refused"  # its sender may not do this; told so
    IGNORED = "ignored"  # automatic mail, or thanks: kept, set aside
    QUARANTINED = "quarantined"  # sender not shown to be true: kept for the operator
    UNREADABLE = "unreadable"  # could not be understood; answered with a plain sentence


@dataclass(frozen=True, slots=True)
class MailRecord:
    """A mail as we keep it: enough to answer it in its thread."""

    id: MailId
    message_id: str
    state: MailState
    reason: str
    from_address: str
    subject: str
    references: tuple[str, ...]
    received_at: float
    blob: str  # where the raw bytes are
    lane: Lane | None = None
    session: SessionId | None = None
    job: JobId | None = None
    files: tuple[KeptFile, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    language: Language | None = None  # its letters are written in it; None: not known

    def __post_init__(self) -> None:
        """Keep a mail whatever is in it: one that no store could keep would come again and again."""
        for name in ("message_id", "reason", "from_address", "subject"):
            object.__setattr__(self, name, storable(getattr(self, name)))


# A mail in one of these states may still become something else.
OPEN_TO_CHANGE = frozenset(
    {MailState.QUARANTINED, MailState.ANSWERED, MailState.REFUSED, MailState.UNREADABLE, MailState.IGNORED}
)


def reconsidered(known: MailRecord, wanted: MailRecord) -> MailRecord:
    """What is kept of a mail that is known: one that was doubted may be believed now, never the reverse."""
    if known.state in OPEN_TO_CHANGE and wanted.state not in {MailState.QUARANTINED, MailState.IGNORED}:
        return replace(wanted, received_at=known.received_at, job=known.job)
    return known


class LetterKind(StrEnum):
    """Every kind of mail we send. One per thing it is about."""

    ACCEPTED = "accepted"
    DONE = "done"
    FAILED = "failed"
    PREEMPTED = "preempted"
    DEAD = "dead"
    REFUSED = "refused"
    ASKED = "asked"  # which project?
    CONFIRM = "confirm"  # was that you?
    OVER_QUOTA = "over-quota"
    UNREADABLE = "unreadable"
    SET_ASIDE = "set-aside"  # a member's mail came through a list or in bulk
    UNCLEAR = "unclear"  # publish, or not? nothing was done
    HELP = "help"
    STATUS = "status"
    STOPPED = "stopped"


# An answer to these does something for whoever can send it: only their reader may know where it goes.
QUESTIONS = frozenset({LetterKind.CONFIRM, LetterKind.SET_ASIDE})

# What is said about a job's end, each at most once a job.
FINAL_LETTERS = frozenset({LetterKind.DONE, LetterKind.FAILED, LetterKind.PREEMPTED, LetterKind.DEAD})


# The class of a letter's facts; the other kinds have none.
FACTS_OF: Mapping[LetterKind, type[LetterFacts]] = {
    LetterKind.ACCEPTED: Accepted,
    **dict.fromkeys(FINAL_LETTERS, Ending),
    LetterKind.CONFIRM: Question,
    LetterKind.SET_ASIDE: Question,
    LetterKind.REFUSED: NotAMember,
    LetterKind.ASKED: ProjectChoice,
    LetterKind.UNCLEAR: UnclearWords,
    LetterKind.UNREADABLE: MailFault,
    LetterKind.STOPPED: StopRequest,
    LetterKind.STATUS: StatusReport,
}


@dataclass(frozen=True, slots=True)
class Letter:
    """A reply that is owed. `about` is a job, a mail, or a window of a quota; with `kind` it is unique."""

    about: str
    kind: LetterKind
    mail: MailId | None = None  # the mail it answers; None: find it through the job
    facts: LetterFacts | None = None
    owed_at: float = 0.0  # by the store's clock
    attempts: int = (
        0  # how often it was taken to be sent; tells a former sender's word from the current one's
    )
    session: SessionId | None = None  # its conversation; None: that of its mail

    @property
    def key(self) -> str:
        """What no other letter has."""
        return f"{self.about}.{self.kind}"

    def __post_init__(self) -> None:
        """Owe a letter whatever is in its name."""
        object.__setattr__(self, "about", storable(self.about))
