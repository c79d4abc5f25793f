"""Mails with files for jobs on the workbench, and a developer who works on the site's main branch."""

from pathlib import Path

from tests.flows.workbench import Bench, git
from webordinary.core.claim import Delivery
from webordinary.core.facts import PreviewFacts, UnfinishedWork
from webordinary.core.mail import KeptFile, MailId, MailRecord, MailState
from webordinary.core.outcome import Done, Failed, Outcome, Preempted
from webordinary.flows.perform import Performance
from webordinary.flows.tools import Tools
from webordinary.ports.handler import Stop


async def with_files(bench: Bench, delivery: Delivery, **files: bytes) -> Delivery:
    """Keep the job's mail with files (`photo_jpg=b"..."`)."""
    kept = [
        KeptFile(name.replace("_", "."), "image/jpeg", await bench.blobs.put(content))
        for name, content in files.items()
    ]
    raw = b"From: scott@example.org\r\nSubject: x\r\n\r\nhello\r\n"
    await bench.backend.mailbox.keep(
        MailRecord(
            id=MailId(delivery.job.message_id),
            message_id="<x@example.org>",
            state=MailState.ACCEPTED,
            reason="",
            from_address="scott@example.org",
            subject="x",
            references=(),
            received_at=0.0,
            blob=await bench.blobs.put(raw),
            files=tuple(kept),
        )
    )
    return delivery


async def carried_out(bench: Bench, delivery: Delivery, tools: Tools | None = None) -> Outcome:
    """Carry a delivered job out, and settle it."""
    outcome = await Performance(tools or bench.tools).run(delivery, Stop())
    await bench.backend.broker.settle(delivery, outcome, more=False)
    return outcome


def preview_of(outcome: Outcome) -> PreviewFacts:
    """What an outcome says of the preview."""
    assert isinstance(outcome, Done)
    assert outcome.facts.preview is not None
    return outcome.facts.preview


def unfinished_of(outcome: Outcome) -> UnfinishedWork:
    """What an outcome says of work that did not come into the site."""
    assert isinstance(outcome, Failed | Preempted)
    assert outcome.facts.unfinished is not None
    return outcome.facts.unfinished


def develop(bench: Bench, **files: str) -> None:
    """Change files on the main branch by hand (`about_html="..."`)."""
    clone = bench.folder / "clone"
    if not clone.exists():
        git("clone", "-q", str(bench.repository), str(clone), cwd=bench.folder)
    git("pull", "-q", "origin", "main", cwd=clone)
    for name, content in files.items():
        Path(clone / name.replace("_", ".")).write_text(content)
    git("add", "-A", cwd=clone)
    git("-c", "user.name=d", "-c", "user.email=d@example.org", "commit", "-qm", "by hand", cwd=clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
