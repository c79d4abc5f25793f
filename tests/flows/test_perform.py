"""From a claimed job to a published site: on a real store, real git and real folders.

The agent is a shell that runs the instruction, so that a test says what it does.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.mailing import preview_of
from tests.flows.workbench import AMELIA, PAGE, TARA, Bench, git
from webordinary.core.claim import Claim
from webordinary.core.errors import ClaimLost
from webordinary.core.facts import NO_FACTS
from webordinary.core.job import Intent
from webordinary.core.outcome import Done, Failed, Preempted, Retry
from webordinary.core.page_changes import PageChange, PageChangeKind
from webordinary.core.release import Place, Release
from webordinary.core.site import Project
from webordinary.flows.perform import Performance
from webordinary.ports.handler import Stop
from webordinary.sites.folder_publisher import FolderPublisher

RETITLE = "sed -i 's/Old/New/' index.html; echo retitled"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.backend.close()


async def test_an_edit_is_committed_pushed_published_and_told(bench: Bench) -> None:
    outcome = await bench.do(RETITLE)
    assert isinstance(outcome, Done)
    assert outcome.summary == "retitled"
    assert bench.served()["index.html"] == PAGE.replace("Old", "New").encode()
    preview = preview_of(outcome)
    assert preview.address == "http://sites.example/preview/amelia/"
    assert preview.changes == (PageChange(PageChangeKind.TITLE, old="Old", new="New", path="index.html"),)
    assert b"+<title>New</title>" in await bench.blobs.get(preview.patch)
    assert bench.log()[0].startswith("sed -i")
    assert git("rev-parse", "webordinary/edit", cwd=bench.repository) == preview.commit
    assert git("rev-parse", "session/s1", cwd=bench.repository) == preview.commit


async def test_nothing_is_live_before_it_is_published(bench: Bench) -> None:
    await bench.do(RETITLE)
    assert bench.served(Place.LIVE) == {}
    before = git("rev-parse", "main", cwd=bench.repository)
    published = await bench.publish()
    assert isinstance(published, Done)
    assert bench.served(Place.LIVE) == bench.served(Place.PREVIEW)
    assert git("rev-parse", "main", cwd=bench.repository) != before
    await bench.do("sed -i 's/New/Newer/' index.html")
    assert b"Newer" not in bench.served(Place.LIVE)["index.html"]


async def test_a_site_can_be_published_before_anything_was_edited(bench: Bench) -> None:
    assert isinstance(await bench.publish(), Done)
    assert bench.served(Place.LIVE) == {"index.html": PAGE.encode()}


async def test_undo_restores_the_former_bytes_exactly_again_and_again(bench: Bench) -> None:
    await bench.publish()
    seen = [bench.served()]
    for number in range(3):
        await bench.do(f"printf 'line {number}\\n' >> index.html; printf '\\001\\377' > file{number}.bin")
        seen.append(bench.served())
    for former in reversed(seen[:-1]):
        assert isinstance(await bench.undo(), Done)
        assert bench.served() == former
    nothing = await bench.undo()
    assert isinstance(nothing, Failed)
    assert bench.served() == seen[0]
    for later in seen[1:]:
        assert isinstance(await bench.redo(), Done)
        assert bench.served() == later
    assert isinstance(await bench.redo(), Failed)


async def test_an_undo_asks_no_agent(bench: Bench) -> None:
    await bench.do(RETITLE)
    undone = await bench.do("rm -rf *", intent=Intent.UNDO)
    assert isinstance(undone, Done)
    assert bench.served()["index.html"] == PAGE.encode()


async def test_nothing_changed_is_told_and_makes_no_commit(bench: Bench) -> None:
    await bench.do(RETITLE)
    before = bench.log()
    outcome = await bench.do("echo it is fine as it is")
    assert outcome == Done("it is fine as it is", outcome.facts if isinstance(outcome, Done) else NO_FACTS)
    assert bench.log() == before


async def test_an_agent_that_declines_changes_nothing(bench: Bench) -> None:
    await bench.publish()
    outcome = await bench.do("rm index.html; echo 'I can only make tea'; exit 65")
    assert isinstance(outcome, Failed)
    assert "tea" in outcome.reason
    assert bench.served() == {"index.html": PAGE.encode()}


async def test_an_agent_that_breaks_is_tried_again(bench: Bench) -> None:
    assert isinstance(await bench.do("exit 3"), Retry)


async def test_a_failed_build_leaves_the_former_release_being_served(bench: Bench) -> None:
    build = "sh -c 'cat must-be-there && mkdir -p public && cp index.html public/'"
    bench.project = Project("amelia", build=build, output="public")
    await bench.do("touch must-be-there")
    former, log = bench.served(), bench.log()
    outcome = await bench.do("rm must-be-there; echo removed")
    assert isinstance(outcome, Failed)
    assert "must-be-there" in outcome.reason  # the log's tail says what went wrong
    assert bench.served() == former == {"index.html": PAGE.encode()}
    assert bench.log() == log
    assert isinstance(await bench.do("echo more >> index.html"), Done)


async def test_only_the_output_is_published(bench: Bench) -> None:
    bench.project = Project("amelia", build="cp -r index.html public/", output="public")
    await bench.do("mkdir public; touch public/.keep; echo draft > notes.txt")
    assert list(bench.served()) == ["index.html"]


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("ln -s /etc/passwd leak.txt", "link"),
        ("printf -- '-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n' > key.txt", "key"),
        ("mkfifo pipe; echo x > y.txt", ""),
    ],
)
async def test_what_must_not_be_published_is_refused_and_the_site_stays(
    bench: Bench, script: str, word: str
) -> None:
    await bench.publish()
    outcome = await bench.do(script)
    if isinstance(outcome, Failed):
        assert word in outcome.reason
        assert bench.served() == {"index.html": PAGE.encode()}
    else:  # git does not keep a pipe, so there is none to publish
        assert "pipe" not in bench.served()
    assert b"root:" not in b"".join(bench.served().values())


async def test_links_that_lead_nowhere_are_told(bench: Bench) -> None:
    outcome = await bench.do("echo '<a href=missing.html>x</a>' >> index.html")
    assert isinstance(outcome, Done)
    assert [link.target for link in preview_of(outcome).broken_links] == ["missing.html"]


async def test_links_of_a_built_site_that_lead_nowhere_are_told_too(bench: Bench) -> None:
    """What was built is not in git: nothing may clear it away before it was looked through."""
    bench.project = Project("amelia", build="cp index.html public/", output="public")
    outcome = await bench.do(
        "mkdir public; touch public/.keep; echo '<a href=missing.html>x</a>' >> index.html"
    )
    assert isinstance(outcome, Done)
    assert [link.target for link in preview_of(outcome).broken_links] == ["missing.html"]


async def test_an_interrupted_job_keeps_its_work_aside_and_the_next_is_told(bench: Bench) -> None:
    await bench.publish()
    stop = Stop()
    delivery = await bench.submitted("echo half >> index.html; echo started; sleep 60")
    running = asyncio.create_task(Performance(bench.tools).run(delivery, stop))
    while not await bench.backend.journal.events(delivery.job.id, limit=10, wait=1):
        assert not running.done()
    stop.ask()
    outcome = await running
    assert isinstance(outcome, Preempted)
    assert "index.html" in outcome.kept
    await bench.backend.broker.settle(delivery, outcome, more=False)
    assert bench.served() == {"index.html": PAGE.encode()}
    aside = git("show", f"refs/webordinary/unfinished/{delivery.job.id}", cwd=bench.repository)
    assert "+half" in aside
    following = await bench.do("cp ../mail/unfinished.patch seen.txt", session="s2")
    assert isinstance(following, Done)
    assert b"+half" in bench.served()["seen.txt"]


async def test_the_next_prompt_says_what_was_left_unfinished(bench: Bench, tmp_path: Path) -> None:
    stop = Stop()
    delivery = await bench.submitted("echo half >> index.html; echo on it; sleep 60")
    running = asyncio.create_task(Performance(bench.tools).run(delivery, stop))
    while not await bench.backend.journal.events(delivery.job.id, limit=10, wait=1):
        assert not running.done()
    stop.ask()
    await bench.backend.broker.settle(delivery, await running, more=False)
    following = await bench.submitted("no-such-program || exit 9")
    outcome = await Performance(bench.tools).run(following, Stop())
    assert isinstance(outcome, Retry)
    seat = next((tmp_path / "workspace").rglob("unfinished.patch"))
    assert "+half" in seat.read_text()


async def test_a_job_delivered_again_after_its_push_is_shown_and_not_done_twice(bench: Bench) -> None:
    """A worker that dies between the push and the settling must not edit the site again."""
    delivery = await bench.submitted("echo once >> index.html")
    first = await Performance(bench.tools).run(delivery, Stop())
    again = await Performance(bench.tools_at("elsewhere")).run(delivery, Stop())
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert bench.served()["index.html"].count(b"once") == 1


async def test_two_users_of_one_site_do_not_lose_each_others_changes(bench: Bench) -> None:
    await bench.publish()
    mine = await bench.submitted("sleep 0.5; sed -i 's/Old/New/' index.html")
    theirs = await bench.submitted("sed -i 's/Some/Other/' index.html", lane=TARA, session="s2")
    outcomes = await asyncio.gather(
        Performance(bench.tools).run(mine, Stop()),
        Performance(bench.tools_at("elsewhere")).run(theirs, Stop()),
    )
    assert [type(outcome) for outcome in outcomes] == [Done, Done]
    page = bench.served()["index.html"].decode()
    assert page == PAGE.replace("Old", "New").replace("Some", "Other")


async def test_whoever_publishes_last_shows_what_was_pushed_last(bench: Bench) -> None:
    """Pushed first and published last must not take the other's change out of the preview."""
    await bench.publish()
    mine = await bench.submitted("sed -i 's/Old/New/' index.html")
    theirs = await bench.submitted("sed -i 's/Some/Other/' index.html", lane=TARA, session="s2")
    publish, held, went_by = bench.publisher.publish, asyncio.Event(), asyncio.Event()

    class Slow(FolderPublisher):
        async def publish(self, claim: Claim, release: Release, folder: Path, commit: str) -> None:
            went_by.set()
            await held.wait()
            await publish(claim, release, folder, commit)

    slow = Slow(bench.folder / "sites", address=bench.publisher.address)
    waiting = asyncio.create_task(Performance(replace(bench.tools, publisher=slow)).run(mine, Stop()))
    await went_by.wait()
    assert isinstance(await Performance(bench.tools_at("elsewhere")).run(theirs, Stop()), Done)
    held.set()
    assert isinstance(await waiting, Done)
    page = bench.served()["index.html"].decode()
    assert page == PAGE.replace("Old", "New").replace("Some", "Other")


