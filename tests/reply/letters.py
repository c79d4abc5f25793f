"""Ready-made mails and jobs, and a reader of finished letters."""

import re
from dataclasses import dataclass, replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from webordinary.core.claim import WorkerId
from webordinary.core.facts import Ending, Facts, LetterFacts
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import (
    FACTS_OF,
    FileProblem,
    KeptFile,
    Letter,
    LetterKind,
    MailId,
    MailRecord,
    MailState,
    SessionId,
    SkippedFile,
)
from webordinary.core.views import JobView
from webordinary.reply.compose import Composed, Letterhead, compose
from webordinary.reply.context import Case

NOW = 1_790_000_000.0
KEY = b"0123456789abcdef0123456789abcdef"
OURS = Letterhead("edit@webordinary.example", KEY)
LANE = Lane("amelia", "scott")
SESSION = SessionId("6f1ed002ab559585")

MAIL = MailRecord(
    id=MailId("6f1ed002ab5595859014ebf0951522d9"),
    message_id="<CAF+7qA9x@mail.gmail.example>",
    state=MailState.ACCEPTED,
    reason="",
    from_address="amelia@flowers.example",
    subject="Spring sale",
    references=(),
    received_at=NOW,
    blob="b",
    lane=LANE,
    session=SESSION,
)
JOB = JobView(
    id=JobId("01jq3k8w7x0c2v5n"),
    lane=LANE,
    state=JobState.QUEUED,
    instruction="\n  Change the homepage title to Spring Sale\nand put the photo on top.",
    message_id=MAIL.id,
    arrival="interrupt",
    attempt=1,
    submitted_at=NOW,
    started_at=NOW + 1,
    finished_at=None,
    due_at=None,
    worker=None,
    fence=1,
    interrupted=False,
    interrupted_by=None,
    note="",
    replies_owed=1,
)
PHOTO = KeptFile("tulips.jpg", "image/jpeg", "b")
DRAWING = SkippedFile("price list.svg", FileProblem.SVG)
NEWER = replace(JOB, id=JobId("01jq3k9000000000"), instruction="No, call it Summer Sale")


def job(state: JobState = JobState.QUEUED, **changes: Any) -> JobView:  # noqa: ANN401 - fields of any type
    return replace(JOB, state=state, **changes)


def mail(**changes: Any) -> MailRecord:  # noqa: ANN401 - fields of any type
    return replace(MAIL, **changes)


WORKING = job(JobState.RUNNING, worker=WorkerId("host-7"))


@dataclass(frozen=True, slots=True)
class Read:
    """A letter as its reader gets it."""

    message: EmailMessage
    text: str
    html: str
    raw: bytes

    def __getitem__(self, header: str) -> str:
        return str(self.message[header])

    @property
    def header_lines(self) -> list[str]:
        """The header block, folded lines joined."""
        block = self.raw.split(b"\r\n\r\n", 1)[0].decode("ascii")
        return re.sub(r"\r\n(?=[ \t])", "", block).split("\r\n")


def read(raw: bytes) -> Read:
    message = message_from_bytes(raw, policy=policy.default)
    assert isinstance(message, EmailMessage)
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    return Read(message, text.get_content(), html.get_content(), raw)


def composed(letter: Letter, case: Case, ours: Letterhead = OURS) -> Composed:
    made = compose(letter, case, ours, NOW)
    assert isinstance(made, Composed)
    return made


def facts_for(kind: LetterKind, **given: Any) -> LetterFacts | None:  # noqa: ANN401 - fields of any type
    """What a letter of this kind is told: fields of its class, or of the facts that a job left."""
    wanted = FACTS_OF.get(kind)
    if wanted is not Ending:
        return wanted(**given) if wanted else None
    own = {name: given.pop(name) for name in ("note", "failure", "by") if name in given}
    return Ending(**own, facts=Facts(**given))


def written(
    kind: LetterKind,
    about: JobView | None = None,
    answered: MailRecord = MAIL,
    other: JobView | None = None,
    **facts: Any,  # noqa: ANN401 - fields of any type
) -> Read:
    """Compose a letter and read it back as a mail program does."""
    letter = Letter(about.id if about else answered.id, kind, answered.id, facts_for(kind, **facts))
    return read(composed(letter, Case(answered, about, other)).content)


def says(letter: Read, *words: str) -> None:
    """Both forms say it: nobody chooses which one their phone shows."""
    html = letter.html.replace("<b>", "“").replace("</b>", "”")
    for word in words:
        assert word in letter.text
        assert word in html


def is_silent_about(letter: Read, *words: str) -> None:
    for word in words:
        assert word not in letter.text
        assert word not in letter.html
