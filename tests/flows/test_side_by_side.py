"""Two people of a project at once: whoever is second joins the first, or is told why not."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.mailing import carried_out, unfinished_of
from tests.flows.workbench import PAGE, TARA, Bench, git
from webordinary.core.failure import FailureKind
from webordinary.core.outcome import Done, Failed, Preempted
from webordinary.core.site import Project
from webordinary.core.work import BuildFailed, Built, Room
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop
from webordinary.sandbox.unconfined import Unconfined
from webordinary.sites.builder import SiteBuilder

NOT_BOTH = "sh -c 'mkdir -p public && cp index.html public/ && ! (test -e a && test -e b)'"


class Held(SiteBuilder):
    """Builds, but holds every build until it is let go."""

    def __init__(self) -> None:
        super().__init__(Unconfined())
        self.builds = 0
        self.began, self.go_on = asyncio.Event(), asyncio.Event()

    async def build(self, project: Project, room: Room) -> Built | BuildFailed:
        built = await super().build(project, room)
        self.builds += 1
        self.began.set()
        await self.go_on.wait()
        return built


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.backend.close()


async def test_a_merge_that_does_not_build_is_never_pushed(bench: Bench) -> None:
    """Else everybody's next edit would fail to build, and nobody would know whose fault it is."""
    bench.project = Project("amelia", build=NOT_BOTH, output="public")
    await bench.do("echo x >> index.html")
    slow = Held()
    mine = await bench.submitted("touch a; echo A")
    waiting = asyncio.create_task(carried_out(bench, mine, replace(bench.tools, builder=slow)))
    await slow.began.wait()
    elsewhere = bench.tools_at("elsewhere")
    theirs = await bench.submitted("touch b; echo B", lane=TARA, session="s2")
    assert isinstance(await carried_out(bench, theirs, elsewhere), Done)
    slow.go_on.set()
    outcome = await waiting
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.NOT_TOGETHER
    assert unfinished_of(outcome).files == ("a",)
    tree = git("ls-tree", "--name-only", "webordinary/edit", cwd=bench.repository).split()
    assert tree == ["b", "index.html"]
    following = await bench.submitted("sed -i 's/Some/Any/' index.html", lane=TARA, session="s2")
    assert isinstance(await carried_out(bench, following, elsewhere), Done)


async def test_a_merge_is_made_again_as_often_as_others_are_first(bench: Bench) -> None:
    await bench.publish()
    slow = Held()
    mine = await bench.submitted("sed -i 's/Old/New/' index.html")
    waiting = asyncio.create_task(carried_out(bench, mine, replace(bench.tools, builder=slow)))
    elsewhere = bench.tools_at("elsewhere")
    for number in range(2):
        await slow.began.wait()
        slow.began.clear()
        theirs = await bench.submitted(f"echo {number} > {number}.html", lane=TARA, session="s2")
        assert isinstance(await carried_out(bench, theirs, elsewhere), Done)
        slow.go_on.set()
        slow.go_on.clear()
    slow.go_on.set()
    outcome = await waiting
    assert isinstance(outcome, Done)
    assert slow.builds == 3
    assert [change.new for change in outcome.facts.changes] == ["New"]  # only what this job did
    served = bench.served()
    assert served.keys() == {"index.html", "0.html", "1.html"}
    assert served["index.html"] == PAGE.replace("Old", "New").encode()


async def test_a_stop_while_the_merge_is_built_is_not_too_late(bench: Bench) -> None:
    await bench.publish()
    slow, stop = Held(), Stop()
    mine = await bench.submitted("sed -i 's/Old/New/' index.html")
    performance = Performance(replace(bench.tools, builder=slow))
    waiting = asyncio.create_task(performance.run(mine, stop))
    await slow.began.wait()
    slow.began.clear()
    theirs = await bench.submitted("echo 1 > 1.html", lane=TARA, session="s2")
    assert isinstance(await carried_out(bench, theirs, bench.tools_at("elsewhere")), Done)
    slow.go_on.set()
    slow.go_on.clear()
    await slow.began.wait()
    stop.ask()
    outcome = await waiting
    assert isinstance(outcome, Preempted)
    assert unfinished_of(outcome).files == ("index.html",)
    assert bench.served()["index.html"] == PAGE.encode()
    assert "Old" in git("show", "webordinary/edit:index.html", cwd=bench.repository)
