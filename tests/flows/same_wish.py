"""A lane in which an edit runs, and what a wish became there: the same by whatever way it came."""

from __future__ import annotations

from email.message import EmailMessage
from uuid import uuid4

from webordinary.core.claim import WorkerId
from webordinary.core.job import Arrival, Intent, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.ports.backend import Backend

AMELIA, SCOTT = Lane("amelia", "scott"), "scott@example.com"
EARLIER = "an-earlier-conversation"
WORDS = {
    Intent.EDIT: "Change the title to Spring Sale",
    Intent.UNDO: "undo",
    Intent.REDO: "redo",
    Intent.PUBLISH: "publish",
}

# Intent, instruction, arrival, which job it stops, and whether it goes on with the conversation that runs.
Seen = tuple[Intent, str, str, str | None, bool]


def expected(intent: Intent, policy: Arrival) -> Seen:
    """What docs/mail.md promises: an undo stops the edit that it means, other words wait."""
    arrival, stops = Arrival.QUEUE, None
    if intent is Intent.EDIT:
        arrival = policy
        stops = "first" if policy is Arrival.INTERRUPT_ALWAYS else None
    elif intent is Intent.UNDO and policy is not Arrival.QUEUE:
        arrival, stops = Arrival.INTERRUPT_ALWAYS, "first"
    return intent, WORDS[intent], arrival.value, stops, False


async def begin(backend: Backend, policy: Arrival) -> None:
    """Let Scott in; an edit of an earlier conversation runs."""
    await backend.directory.add_project(
        Project(AMELIA.project, policy, repository="https://git.example/a.git")
    )
    await backend.directory.add_member(Member(AMELIA, SCOTT))
    await backend.broker.submit(Job(JobId("first"), AMELIA, "Make it blue", "<first>", session=EARLIER))
    claimed = await backend.broker.claim(WorkerId("w1"), room=1, wait=0)
    assert claimed is not None
    assert await backend.broker.next_job(claimed.claims[0], wait=0) is not None


async def seen(backend: Backend) -> Seen:
    """What is stored of the one job that came since."""
    newest, first = await backend.ledger.jobs(limit=5, lane=AMELIA)
    stops = first.id if first.interrupted_by == newest.id else None
    return newest.intent, newest.instruction, newest.arrival, stops, newest.session == EARLIER


def mail(intent: Intent, to: str) -> EmailMessage:
    """The wish as a new mail."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = SCOTT, to, ""
    made["Message-ID"] = f"<{uuid4().hex}@example.com>"
    made.set_content(WORDS[intent])
    return made
