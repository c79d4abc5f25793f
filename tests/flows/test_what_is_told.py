"""The facts of an outcome are true: for a change and for none, and also when a job is delivered twice."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.mailing import carried_out, develop, preview_of, with_files
from tests.flows.workbench import PAGE, Bench
from webordinary.core.facts import UndoFacts
from webordinary.core.job import Intent
from webordinary.core.outcome import Done, Failed
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop
from webordinary.reply.rendering import changes_in_words

LARGE = b"\xff\xd8" + bytes(range(256)) * 4_000  # a photo of a megabyte
SHOW_IT = "cp ../mail/photo.jpg . ; echo '<img src=photo.jpg>' >> index.html; echo put it in"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.backend.close()


async def test_a_run_that_changed_nothing_says_so(bench: Bench) -> None:
    await bench.publish()
    delivery = await with_files(bench, await bench.submitted("echo which photo"), photo_jpg=b"\xff\xd8")
    outcome = await carried_out(bench, delivery)
    assert isinstance(outcome, Done)
    assert outcome.summary == "which photo"
    assert outcome.facts.unchanged
    assert outcome.facts.unused_files == ("photo.jpg",)
    assert outcome.facts.used_files == ()
    assert outcome.facts.preview is None


@pytest.mark.parametrize("photo", [b"\xff\xd8small", LARGE], ids=["small", "large"])
async def test_a_file_whose_bytes_are_in_the_site_was_used(bench: Bench, photo: bytes) -> None:
    delivery = await bench.submitted(SHOW_IT)
    outcome = await carried_out(bench, await with_files(bench, delivery, photo_jpg=photo, other_jpg=b"\xff"))
    assert isinstance(outcome, Done)
    assert (outcome.facts.used_files, outcome.facts.unused_files) == (("photo.jpg",), ("other.jpg",))


async def test_a_file_that_was_in_the_site_before_was_used_too(bench: Bench) -> None:
    await carried_out(bench, await with_files(bench, await bench.submitted(SHOW_IT), photo_jpg=LARGE))
    again = await bench.submitted("echo '<img src=photo.jpg alt=again>' >> index.html")
    outcome = await carried_out(bench, await with_files(bench, again, photo_jpg=LARGE))
    assert isinstance(outcome, Done)
    assert outcome.facts.used_files == ("photo.jpg",)


async def test_a_job_that_is_delivered_again_after_its_push_is_told_the_same(bench: Bench) -> None:
    """The worker died before it could settle: the sender must not get a poorer letter for that."""
    await bench.publish()
    delivery = await with_files(bench, await bench.submitted(SHOW_IT), photo_jpg=LARGE, other_jpg=b"\xff")
    first = await Performance(bench.tools).run(delivery, Stop())
    again = await carried_out(bench, delivery, bench.tools_at("elsewhere"))
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert again.summary == first.summary == "put it in"
    former = replace(preview_of(again), former_release=preview_of(first).former_release)
    assert former == preview_of(first)
    assert again.facts.used_files == first.facts.used_files == ("photo.jpg",)
    assert again.facts.unused_files == first.facts.unused_files == ("other.jpg",)
    assert "put it in" in again.facts.memory.since[-1]  # the agent's session does not know of it


@pytest.mark.parametrize("way", [Intent.UNDO, Intent.REDO])
async def test_an_undo_that_is_delivered_again_is_told_the_same(bench: Bench, way: Intent) -> None:
    await bench.do("sed -i 's/Old/New/' index.html")
    if way is Intent.REDO:
        await bench.undo()
    delivery = await bench.submitted(str(way), intent=way)
    first = await Performance(bench.tools).run(delivery, Stop())
    again = await carried_out(bench, delivery, bench.tools_at("elsewhere"))
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert again.summary == first.summary
    assert again.facts.undo == first.facts.undo == UndoFacts("sed -i 's/Old/New/' index.html")
    assert preview_of(again).changes == preview_of(first).changes
    assert preview_of(again).patch == preview_of(first).patch


async def test_what_developers_did_is_no_part_of_the_answer(bench: Bench) -> None:
    await bench.do("sed -i 's/Old/New/' index.html")
    develop(bench, about_html="<title>About</title>\n")
    outcome = await bench.do("sed -i 's/Hello/Hi/' index.html")
    assert isinstance(outcome, Done)
    assert "about.html" in bench.served()
    assert changes_in_words(outcome.facts.changes) == ["The heading on your home page now says “Hi”."]


async def test_what_developers_did_is_no_part_of_the_answer_after_a_conflict_either(bench: Bench) -> None:
    await bench.do("sed -i 's/Old/New/' index.html")
    develop(bench, index_html=PAGE.replace("Old", "Theirs"), about_html="<title>About</title>\n")
    outcome = await bench.do("sed -i '/^[<=>|]\\{7\\}/d' index.html")
    assert isinstance(outcome, Done)
    assert "about.html" in bench.served()
    assert {change.path for change in outcome.facts.changes} == {"index.html"}


async def test_a_site_without_any_file_is_refused_in_a_whole_sentence(bench: Bench) -> None:
    outcome = await bench.do("rm *.html")
    assert isinstance(outcome, Failed)
    assert outcome.reason.splitlines() == [
        "The site can't be published like this.",
        "No file is left in it that could be published",
    ]


@pytest.mark.parametrize("session", ["s1", "another"])
async def test_an_undo_says_whether_the_change_was_made_in_another_conversation(
    bench: Bench, session: str
) -> None:
    await bench.do("sed -i 's/Old/New/' index.html", session="s1")
    outcome = await bench.undo(session=session)
    assert isinstance(outcome, Done)
    assert outcome.facts.undo is not None
    assert outcome.facts.undo.elsewhere is (session == "another")
