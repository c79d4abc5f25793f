"""One word sent while an edit runs: publish and redo wait, an undo takes back that edit and nothing older."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.workbench import AMELIA, PAGE, Bench, Scripted
from webordinary.core.claim import Delivery
from webordinary.core.job import Arrival, Intent, Job, JobId
from webordinary.core.outcome import Done, Failed, Outcome, Preempted
from webordinary.dispatch.arrival_policy import arrival_of
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop

SPRING = "sed -i s/Old/Spring/ index.html"
TEXT = "sed -i s/Some.text/Other-words/ index.html"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.backend.close()


async def sent(bench: Bench, text: str, intent: Intent, session: str = "s1") -> JobId:
    """Queue a job as a mail would."""
    arrival = await arrival_of(intent, bench.backend.ledger, AMELIA, session)
    unique = bench.clock.unique()
    job = Job(JobId(unique), AMELIA, text, f"<{unique}>", arrival, session=session, intent=intent)
    await bench.backend.broker.submit(job)
    return job.id


async def delivered(bench: Bench) -> Delivery:
    delivery = await bench.backend.broker.next_job(bench.claims[AMELIA], wait=0)
    assert delivery is not None
    return delivery


async def settled(bench: Bench, delivery: Delivery, outcome: Outcome) -> Outcome:
    await bench.backend.broker.settle(delivery, outcome, more=False)
    return outcome


async def carried_out(bench: Bench) -> Outcome:
    """Carry the lane's next job out."""
    delivery = await delivered(bench)
    return await settled(bench, delivery, await Performance(bench.tools).run(delivery, Stop()))


async def running(bench: Bench, text: str, session: str = "s1") -> Delivery:
    return await bench.submitted(text, session=session)


def page(bench: Bench) -> str:
    return bench.served()["index.html"].decode()


@pytest.mark.parametrize("word", [Intent.PUBLISH, Intent.REDO])
async def test_publish_and_redo_wait_for_the_edit_that_runs(bench: Bench, word: Intent) -> None:
    """Stopping the edit would publish the very preview that its sender wanted to be different."""
    edit = await running(bench, SPRING)
    await sent(bench, word.value, word)
    assert not (await bench.backend.ledger.job(edit.job.id)).interrupted


async def test_an_undo_that_stops_an_edit_takes_back_nothing_older(bench: Bench) -> None:
    await bench.do(SPRING)
    edit = await running(bench, TEXT)
    await sent(bench, "undo", Intent.UNDO)
    assert (await bench.backend.ledger.job(edit.job.id)).interrupted
    await settled(bench, edit, Preempted())
    outcome = await carried_out(bench)
    assert isinstance(outcome, Done)
    assert outcome.facts.undo is not None
    assert outcome.facts.undo.stopped.startswith(TEXT)
    assert page(bench) == PAGE.replace("Old", "Spring")


async def test_an_undo_that_came_too_late_to_stop_an_edit_takes_that_back(bench: Bench) -> None:
    await bench.do(SPRING)
    edit = await running(bench, TEXT)
    await sent(bench, "undo", Intent.UNDO)
    await settled(bench, edit, await Performance(bench.tools).run(edit, Stop()))
    assert page(bench) == PAGE.replace("Old", "Spring").replace("Some text", "Other-words")
    outcome = await carried_out(bench)
    assert isinstance(outcome, Done)
    assert outcome.facts.undo is not None
    assert not outcome.facts.undo.stopped
    assert page(bench) == PAGE.replace("Old", "Spring")


@pytest.mark.parametrize("end", [Preempted(), Failed("no")])
async def test_an_undo_of_an_edit_that_was_in_before_it_was_stopped_takes_that_back(
    bench: Bench, end: Outcome
) -> None:
    """Its change was pushed and shown, then its time was over: how it ended says nothing about that."""
    await bench.do(SPRING)
    edit = await running(bench, TEXT)
    await sent(bench, "undo", Intent.UNDO)
    assert isinstance(await Performance(bench.tools).run(edit, Stop()), Done)
    await settled(bench, edit, end)
    outcome = await carried_out(bench)
    assert isinstance(outcome, Done)
    assert outcome.facts.undo is not None
    assert not outcome.facts.undo.stopped
    assert not outcome.facts.undo.never_made
    assert page(bench) == PAGE.replace("Old", "Spring")


