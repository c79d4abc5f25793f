"""What a member is told who asks how things stand, and the links that letters offer."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.flows.door import ADDRESS, HERE, KEY, SCOTT, Door, door
from tests.flows.workbench import AMELIA, PAGE, TARA, Bench, Scripted
from tests.reply.letters import composed, read
from webordinary.core.claim import WorkerId
from webordinary.core.facts import Ending, Facts, PreviewFacts, RequestedChange
from webordinary.core.job import Intent, JobState
from webordinary.core.mail import Letter, LetterKind
from webordinary.core.site import Member
from webordinary.flows.status import status_of
from webordinary.reply.compose import Letterhead
from webordinary.reply.context import Case

__all__ = ["door"]


@pytest.fixture
def agent() -> Scripted:
    return Scripted()


@pytest.fixture
def bench(tmp_path: Path, agent: Scripted) -> Iterator[Bench]:
    bench = Bench(tmp_path, agent)
    yield bench
    bench.backend.close()


async def changed(bench: Bench, agent: Scripted, words: str, **where: object) -> None:
    agent.files = {"index.html": PAGE.replace("Old", words)}
    await bench.do(words, **where)  # type: ignore[arg-type]


async def test_status_tells_what_is_previewed_and_not_yet_live(bench: Bench, agent: Scripted) -> None:
    await changed(bench, agent, "First")
    await bench.publish()
    report = await status_of(AMELIA, bench.backend)
    assert report.previewed == ()
    assert report.live == "http://sites.example/live/amelia/"
    await changed(bench, agent, "Second")
    await changed(bench, agent, "Third")
    report = await status_of(AMELIA, bench.backend)
    assert report.previewed == (RequestedChange("", "Second"), RequestedChange("", "Third"))
    assert report.preview == "http://sites.example/preview/amelia/"


async def test_status_does_not_tell_of_what_was_taken_back_or_changed_nothing(
    bench: Bench, agent: Scripted
) -> None:
    """Only what a publish would show to everybody."""
    await changed(bench, agent, "First")
    await bench.undo()
    agent.files = {}
    await bench.do("Is it raining?")
    assert not (await status_of(AMELIA, bench.backend)).previewed
    await bench.redo()
    assert (await status_of(AMELIA, bench.backend)).previewed == (RequestedChange("", "First"),)
    await bench.publish()
    await bench.undo()
    taken_back = RequestedChange("", "First", taken_back=True)
    assert (await status_of(AMELIA, bench.backend)).previewed == (taken_back,)


async def test_status_tells_whose_the_other_changes_are(bench: Bench, agent: Scripted) -> None:
    """Who publishes, publishes the changes of all."""
    await changed(bench, agent, "Mine")
    await changed(bench, agent, "Hers", lane=TARA, session="s2")
    await bench.backend.directory.add_member(Member(TARA, "tara@example.com"))
    report = await status_of(AMELIA, bench.backend)
    assert report.previewed == (RequestedChange("", "Mine"), RequestedChange("tara", "Hers"))


@pytest.mark.parametrize(("link", "intent"), [("publish", Intent.PUBLISH), ("undo", Intent.UNDO)])
async def test_the_links_of_a_letter_say_it_in_the_right_conversation(
    door: Door, link: str, intent: Intent
) -> None:
    """A click opens a mail that is no reply: only its address tells what it is about."""
    await door.onboard("amelia/scott", SCOTT)
    subject = "Öffnungszeiten & mehr? 100%"
    record = await door.mail("Change the hours", subject=subject)
    assert record.job is not None
    (claim,) = (await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)).claims
    delivery = await door.backend.broker.next_job(claim, wait=0)
    assert delivery is not None
    preview = PreviewFacts("c1", address="http://x.example/")
    letter = Letter(record.job, LetterKind.DONE, facts=Ending(facts=Facts(preview=preview)))
    case = Case(record, replace(await door.backend.ledger.job(record.job), state=JobState.DONE))
    done = read(composed(letter, case, Letterhead(ADDRESS, KEY)).content)
    (url,) = re.findall(rf'href="(mailto:[^"]+body={link})"', done.html)
    assert url.isascii()
    parts = urlsplit(html.unescape(url))
    assert parse_qs(parts.query)["subject"] == [f"Re: {subject}"]
    envelope = replace(HERE, recipients=(unquote(parts.path),))
    clicked = await door.mail(link, number="2", subject=f"Re: {subject}", envelope=envelope)
    assert clicked.session == record.session
    assert clicked.job is not None
    job = await door.backend.ledger.job(clicked.job)
    assert (job.intent, job.state) == (intent, JobState.QUEUED)
