"""Publishing tells what everybody sees now that they did not see before, and whose changes those are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.mailing import develop
from tests.flows.workbench import PAGE, TARA, Bench
from webordinary.core.facts import LiveFacts, RequestedChange
from webordinary.core.job import Intent
from webordinary.core.outcome import Done
from webordinary.core.release import Place
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop
from webordinary.reply.rendering import changes_in_words

RETITLE = "sed -i 's/Old/New/' index.html"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.backend.close()


async def published(bench: Bench, session: str = "s1") -> LiveFacts:
    outcome = await bench.do("publish", intent=Intent.PUBLISH, session=session)
    assert isinstance(outcome, Done)
    assert outcome.facts.live is not None
    return outcome.facts.live


async def test_the_pages_that_became_live_are_told(bench: Bench) -> None:
    assert not (await published(bench)).changes  # nobody saw the site before: all of it is new
    await bench.do(f"{RETITLE}; echo x > a.html; echo x > b.css")
    live = await published(bench)
    title = "The title on your home page, as browsers show it, is now “{}”.".format
    look = "Colours, fonts or layout have changed."
    assert changes_in_words(live.changes) == [title("New"), "There is a new page, “a”.", look]
    assert live.address == "http://sites.example/live/amelia/"
    await bench.undo()
    live = await published(bench)
    assert changes_in_words(live.changes) == [title("Old"), "The page “a” is gone.", look]
    assert live == LiveFacts(live.address, live.changes)


async def test_what_was_live_already_is_told(bench: Bench) -> None:
    await published(bench)
    live = await published(bench)
    assert live.unchanged
    assert live.changes == ()


async def test_changes_of_others_that_went_live_with_it_are_told(bench: Bench) -> None:
    await published(bench)
    await bench.do("echo tara > tara.html", lane=TARA, session="hers")
    await bench.do(RETITLE)
    live = await published(bench)
    assert live.by_others == (RequestedChange("tara", "echo tara > tara.html"),)
    assert live.later == ()
    assert not (await published(bench)).by_others


async def test_changes_after_what_the_conversation_was_shown_are_told(bench: Bench) -> None:
    """The letter that is answered showed another preview than the one that goes live."""
    await bench.do(RETITLE)
    await bench.do("echo hers > tara.html", lane=TARA, session="hers")
    await bench.do("echo mine > mine.html", session="another")
    await bench.do("echo which one")  # its letter shows no preview
    live = await published(bench)
    assert live.later == (
        RequestedChange("tara", "echo hers > tara.html"),
        RequestedChange("", "echo mine > mine.html"),
    )
    assert live.by_others == ()


async def test_what_was_made_and_taken_back_in_between_is_not_told(bench: Bench) -> None:
    await bench.do(RETITLE)
    await bench.do("echo hers > tara.html", lane=TARA, session="hers")
    await bench.do("undo", intent=Intent.UNDO, lane=TARA, session="hers")
    assert not (await published(bench)).later
    await bench.do("sed -i 's/Some/Any/' index.html", session="another")
    await published(bench, session="another")
    await bench.undo(session="another")
    later = (await published(bench)).later
    assert later == (RequestedChange("", "Taken back: sed -i 's/Some/Any/' index.html"),)


async def test_a_change_that_was_shown_and_taken_back_since_is_told(bench: Bench) -> None:
    """Whoever answers an old letter with "publish" believes that its change goes live."""
    await published(bench)
    await bench.do(RETITLE)
    await bench.undo(session="another")
    live = await published(bench)
    assert live.later == (RequestedChange("", f"Taken back: {RETITLE}"),)
    assert live.unchanged


async def test_what_developers_did_in_the_same_lines_is_told_in_plain_words(bench: Bench) -> None:
    await bench.do(RETITLE)
    develop(bench, index_html=PAGE.replace("Old", "Theirs"))
    live = await published(bench)
    assert bench.served(Place.LIVE)["index.html"] == PAGE.replace("Old", "New").encode()
    assert live.upstream_conflicts == ("index.html",)


async def test_a_publish_that_is_delivered_again_does_not_say_that_nothing_was_different(
    bench: Bench,
) -> None:
    await bench.do(RETITLE)
    delivery = await bench.submitted("publish", intent=Intent.PUBLISH)
    again = type(delivery)(delivery.claim, delivery.job, delivery.attempt + 1)
    await Performance(bench.tools).run(delivery, Stop())
    outcome = await Performance(bench.tools).run(again, Stop())
    assert isinstance(outcome, Done)
    assert outcome.facts.live is not None
    assert not outcome.facts.live.unchanged
