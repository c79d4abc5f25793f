"""Undo and redo by reply: the former bytes, exactly, or a plain word why not."""

import pytest

from tests.workspace.conftest import NewWorker
from tests.workspace.site import EDIT, MAYA, PAGE, Site, delivery, edit, git, pushed, signed, turn
from webordinary.core.claim import Delivery
from webordinary.core.errors import BadInput
from webordinary.core.failure import FailureKind
from webordinary.core.job import Intent
from webordinary.ports.workspaces import CannotRevert, Reverted
from webordinary.sites.git.workspaces import GitHistory, GitWorkspaces


def undo(job: str, session: str = "talk") -> Delivery:
    return delivery(job, session=session, intent=Intent.UNDO)


def redo(job: str, session: str = "talk") -> Delivery:
    return delivery(job, session=session, intent=Intent.REDO)


async def test_undo_undo_redo_give_the_exact_former_bytes(worker: GitWorkspaces, site: Site) -> None:
    states = [PAGE, "first\r\nmixed\n", "second, no line end"]
    for number, state in enumerate(states[1:], 1):
        await edit(worker, site, delivery(f"j{number}"), index_html=state)
    for job, work, expected in (
        ("j2", undo("u1"), 1),
        ("j1", undo("u2"), 0),
        ("j1", redo("r1"), 1),
        ("j2", redo("r2"), 2),
        ("j2", undo("u3"), 1),
    ):
        turned = await turn(worker, site, work)
        assert isinstance(turned, Reverted)
        assert (turned.job, turned.gist) == (job, f"Gist of {job}")
        assert site.read("index.html").decode() == states[expected]
    assert "Webordinary-Undoes: j2" in site.message()