async def test_a_former_owner_neither_pushes_nor_publishes(bench: Bench) -> None:
    await bench.publish()
    stale = await bench.submitted("echo stale >> index.html")
    former, log = bench.served(), bench.log()
    newer = type(stale.claim)(AMELIA, stale.claim.worker, stale.claim.fence + 1)
    current = type(stale)(newer, stale.job, stale.attempt + 1)
    tools = bench.tools_at("elsewhere")
    await tools.publisher.enter(newer)
    await tools.workspaces.open(current, Project("amelia", repository=str(bench.repository)))
    with pytest.raises(ClaimLost):
        await Performance(bench.tools).run(stale, Stop())
    assert bench.served() == former
    assert bench.log() == log


async def test_a_project_that_is_gone_is_told_in_plain_words(bench: Bench) -> None:
    delivery = await bench.submitted("echo x")
    await bench.backend.directory.remove_project("amelia")
    outcome = await Performance(bench.tools).run(delivery, Stop())
    assert isinstance(outcome, Failed)
    assert "no site called amelia" in outcome.reason


async def test_changes_of_the_owners_developers_are_merged_in(bench: Bench, tmp_path: Path) -> None:
    await bench.do(RETITLE)
    clone = tmp_path / "clone"
    git("clone", "-q", str(bench.repository), str(clone), cwd=tmp_path)
    (clone / "about.html").write_text("<title>About</title>\n")
    git("add", "-A", cwd=clone)
    git("-c", "user.name=d", "-c", "user.email=d@example.org", "commit", "-qm", "about", cwd=clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    await bench.do("sed -i 's/Hello/Hi/' index.html")
    assert set(bench.served()) == {"index.html", "about.html"}


async def test_a_conflict_goes_to_the_agent_once_then_to_a_plain_failure(
    bench: Bench, tmp_path: Path
) -> None:
    await bench.do(RETITLE)
    former = bench.served()
    clone = tmp_path / "clone"
    git("clone", "-q", str(bench.repository), str(clone), cwd=tmp_path)
    (clone / "index.html").write_text(PAGE.replace("Old", "Theirs"))
    git("-c", "user.name=d", "-c", "user.email=d@example.org", "commit", "-qam", "theirs", cwd=clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    left = await bench.do("echo >> index.html")
    assert isinstance(left, Failed)
    assert "index.html" in left.reason
    assert bench.served() == former
    solved = await bench.do("sed -i '/^[<=>|]\\{7\\}/d' index.html")
    assert isinstance(solved, Done)
    assert b"Theirs" in bench.served()["index.html"]
