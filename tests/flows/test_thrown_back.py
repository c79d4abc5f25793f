"""Work that did not come into the site: it is kept, and whoever comes next knows."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.mailing import carried_out, develop, unfinished_of
from tests.flows.workbench import AMELIA, PAGE, Bench, Scripted, git
from webordinary.core.claim import Delivery
from webordinary.core.outcome import Done, Failed, Outcome, Preempted
from webordinary.core.site import Project
from webordinary.core.work import AgentTask, Broke
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop

BUILD = "sh -c 'cat must && mkdir -p public && cp *.html public/'"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.backend.close()


def kept_aside(bench: Bench, outcome: Outcome) -> str:
    """What lies on the side ref that the facts name."""
    work = unfinished_of(outcome)
    assert git("rev-parse", work.ref, cwd=bench.repository) == work.commit
    return git("show", "--format=", work.ref, cwd=bench.repository)


async def prompt_of_the_next(bench: Bench, session: str = "s1") -> AgentTask:
    agent = Scripted()
    await carried_out(
        bench, await bench.submitted("go on", session=session), replace(bench.tools, agent=agent)
    )
    return agent.errands[0]


async def test_a_run_that_broke_for_good_keeps_its_work_and_the_conversation(bench: Bench) -> None:
    """A budget that is used up must not make the agent forget all that was said before."""
    agent = Scripted()
    bench.tools = replace(bench.tools, agent=agent)
    agent.files = {"index.html": PAGE.replace("Old", "New")}
    await bench.do("retitle it")
    agent.files, agent.ending = {"index.html": "half"}, Broke("It cost more than 5 USD.", again=False)
    outcome = await bench.do("rebuild everything")
    assert "+half" in kept_aside(bench, outcome)
    assert isinstance(outcome, Failed)
    work = unfinished_of(outcome)
    assert work.files == ("index.html",)
    assert work.request.startswith("rebuild everything")
    assert work.why == outcome.reason == "It cost more than 5 USD."
    memory = (await bench.backend.journal.left(AMELIA, "s1")).memory
    assert memory.agent == "scripted"
    assert "retitle it" in memory.recap[0]
    following = await prompt_of_the_next(bench)
    assert following.resume == b"its session"
    assert "retitle it" in following.recap
    assert "rebuild everything" in following.prompt
    assert "It cost more than 5 USD" in following.prompt
    assert "unfinished.patch" in following.prompt
    assert work.ref in following.prompt


@pytest.mark.parametrize(
    ("script", "word"),
    [("rm must; echo new >> index.html", "could not be built"), ("mkdir -p x; rm -rf *.html", "built")],
)
async def test_a_failed_build_keeps_the_work_but_not_what_was_built(
    bench: Bench, script: str, word: str
) -> None:
    bench.project = Project("amelia", build=BUILD, output="public")
    await bench.do("touch must")
    outcome = await bench.do(script + "; echo did it")
    assert isinstance(outcome, Failed)
    assert word in outcome.reason
    assert "public" not in kept_aside(bench, outcome)
    assert not any("public" in file for file in unfinished_of(outcome).files)
    following = await prompt_of_the_next(bench)
    assert "Its changes are not in the files" in following.prompt
    assert word in following.prompt
    assert "Not in the site" in following.recap


async def test_what_the_gate_refused_is_kept_and_told(bench: Bench) -> None:
    await bench.publish()
    outcome = await bench.do("ln -s /etc/passwd leak.txt; echo linked")
    assert "leak.txt" in kept_aside(bench, outcome)
    following = await prompt_of_the_next(bench)
    assert "symbolic link" in following.prompt


@pytest.mark.parametrize("also", ["", "; for n in $(seq 30); do ln -s /etc/passwd a$n; done"])
async def test_a_secret_gets_into_no_history(bench: Bench, also: str) -> None:
    """What is kept aside is pushed: a key that was refused would be in the repository for good.

    Also one that the gate did not come to, for it had seen enough.
    """
    await bench.publish()
    outcome = await bench.do(f"printf 'AKIA%s' QJ5XW7PZK3MRT2NV > key.txt{also}; echo added a key")
    assert isinstance(outcome, Failed)
    assert "Nothing of it was kept" in outcome.reason
    assert not unfinished_of(outcome).ref
    everything = git("log", "--all", "--patch", "--format=%B", cwd=bench.repository)
    assert "AKIAQJ5" not in everything
    following = await prompt_of_the_next(bench)
    assert "Its changes are not in the files" in following.prompt


async def test_a_conflict_that_stays_keeps_the_work_and_the_conversation(bench: Bench) -> None:
    await bench.do("sed -i 's/Old/New/' index.html; echo retitled")
    develop(bench, index_html=PAGE.replace("Old", "Theirs"))
    outcome = await bench.do("echo mine > other.html; echo made a page")
    assert "+mine" in kept_aside(bench, outcome)
    memory = (await bench.backend.journal.left(AMELIA, "s1")).memory
    assert "retitled" in memory.recap[0]
    assert "Somebody else changed the same lines" in memory.since[-1]


async def test_another_conversation_of_the_lane_learns_of_it_and_the_own_one_still_does(bench: Bench) -> None:
    agent = Scripted()
    agent.files, agent.ending = {"index.html": "half"}, Broke("It broke.", again=False)
    tools = replace(bench.tools, agent=agent)
    await carried_out(bench, await bench.submitted("rebuild everything", session="one"), tools)
    other = await prompt_of_the_next(bench, session="two")
    assert "rebuild everything" in other.prompt
    own = await prompt_of_the_next(bench, session="one")
    assert "Not in the site: rebuild everything (It broke; changes to index.html are kept aside" in own.prompt
    assert "unfinished.patch" in own.prompt  # the other one changed nothing: it is there to be gone on with


async def interrupted(bench: Bench, delivery: Delivery) -> Outcome:
    """Start a job, and stop it as soon as it says something."""
    stop = Stop()
    running = asyncio.create_task(Performance(bench.tools).run(delivery, stop))
    while not await bench.backend.journal.events(delivery.job.id, limit=10, wait=1):
        assert not running.done()
    stop.ask()
    outcome = await running
    await bench.backend.broker.settle(delivery, outcome, more=False)
    return outcome


async def test_all_jobs_that_were_interrupted_are_told_not_only_the_last(bench: Bench) -> None:
    """Three mails in quick succession: the third one's agent must know of both before it."""
    for word in ("one", "two"):
        delivery = await bench.submitted(f"echo {word} > {word}.html; echo started; sleep 60")
        assert isinstance(await interrupted(bench, delivery), Preempted)
    agent = Scripted()
    third = await bench.submitted("go on")
    outcome = await carried_out(bench, third, replace(bench.tools, agent=agent))
    assert isinstance(outcome, Done)
    prompt = agent.errands[0].prompt
    assert prompt.index("echo one") < prompt.index("echo two")
    seats = bench.folder / "workspace"
    assert "+two" in next(seats.rglob("unfinished.patch")).read_text()
    assert "+one" in next(seats.rglob("unfinished-2.patch")).read_text()
    assert "unfinished-2.patch" in (await prompt_of_the_next(bench)).prompt, "a question ends nothing"
    agent.files = {"index.html": PAGE.replace("Old", "New")}
    await carried_out(bench, await bench.submitted("go on"), replace(bench.tools, agent=agent))
    assert "unfinished" not in (await prompt_of_the_next(bench)).prompt


async def test_what_is_carried_on_is_bounded(bench: Bench) -> None:
    agent = Scripted()
    bench.tools = replace(bench.tools, agent=agent)
    for number in range(8):
        agent.files, agent.ending = {"index.html": f"half {number}"}, Broke("It broke.", again=False)
        await bench.do(f"ask {number} " + "x" * 5_000)
    prompt = (await prompt_of_the_next(bench)).prompt
    assert [f"ask {number} " + "x" * 1_000 in prompt for number in range(8)] == [False] * 3 + [True] * 5
    assert len(prompt) < 30_000
