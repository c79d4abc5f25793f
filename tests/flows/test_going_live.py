"""Publishing tells what everybody sees now that they did not see before, and whose changes those are."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.mailing import develop
from tests.flows.workbench import PAGE, TARA, Bench
from webordinary.core.job import Intent
from webordinary.core.outcome import Done, Facts
from webordinary.core.release import Place
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop
from webordinary.reply.phrases import told

RETITLE = "sed -i 's/Old/New/' index.html"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.backend.close()


async def published(bench: Bench, session: str = "s1") -> Facts:
    outcome = await bench.do("publish", intent=Intent.PUBLISH, session=session)
    assert isinstance(outcome, Done)
    return outcome.facts


async def test_the_pages_that_became_live_are_told(bench: Bench) -> None:
    assert "live_changes" not in await published(bench)  # nobody saw the site before: all of it is new
    await bench.do(f"{RETITLE}; echo x > a.html; echo x > b.css")
    facts = await published(bench)
    title = "The title on your home page, as browsers show it, is now “{}”.".format
    look = "Colours, fonts or layout have changed."
    assert told(facts["live_changes"]) == [title("New"), "There is a new page, “a”.", look]
    assert facts["live"] == "http://sites.example/live/amelia/"
    await bench.undo()
    facts = await published(bench)
    assert told(facts["live_changes"]) == [title("Old"), "The page “a” is gone.", look]
    assert not {"live_unchanged", "live_later", "live_by_others", "warnings"} & facts.keys()


async def test_what_was_live_already_is_told(bench: Bench) -> None:
    await published(bench)
    facts = await published(bench)
    assert facts["live_unchanged"] == "yes"
    assert "live_changes" not in facts


async def test_changes_of_others_that_went_live_with_it_are_told(bench: Bench) -> None:
    await published(bench)
    await bench.do("echo tara > tara.html", lane=TARA, session="hers")
    await bench.do(RETITLE)
    facts = await published(bench)
    assert json.loads(facts["live_by_others"]) == [["tara", "echo tara > tara.html"]]
    assert "live_later" not in facts
    assert "live_by_others" not in await published(bench)


async def test_changes_after_what_the_conversation_was_shown_are_told(bench: Bench) -> None:
    """The letter that is answered showed another preview than the one that goes live."""
    await bench.do(RETITLE)
    await bench.do("echo hers > tara.html", lane=TARA, session="hers")
    await bench.do("echo mine > mine.html", session="another")
    await bench.do("echo which one")  # its letter shows no preview
    facts = await published(bench)
    assert json.loads(facts["live_later"]) == [
        ["tara", "echo hers > tara.html"],
        ["", "echo mine > mine.html"],
    ]
    assert "live_by_others" not in facts


async def test_what_was_made_and_taken_back_in_between_is_not_told(bench: Bench) -> None:
    await bench.do(RETITLE)
    await bench.do("echo hers > tara.html", lane=TARA, session="hers")
    await bench.do("undo", intent=Intent.UNDO, lane=TARA, session="hers")
    assert "live_later" not in await published(bench)
    await bench.do("sed -i 's/Some/Any/' index.html", session="another")
    await published(bench, session="another")
    await bench.undo(session="another")
    later = json.loads((await published(bench))["live_later"])
    assert later == [["", "Taken back: sed -i 's/Some/Any/' index.html"]]


async def test_a_change_that_was_shown_and_taken_back_since_is_told(bench: Bench) -> None:
    """Whoever answers an old letter with "publish" believes that its change goes live."""
    await published(bench)
    await bench.do(RETITLE)
    await bench.undo(session="another")
    facts = await published(bench)
    assert json.loads(facts["live_later"]) == [["", f"Taken back: {RETITLE}"]]
    assert facts["live_unchanged"] == "yes"


async def test_what_developers_did_in_the_same_lines_is_told_in_plain_words(bench: Bench) -> None:
    await bench.do(RETITLE)
    develop(bench, index_html=PAGE.replace("Old", "Theirs"))
    facts = await published(bench)
    assert bench.served(Place.LIVE)["index.html"] == PAGE.replace("Old", "New").encode()
    assert "index.html" in facts["warnings"]
    assert "branch" not in facts["warnings"]


async def test_a_publish_that_is_delivered_again_does_not_say_that_nothing_was_different(
    bench: Bench,
) -> None:
    await bench.do(RETITLE)
    delivery = await bench.submitted("publish", intent=Intent.PUBLISH)
    again = type(delivery)(delivery.claim, delivery.job, delivery.attempt + 1)
    await Performance(bench.tools).run(delivery, Stop())
    outcome = await Performance(bench.tools).run(again, Stop())
    assert isinstance(outcome, Done)
    assert "live_unchanged" not in outcome.facts