async def test_files_that_came_go_and_those_that_went_come_back(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    tree = workspace.room.tree
    (tree / "about.html").unlink()
    (tree / "photo.jpg").write_bytes(b"\xff\xd8\x00")
    (tree / "index.html").chmod(0o755)
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    await turn(worker, site, undo("u1"))
    assert (tree / "about.html").read_text() == "<p>about</p>\n"
    assert not (tree / "photo.jpg").exists()
    assert not (tree / "index.html").stat().st_mode & 0o100
    await turn(worker, site, redo("r1"))
    assert (tree / "photo.jpg").read_bytes() == b"\xff\xd8\x00"
    assert not (tree / "about.html").exists()


async def test_there_may_be_nothing_to_turn(worker: GitWorkspaces, site: Site) -> None:
    for work in (undo("u1"), redo("r1")):
        told = await turn(worker, site, work)
        assert isinstance(told, CannotRevert)
        assert told.kind in {FailureKind.NOTHING_TO_UNDO, FailureKind.NOTHING_TO_REDO}
    await edit(worker, site, delivery("j1"), index_html="new\n")
    assert isinstance(await turn(worker, site, redo("r2")), CannotRevert)
    assert isinstance(await turn(worker, site, undo("u2")), Reverted)
    assert isinstance(await turn(worker, site, undo("u3")), CannotRevert)
    workspace = await worker.open(delivery("j2"), site.project)
    with pytest.raises(BadInput):
        await worker.revert(workspace, Intent.EDIT, signed())


async def test_a_new_change_ends_redo(worker: GitWorkspaces, site: Site) -> None:
    await edit(worker, site, delivery("j1"), index_html="new\n")
    await turn(worker, site, undo("u1"))
    await edit(worker, site, delivery("j2"), about_html="other\n")
    assert isinstance(await turn(worker, site, redo("r1")), CannotRevert)


async def test_a_conversation_takes_its_own_changes_back(worker: GitWorkspaces, site: Site) -> None:
    await edit(worker, site, delivery("j1", session="hours"), index_html=PAGE.replace("one", "1"))
    await edit(worker, site, delivery("j2", session="team"), index_html=PAGE.replace("one", "1") + "team\n")
    turned = await turn(worker, site, undo("u1", "hours"))
    assert isinstance(turned, Reverted)
    assert turned.job == "j1"
    assert site.read("index.html").decode() == PAGE + "team\n"


async def test_a_conversation_without_changes_takes_the_last_one_of_its_lane_back(
    worker: GitWorkspaces, site: Site
) -> None:
    """People write a fresh mail: "undo". And then, in that thread: "redo"."""
    await edit(worker, site, delivery("j1", session="hours"), index_html="new\n")
    turned = await turn(worker, site, undo("u1", "fresh"))
    assert isinstance(turned, Reverted)
    assert site.read("index.html").decode() == PAGE
    turned = await turn(worker, site, redo("r1", "fresh"))
    assert isinstance(turned, Reverted)
    assert site.read("index.html") == b"new\n"


async def test_nobody_takes_another_persons_change_back(worker: GitWorkspaces, site: Site) -> None:
    """Who asks for it is told whose change it is: that something is left is plain to see."""
    await edit(worker, site, delivery("j1"), about_html="his\n")
    await turn(worker, site, undo("u1"))
    await edit(worker, site, delivery("m1", lane=MAYA, session="hers"), index_html="hers\n")
    told = await turn(worker, site, undo("u2"))
    assert isinstance(told, CannotRevert)
    assert (told.kind, told.who, told.words) == (FailureKind.LAST_BY_OTHER, "maya", "Gist of m1")
    assert site.read("index.html") == b"hers\n"
    await turn(worker, site, delivery("m2", lane=MAYA, session="hers", intent=Intent.UNDO))
    told = await turn(worker, site, undo("u3"))
    assert isinstance(told, CannotRevert)
    assert "maya" not in told.reason


async def test_an_undo_of_the_change_that_conflicts_with_upstream_clears_the_conflict(
    worker: GitWorkspaces, site: Site
) -> None:
    """Else the owner could do nothing at all until somebody who knows git comes by."""
    await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    main = site.develop({"index.html": PAGE.replace("one", "uno"), "about.html": "by hand\n"})
    turned = await turn(worker, site, undo("u1"))
    assert isinstance(turned, Reverted)
    assert site.read("index.html").decode() == PAGE.replace("one", "uno")
    assert site.read("about.html") == b"by hand\n"
    git(site.repository, "merge-base", "--is-ancestor", main, EDIT)
    workspace = await worker.open(delivery("j2"), site.project)
    assert workspace.conflicts == ()
    (change,) = await GitHistory(worker).changes(workspace, turned.commit)
    assert (change.path, change.new) == ("index.html", PAGE.encode())


async def test_an_undo_is_done_while_another_change_conflicts_with_upstream(
    worker: GitWorkspaces, site: Site
) -> None:
    """The conflict stays what it was, and the next job sees it."""
    await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    await edit(worker, site, delivery("j2"), about_html="new\n")
    site.develop({"index.html": PAGE.replace("one", "uno")})
    turned = await turn(worker, site, undo("u1"))
    assert isinstance(turned, Reverted)
    assert turned.job == "j2"
    assert site.read("about.html") == b"<p>about</p>\n"
    assert site.read("index.html").decode() == PAGE.replace("one", "1")
    assert (await worker.open(delivery("j3"), site.project)).conflicts == ("index.html",)


async def test_a_later_change_of_the_same_lines_is_in_the_way(worker: GitWorkspaces, site: Site) -> None:
    await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    work = delivery("m1", lane=MAYA, session="hers")
    _, before = await edit(worker, site, work, index_html=PAGE.replace("one", "I"))
    told = await turn(worker, site, undo("u1"))
    assert isinstance(told, CannotRevert)
    assert told.reason.startswith("Later changes touch the same lines of index.html")
    assert told.kind is FailureKind.IN_THE_WAY
    assert site.tip() == before


async def test_a_later_change_elsewhere_stays(worker: GitWorkspaces, site: Site) -> None:
    await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    site.develop({"about.html": "by hand\n"})
    work = delivery("m1", lane=MAYA, session="hers")
    await edit(worker, site, work, index_html=PAGE.replace("one", "1").replace("five", "5"))
    assert isinstance(await turn(worker, site, undo("u1")), Reverted)
    assert site.read("index.html").decode() == PAGE.replace("five", "5")
    assert site.read("about.html") == b"by hand\n"


async def test_a_change_that_is_gone_already_is_passed_over(worker: GitWorkspaces, site: Site) -> None:
    await edit(worker, site, delivery("j1"), about_html="first\n")
    await edit(worker, site, delivery("j2"), index_html="second\n")
    await edit(worker, site, delivery("m1", lane=MAYA, session="hers"), index_html=PAGE)
    turned = await turn(worker, site, undo("u1"))
    assert isinstance(turned, Reverted)
    assert turned.job == "j1"


async def test_a_change_joined_with_upstream_is_not_taken_back(worker: GitWorkspaces, site: Site) -> None:
    """Undoing a resolved conflict would throw the developers' work away, too."""
    await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    site.develop({"index.html": PAGE.replace("one", "uno"), "about.html": "by hand\n"})
    await edit(worker, site, delivery("j2"), index_html=PAGE.replace("one", "both"))
    told = await turn(worker, site, undo("u1"))
    assert isinstance(told, CannotRevert)
    assert "Gist of j2" in told.reason


async def test_undo_after_the_change_went_in_by_a_merge(worker: GitWorkspaces, site: Site) -> None:
    """Another lane was first: the change is in the history, but on a side line of it."""
    one = await worker.open(delivery("j1"), site.project)
    await edit(worker, site, delivery("m1", lane=MAYA, session="hers"), about_html="hers\n")
    (one.room.tree / "index.html").write_text("mine\n")
    commit = await worker.commit(one, signed())
    assert isinstance(commit, str)
    await pushed(worker, one, commit)
    assert isinstance(await turn(worker, site, undo("u1")), Reverted)
    assert site.read("index.html").decode() == PAGE
    assert site.read("about.html") == b"hers\n"


async def test_an_undo_that_is_delivered_again_is_done_once(
    worker: GitWorkspaces, site: Site, new_worker: NewWorker
) -> None:
    await edit(worker, site, delivery("j1"), index_html="first\n")
    await edit(worker, site, delivery("j2"), index_html="second\n")
    turned = await turn(worker, site, undo("u1"))
    again = new_worker()
    workspace = await again.open(undo("u1"), site.project)
    assert await again.revert(workspace, Intent.UNDO, signed()) == turned
    assert site.read("index.html") == b"first\n"
