"""A reply quotes what was said before; whoever carries it out is told what is new."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.world import LIMITS, ManualClock
from tests.flows.door import SCOTT, Door, Reader
from tests.flows.workbench import Bench
from webordinary.backends.memory.open import open_memory
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.job import Intent
from webordinary.core.mail import MailId, MailRecord, MailState, ParsedMail
from webordinary.core.outcome import Done
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, EventKind, Room, Worked
from webordinary.flows.history import ConversationHistory
from webordinary.flows.perform import Performance
from webordinary.mail.folder_mailer import FolderMailer
from webordinary.ports.agent import AgentRun
from webordinary.ports.handler import Stop

LETTER = (
    b"From: edit@webordinary.example\r\nTo: scott@example.com\r\nSubject: Re: Site\r\n\r\n"
    b"Your request is in. You get another mail as soon as it has been carried out.\r\n"
)
QUOTE = (
    "On Tue, May 12, 2026 at 9:58 AM Webordinary <edit@webordinary.example> wrote:\r\n"
    "> Your request is in. You get another mail as soon\r\n> as it has been carried out.\r\n"
)


@pytest.fixture(params=["memory", "sqlite"])
def backed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Door, FolderMailer]]:
    clock, letters = ManualClock(), FolderMailer(tmp_path / "outbox")
    is_memory = request.param == "memory"
    backend = open_memory(clock, LIMITS) if is_memory else open_sqlite(tmp_path / "home", clock, LIMITS)
    yield Door(backend, clock, letters), letters
    backend.close()


async def answered(door: Door, letters: FolderMailer, text: str = "Paint the door blue") -> MailRecord:
    """A mail that was answered by a letter of ours."""
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail(text)
    ((letter, _), *_) = await door.backend.outbox.letters(limit=1, about=str(first.job))
    await letters.send(LETTER, recipient=SCOTT, key=letter.key)
    door.clock.advance(60)
    return first


async def test_words_below_a_quote_without_marks_are_found(backed: tuple[Door, FolderMailer]) -> None:
    """Without comparing, nobody could tell where the old text ends."""
    door, letters = backed
    await answered(door, letters)
    unmarked = QUOTE.replace("\n> ", "\n")
    await door.mail(f"{unmarked}\r\nPaint it red instead", number="2", answers="<1@example.com>")
    assert (await door.jobs())[-1] == ("amelia/scott", "Paint it red instead")


async def test_a_command_is_read_although_a_program_tore_the_quote(backed: tuple[Door, FolderMailer]) -> None:
    """Words that were wrapped off a quoted line are nobody's instruction."""
    door, letters = backed
    await answered(door, letters)
    torn = QUOTE.replace("mail as soon\r\n> as it", "mail\r\nas soon\r\n> as it")
    await door.mail(f"undo\r\n\r\n{torn}", number="2", answers="<1@example.com>")
    newest = (await door.backend.ledger.jobs(limit=1))[0]
    assert (newest.intent, newest.instruction) == (Intent.UNDO, "undo")


async def test_a_reply_of_nothing_but_history_is_empty(backed: tuple[Door, FolderMailer]) -> None:
    door, letters = backed
    await answered(door, letters)
    record = await door.mail(QUOTE, number="2", subject="Re: Site", answers="<1@example.com>")
    assert (record.state, record.reason) == (MailState.UNREADABLE, "it was empty")


async def test_a_reply_whose_quote_nobody_knows_is_read_whole(backed: tuple[Door, FolderMailer]) -> None:
    """A copy that is gone costs nobody their words."""
    door, _ = backed
    await door.onboard("amelia/scott", SCOTT)
    await door.mail("> Paint the door blue", subject="Re: Site")
    assert await door.jobs() == [("amelia/scott", "Paint the door blue")]


async def test_only_what_came_before_a_mail_is_known(backed: tuple[Door, FolderMailer]) -> None:
    """A later mail quotes this one: what this one was the first to say is new all the same."""
    door, letters = backed
    await answered(door, letters)
    text = f"Use this:\r\n> Best bread in all of the county\r\n\r\n{QUOTE}"
    second = await door.mail(text, number="2", answers="<1@example.com>")
    door.clock.advance(60)
    quoted = "\r\n".join(f"> {line}" for line in text.split("\r\n"))
    third = await door.mail(f"And soon\r\n\r\n{quoted}", number="3", answers="<2@example.com>")
    history = ConversationHistory(door.backend, Reader(), letters)

    async def told(record: MailRecord) -> str:
        mail = await Reader().read(await door.backend.blobs.get(record.blob))
        assert isinstance(mail, ParsedMail)
        assert record.lane is not None
        new = await history.new_in(mail, record.lane, str(record.session), record.received_at)
        return "\n".join(one.text for one in new)

    assert "Best bread" in await told(second)
    assert "Your request is in" not in await told(second)
    assert "Best bread" not in await told(third)
    assert "And soon" in await told(third)


class Noting:
    """An agent that only notes what it is asked."""

    name = "noting"

    def __init__(self) -> None:
        self.errands: list[AgentTask] = []
        self.files: dict[str, str] = {}

    async def start(self, errand: AgentTask, room: Room) -> AgentRun:
        self.errands.append(errand)
        self.files = {path.name: path.read_text() for path in room.mail.iterdir()}
        return self

    async def events(self) -> AsyncIterator[AgentEvent]:
        yield AgentEvent(EventKind.SAID, "looking")

    async def interrupt(self) -> None:
        """There is nothing to stop."""

    async def result(self) -> AgentResult:
        return Worked("I looked at it.")


async def test_the_agent_gets_every_stretch_in_order_and_the_letter_says_so(tmp_path: Path) -> None:
    agent = Noting()
    bench = Bench(tmp_path, agent=agent)
    delivery = await bench.submitted("Put this on the page:\n\nin italics")
    long = "a very long story " * 2_000
    text = (
        f"Put this on the page:\r\n> Best bread\r\nin italics\r\n\r\nBegin forwarded message:\r\n{long}\r\n"
    )
    raw = f"From: {SCOTT}\r\nSubject: A new page\r\n\r\n{text}".encode()
    record = MailRecord(
        id=MailId(delivery.job.message_id),
        message_id="<x@example.org>",
        state=MailState.ACCEPTED,
        reason="",
        from_address=SCOTT,
        subject="A new page",
        references=(),
        received_at=bench.clock.now(),
        blob=await bench.blobs.put(raw),
    )
    await bench.backend.mailbox.keep(record)
    job = replace(delivery.job, instruction="Put this on the page:\n\nin italics")
    outcome = await Performance(bench.tools).run(replace(delivery, job=job), Stop())
    bench.backend.close()
    prompt = agent.errands[0].prompt
    places = [
        prompt.index(words) for words in ("Put this", "> Best bread", "in italics", "a very long story")
    ]
    assert places == sorted(places)
    assert "name='quoted'" in prompt
    assert "'A new page'" in prompt
    assert agent.errands[0].instruction == job.instruction
    assert [text.count("story") for text in agent.files.values()] == [2_000], "what is cut is in a file"
    assert next(iter(agent.files)) in prompt
    assert isinstance(outcome, Done)
    assert outcome.facts.read_quote
