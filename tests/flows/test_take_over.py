"""A mail that interrupts another carries out both; what was stopped on purpose is carried out by nobody."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.workbench import AMELIA, PAGE, Bench, Scripted
from webordinary.core.claim import Delivery
from webordinary.core.job import Arrival, Intent, Job, JobId
from webordinary.core.mail import KeptFile, MailId, MailRecord, MailState
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.core.work import AgentTask, Declined, MailedFile, Stopped, Worked
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop
from webordinary.work.prompt import TAKE_OVER


@pytest.fixture
def agent() -> Scripted:
    return Scripted()


@pytest.fixture
def bench(tmp_path: Path, agent: Scripted) -> Iterator[Bench]:
    bench = Bench(tmp_path, agent)
    yield bench
    bench.backend.close()


async def sent(bench: Bench, text: str, *, session: str = "s1", intent: Intent = Intent.EDIT) -> JobId:
    unique = bench.clock.unique()
    job = Job(JobId(unique), AMELIA, text, f"<{unique}>", Arrival.INTERRUPT, session=session, intent=intent)
    await bench.backend.broker.submit(job)
    return job.id


async def next_one(bench: Bench) -> Delivery:
    delivery = await bench.backend.broker.next_job(bench.claims[AMELIA], wait=0)
    assert delivery is not None
    return delivery


async def ended(bench: Bench, delivery: Delivery, outcome: Outcome | None = None) -> Outcome:
    """Carry a job out, or let it end otherwise."""
    outcome = outcome or await Performance(bench.tools).run(delivery, Stop())
    await bench.backend.broker.settle(delivery, outcome, more=False)
    return outcome


async def interrupted(bench: Bench, agent: Scripted, delivery: Delivery) -> None:
    """It had changed a file when it was stopped."""
    agent.ending, agent.files = Stopped("half of it"), {"half.html": delivery.job.instruction}
    assert isinstance(await ended(bench, delivery), Preempted)
    agent.ending, agent.files = Worked("done"), {"index.html": PAGE.replace("Old", delivery.job.id)}


async def carried_out(bench: Bench, agent: Scripted) -> tuple[AgentTask, Outcome]:
    """Carry the next job out; say what its agent was told."""
    outcome = await ended(bench, await next_one(bench))
    return agent.errands[-1], outcome


async def test_the_newer_mails_agent_is_asked_to_do_the_earlier_one_as_well(
    bench: Bench, agent: Scripted
) -> None:
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    await interrupted(bench, agent, edit)
    errand, outcome = await carried_out(bench, agent)
    asked = edit.job.instruction
    assert errand.prompt.startswith("And the footer green")
    assert errand.prompt.index(TAKE_OVER) < errand.prompt.index(asked)
    assert "<data-" not in errand.prompt  # an order, not material
    assert [one.instruction for one in errand.earlier] == [asked]
    assert isinstance(outcome, Done)
    assert outcome.facts.also == ("Paint the header blue",)


async def test_what_was_done_of_it_is_there_to_be_gone_on_with(bench: Bench, agent: Scripted) -> None:
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    await interrupted(bench, agent, edit)
    errand, _ = await carried_out(bench, agent)
    assert "earlier-1-unfinished.patch" in errand.prompt
    patch = next((bench.folder / "workspace").rglob("earlier-1-unfinished.patch"))
    assert "+Paint the header blue" in patch.read_text()


async def test_one_that_takes_over_two_does_all_three(bench: Bench, agent: Scripted) -> None:
    """Each correction interrupts the one before it; the last agent is the only one left to do any of it."""
    first = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    await interrupted(bench, agent, first)
    second = await next_one(bench)
    await sent(bench, "No, red")
    await interrupted(bench, agent, second)
    errand, outcome = await carried_out(bench, agent)
    prompt = errand.prompt
    assert prompt.index(TAKE_OVER) < prompt.index("Paint the header blue") < prompt.index("And the footer")
    assert isinstance(outcome, Done)
    assert outcome.facts.also == ("Paint the header blue", "And the footer green")


async def test_nothing_is_lost_with_the_worker_that_was_to_keep_it(bench: Bench, agent: Scripted) -> None:
    """It left no facts: the store alone knows that the earlier one was interrupted, and by what."""
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    await ended(bench, edit, Preempted())
    errand, _ = await carried_out(bench, agent)
    assert [one.instruction for one in errand.earlier] == [edit.job.instruction]


async def test_an_attempt_after_a_crash_takes_over_as_the_first_did(bench: Bench, agent: Scripted) -> None:
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    await interrupted(bench, agent, edit)
    newer = await next_one(bench)
    for _ in range(2):  # its worker dies before it could settle
        outcome = await Performance(bench.tools).run(newer, Stop())
    assert isinstance(outcome, Done)
    assert outcome.facts.also == ("Paint the header blue",)


async def test_one_in_back_off_is_taken_over_as_well(bench: Bench, agent: Scripted) -> None:
    edit = await bench.submitted("Paint the header blue")
    await ended(bench, edit, Retry("the model was busy"))
    await sent(bench, "And the footer green")
    errand, _ = await carried_out(bench, agent)
    assert [one.instruction for one in errand.earlier] == [edit.job.instruction]


async def test_another_conversation_between_the_two_takes_nothing_over(bench: Bench, agent: Scripted) -> None:
    """It goes first, for it came first; what was interrupted is still there afterwards."""
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "New opening hours", session="s2")
    await sent(bench, "And the footer green")
    await interrupted(bench, agent, edit)
    errand, outcome = await carried_out(bench, agent)
    assert isinstance(outcome, Done)
    assert (errand.instruction, errand.earlier) == ("New opening hours", ())
    assert outcome.facts.also == ()
    errand, _ = await carried_out(bench, agent)
    assert [one.instruction for one in errand.earlier] == [edit.job.instruction]


@pytest.mark.parametrize("stopped_by", ["operator", "undo"])
async def test_what_somebody_stopped_is_not_carried_out_by_the_next(
    bench: Bench, agent: Scripted, stopped_by: str
) -> None:
    edit = await bench.submitted("Paint the header blue")
    if stopped_by == "operator":
        await bench.backend.control.interrupt(AMELIA)
        await interrupted(bench, agent, edit)
    else:
        await sent(bench, "undo", intent=Intent.UNDO)
        await interrupted(bench, agent, edit)
        await ended(bench, await next_one(bench))
    await sent(bench, "And the footer green")
    errand, outcome = await carried_out(bench, agent)
    assert TAKE_OVER not in errand.prompt
    assert errand.earlier == ()
    assert isinstance(outcome, Done)
    assert outcome.facts.also == ()


async def test_what_was_done_after_all_is_not_done_again(bench: Bench, agent: Scripted) -> None:
    """It was interrupted, and had ended before it heard of that."""
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    agent.files = {"index.html": PAGE.replace("Old", "blue")}
    await ended(bench, edit)
    errand, _ = await carried_out(bench, agent)
    assert errand.earlier == ()


async def test_a_change_that_was_in_when_its_worker_was_lost_is_not_made_twice(
    bench: Bench, agent: Scripted
) -> None:
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    agent.files = {"index.html": PAGE.replace("Old", "blue")}
    assert isinstance(await Performance(bench.tools).run(edit, Stop()), Done)
    await ended(bench, edit, Preempted())
    errand, _ = await carried_out(bench, agent)
    assert errand.earlier == ()


async def test_the_files_of_the_earlier_mail_are_there_again(bench: Bench, agent: Scripted) -> None:
    """Under another name: both mails may call their picture the same."""
    edit = await bench.submitted("Use this photo")
    record = MailRecord(
        id=MailId(edit.job.message_id),
        message_id="<a@b>",
        state=MailState.ACCEPTED,
        reason="",
        from_address="scott@example.com",
        subject="",
        references=(),
        received_at=0.0,
        blob=await bench.tools.blobs.put(b"raw"),
        files=(KeptFile("photo.jpg", "image/jpeg", await bench.tools.blobs.put(b"picture"), "IMG_1.JPG"),),
    )
    await bench.backend.mailbox.keep(record)
    await sent(bench, "On the contact page, too")
    await interrupted(bench, agent, edit)
    errand, _ = await carried_out(bench, agent)
    assert "earlier-1-photo.jpg (image/jpeg), called 'IMG_1.JPG'" in errand.prompt
    assert errand.earlier[0].files == (MailedFile("earlier-1-photo.jpg", "image/jpeg", "IMG_1.JPG"),)
    assert next((bench.folder / "workspace").rglob("earlier-1-photo.jpg")).read_bytes() == b"picture"


async def test_an_earlier_request_is_told_of_when_both_fail(bench: Bench, agent: Scripted) -> None:
    edit = await bench.submitted("Paint the header blue")
    await sent(bench, "And the footer green")
    await interrupted(bench, agent, edit)
    agent.ending = Declined("I can't")
    _, outcome = await carried_out(bench, agent)
    assert isinstance(outcome, Failed)
    assert outcome.facts.also == ("Paint the header blue",)