async def test_an_undo_of_an_edit_that_failed_meanwhile_takes_back_nothing(bench: Bench) -> None:
    await bench.do(SPRING)
    edit = await running(bench, TEXT)
    await sent(bench, "undo", Intent.UNDO)
    await settled(bench, edit, Failed("no"))
    outcome = await carried_out(bench)
    assert isinstance(outcome, Done)
    assert outcome.facts.undo is not None
    assert outcome.facts.undo.never_made.startswith(TEXT)
    assert page(bench) == PAGE.replace("Old", "Spring")


async def test_a_second_undo_goes_back_further(bench: Bench) -> None:
    """Two in a row are two steps, also when the first one was a stop."""
    await bench.do(SPRING)
    edit = await running(bench, TEXT)
    await sent(bench, "undo", Intent.UNDO)
    await sent(bench, "undo", Intent.UNDO)
    await settled(bench, edit, Preempted())
    await carried_out(bench)
    await carried_out(bench)
    assert page(bench) == PAGE


async def test_an_undo_sent_after_a_failed_edit_means_the_last_change(bench: Bench) -> None:
    """Its sender has been told that the edit changed nothing."""
    await bench.do(SPRING)
    await settled(bench, await running(bench, TEXT), Failed("no"))
    await sent(bench, "undo", Intent.UNDO)
    await carried_out(bench)
    assert page(bench) == PAGE


async def test_an_undo_in_another_conversation_leaves_the_running_edit_alone(bench: Bench) -> None:
    """Who answers the letter about Spring means Spring, whatever else is under way."""
    await bench.do(SPRING, session="s1")
    edit = await running(bench, TEXT, session="s2")
    await sent(bench, "undo", Intent.UNDO, session="s1")
    assert not (await bench.backend.ledger.job(edit.job.id)).interrupted
    await settled(bench, edit, await Performance(bench.tools).run(edit, Stop()))
    await carried_out(bench)
    assert page(bench) == PAGE.replace("Some text", "Other-words")


async def test_an_undo_in_a_new_mail_means_the_edit_that_runs(bench: Bench) -> None:
    await bench.do(SPRING, session="s1")
    edit = await running(bench, TEXT, session="s2")
    await sent(bench, "undo", Intent.UNDO, session="s3")
    assert (await bench.backend.ledger.job(edit.job.id)).interrupted
    await settled(bench, edit, Preempted())
    await carried_out(bench)
    assert page(bench) == PAGE.replace("Old", "Spring")


async def test_an_undo_means_the_last_request_also_when_that_has_not_started(bench: Bench) -> None:
    """The one that runs was not the last word: it goes on, and the last one is made and taken back."""
    first = await running(bench, SPRING)
    unique = bench.clock.unique()
    waiting = Job(JobId(unique), AMELIA, f"{TEXT}\nexit 0", "<w>", Arrival.QUEUE, session="s1")
    await bench.backend.broker.submit(waiting)
    await sent(bench, "undo", Intent.UNDO)
    assert not (await bench.backend.ledger.job(first.job.id)).interrupted
    await settled(bench, first, await Performance(bench.tools).run(first, Stop()))
    await carried_out(bench)
    assert page(bench) == PAGE.replace("Old", "Spring").replace("Some text", "Other-words")
    await carried_out(bench)
    assert page(bench) == PAGE.replace("Old", "Spring")


async def test_the_word_of_a_stopped_edit_is_not_carried_on(bench: Bench) -> None:
    """Who took it back does not want the next agent to go on with it."""
    edit = await running(bench, TEXT)
    stop = Stop()
    stop.ask()
    await sent(bench, "undo", Intent.UNDO)
    await settled(bench, edit, await Performance(bench.tools).run(edit, stop))
    await carried_out(bench)
    agent = Scripted()
    bench.tools = replace(bench.tools, agent=agent)
    await bench.do("go on")
    assert "is unfinished" not in agent.errands[0].prompt
